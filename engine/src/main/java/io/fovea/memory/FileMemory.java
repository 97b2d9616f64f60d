package io.fovea.memory;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Memory for a JVM that denies native access: a private mapping of a sparse temporary file.
 *
 * <pre>
 *   temporary file, removed at once     ....................   a length, no blocks
 *   mapping, MAP_PRIVATE                ..AA...A............   A: a private page of the process,
 *                                                              created by the first write
 * </pre>
 *
 * <p>Writes never reach the file. Unlike in an allocation of the JVM, pages appear when they are
 * used, and -XX:MaxDirectMemorySize, which defaults to the size of the heap, does not count them.
 * If a file cannot be created or mapped, an allocation of the JVM is used instead.
 *
 * <p>The memory is freed when the garbage collector finds the segment unreachable, since late
 * readers must not fail.
 */
final class FileMemory {
  private static final long ALIGNMENT = 4096;

  private FileMemory() {}

  /**
   * Returns zeroed memory that any thread may use.
   *
   * @throws OutOfMemoryError if neither way works; the message names the flag that helps
   */
  static MemorySegment map(long bytes, String name) {
    try {
      return map(bytes);
    } catch (IOException | UnsupportedOperationException e) {
      System.getLogger("io.fovea")
          .log(
              System.Logger.Level.DEBUG,
              "The " + name + " could not be mapped from a temporary file; the JVM allocates it.",
              e);
    }
    try {
      return Arena.ofAuto().allocate(bytes, ALIGNMENT);
    } catch (OutOfMemoryError e) {
      OutOfMemoryError error =
          new OutOfMemoryError(
              "There is no memory for the "
                  + name
                  + ", "
                  + bytes
                  + " bytes. Native access is denied: allow it with "
                  + Mem.nativeAccessFlag()
                  + ", or raise -XX:MaxDirectMemorySize.");
      error.initCause(e);
      throw error;
    }
  }

  private static MemorySegment map(long bytes) throws IOException {
    Path file = Files.createTempFile("fovea", ".memory");
    try (RandomAccessFile memory = new RandomAccessFile(file.toFile(), "rw")) {
      // Set the length before mapping: extending the file through the mapping would allocate
      // blocks.
      memory.seek(bytes - 1);
      memory.write(0);
      // FileChannel.map fails on an interrupted thread.
      return Threads.callUninterrupted(
          "fovea-map", () -> memory.getChannel().map(MapMode.PRIVATE, 0, bytes, Arena.ofAuto()));
    } finally {
      Files.deleteIfExists(file);
    }
  }
}
