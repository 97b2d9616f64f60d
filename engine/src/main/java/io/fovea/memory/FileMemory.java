package io.fovea.memory;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Memory for a JVM that denies native access: a private mapping of a temporary file that is nothing
 * but a hole.
 *
 * <pre>
 *   temporary file, removed at once     ....................   a length, no blocks
 *   mapping, MAP_PRIVATE                ..AA...A............   A: a page of the process's own, made
 *                                                              when it was first written
 * </pre>
 *
 * <p>What is written never reaches the file. Against an allocation of the JVM: pages come when they
 * are used, and -XX:MaxDirectMemorySize, which is the size of the heap unless somebody set it, does
 * not count them. Where a file can't be made or mapped it is such an allocation nevertheless.
 *
 * <p>The memory goes when the garbage collector finds that nobody has the segment any more, for
 * late readers must not fail.
 */
final class FileMemory {
  private static final long ALIGNMENT = 4096;

  private FileMemory() {}

  /**
   * Memory of zeros that any thread may use.
   *
   * @throws OutOfMemoryError where there is neither way, with the flag that helps
   */
  static MemorySegment map(long bytes, String name) {
    try {
      return map(bytes);
    } catch (IOException | UnsupportedOperationException e) {
      System.getLogger("io.fovea")
          .log(System.Logger.Level.DEBUG, "The " + name + " can't be a temporary file's memory", e);
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
      // Long before it is mapped: what makes it longer then would fill it with blocks.
      memory.seek(bytes - 1);
      memory.write(0);
      // A map fails on a thread that is interrupted.
      return Threads.undisturbed(
          "fovea-map", () -> memory.getChannel().map(MapMode.PRIVATE, 0, bytes, Arena.ofAuto()));
    } finally {
      Files.deleteIfExists(file);
    }
  }
}
