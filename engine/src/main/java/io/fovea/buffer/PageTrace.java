package io.fovea.buffer;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Accesses to pages, in a file: what a benchmark of replacement policies replays. Only in a JVM
 * that was started with {@code -Dfovea.trace=FILE}, the first {@value #MOST} of them, and made for
 * one thread: several are put in an order by a lock.
 *
 * <pre>
 *   file:  | page id | page id | ...      8 bytes each, most significant first
 * </pre>
 *
 * <p><b>Costs.</b> {@link #ON} is a constant to the compiler, so that nothing is left of {@code if
 * (PageTrace.ON)} in compiled code where it is false.
 *
 * <p>An exception to the rule that nothing static outlives a database: there is one trace of a JVM,
 * written until it ends, whatever databases it opens.
 */
final class PageTrace {
  /** Whether accesses are written down. */
  static final boolean ON;

  /** 64 MiB of file. */
  private static final int MOST = 1 << 23;

  private static final @Nullable DataOutputStream OUT;

  private static int accesses;

  static {
    String file = System.getProperty("fovea.trace");
    ON = file != null && !file.isEmpty();
    OUT = ON ? open(file) : null;
  }

  private PageTrace() {}

  private static DataOutputStream open(String file) {
    try {
      DataOutputStream out =
          new DataOutputStream(
              new BufferedOutputStream(Files.newOutputStream(Path.of(file)), 1 << 20));
      Runtime.getRuntime().addShutdownHook(new Thread(PageTrace::close, "fovea-trace"));
      return out;
    } catch (IOException e) {
      throw new UncheckedIOException("The file of fovea.trace can't be written: " + file + ".", e);
    }
  }

  /** Writes an access down. */
  static synchronized void access(long pid) {
    try {
      if (OUT != null && accesses < MOST) {
        OUT.writeLong(pid);
        accesses++;
      }
    } catch (IOException e) {
      throw new UncheckedIOException("The file of fovea.trace can't be written.", e);
    }
  }

  private static synchronized void close() {
    try {
      if (OUT != null) {
        OUT.close();
      }
    } catch (IOException e) {
      System.getLogger(PageTrace.class.getName())
          .log(System.Logger.Level.ERROR, "The trace of page accesses is not complete.", e);
    }
  }
}
