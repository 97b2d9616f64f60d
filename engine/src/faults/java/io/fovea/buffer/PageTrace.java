package io.fovea.buffer;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Writes page accesses to a file, which a benchmark of replacement policies replays. Only in a JVM
 * started with {@code -javaagent:benchmarks.jar=trace=FILE}; the first {@value #MOST} accesses.
 * Meant for one thread; a lock orders several.
 *
 * <pre>
 *   file:  | page id | page id | ...      8 bytes each, big-endian
 * </pre>
 */
public final class PageTrace {
  /** 64 MiB of file. */
  private static final int MOST = 1 << 23;

  private static @Nullable DataOutputStream out;

  private static int accesses;

  private PageTrace() {}

  /** Starts the trace; called before any class of the engine is loaded. */
  public static synchronized void begin(String file) {
    out = open(file);
  }

  // ------------------------------------------------------------------------- called by woven code

  /** Called at the end of {@link FrameHeader#use}. */
  static boolean used(boolean is, long pid) {
    if (is) {
      access(pid);
    }
    return is;
  }

  /** Called at the end of {@link FrameHeader#touch}. */
  static void touched(MemorySegment headers, int frame) {
    access(FrameHeader.pid(headers, frame));
  }

  private static DataOutputStream open(String file) {
    try {
      DataOutputStream out =
          new DataOutputStream(
              new BufferedOutputStream(Files.newOutputStream(Path.of(file)), 1 << 20));
      Runtime.getRuntime().addShutdownHook(new Thread(PageTrace::close, "fovea-trace"));
      return out;
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot write the trace file " + file + ".", e);
    }
  }

  private static synchronized void access(long pid) {
    try {
      if (out != null && accesses < MOST) {
        out.writeLong(pid);
        accesses++;
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot write the trace file.", e);
    }
  }

  private static synchronized void close() {
    try {
      if (out != null) {
        out.close();
      }
    } catch (IOException e) {
      System.getLogger(PageTrace.class.getName())
          .log(System.Logger.Level.ERROR, "The trace of page accesses is incomplete.", e);
    }
  }
}
