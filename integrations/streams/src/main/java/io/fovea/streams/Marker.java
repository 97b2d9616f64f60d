package io.fovea.streams;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Says in the directory of a task that a table of the database is the store's.
 *
 * <p>Kafka Streams owns the directories of tasks: it deletes one to wipe the stores of the task. So
 * each store has a file there, {@code <task>/fovea/<store>}. A table whose marker is gone, or says
 * something else, is not the store's: it is dropped.
 *
 * <pre>
 *   id of the database i16 | table i8 | random i8
 * </pre>
 *
 * @param database the database's id
 * @param table the table's number
 * @param random told with the number, which another table may have had before
 */
record Marker(UUID database, long table, long random) {
  private static final int BYTES = 32;

  static Path path(Path taskDirectory, String store) {
    return taskDirectory.resolve("fovea").resolve(store);
  }

  /** Reads one; null if there is none, or none that is whole. */
  static @Nullable Marker read(Path path) throws IOException {
    byte[] bytes;
    try {
      bytes = Files.readAllBytes(path);
    } catch (NoSuchFileException e) {
      return null;
    }
    if (bytes.length != BYTES) {
      return null;
    }
    ByteBuffer b = ByteBuffer.wrap(bytes);
    return new Marker(new UUID(b.getLong(), b.getLong()), b.getLong(), b.getLong());
  }

  /**
   * Writes it. Nobody waits until it is on stable storage: a marker that is lost wipes a store,
   * which is restored then.
   */
  void write(Path path) throws IOException {
    Files.createDirectories(path.getParent());
    ByteBuffer b = ByteBuffer.allocate(BYTES);
    b.putLong(database.getMostSignificantBits()).putLong(database.getLeastSignificantBits());
    b.putLong(table).putLong(random);
    Files.write(path, b.array());
  }
}
