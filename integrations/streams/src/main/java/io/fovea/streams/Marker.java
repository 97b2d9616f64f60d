package io.fovea.streams;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A file in the directory of a task which says that a table belongs to a store.
 *
 * <p>Kafka Streams deletes the directory of a task to wipe its stores. So each store has a file
 * there, {@code <task>/fovea/<store>}. A table whose marker is missing or differs is dropped.
 *
 * <pre>
 *   id of the database i16 | table i8 | random i8
 * </pre>
 *
 * @param database the database's id
 * @param table the table's number
 * @param random distinguishes the table from an earlier one of the same number
 */
record Marker(UUID database, long table, long random) {
  private static final int BYTES = 32;

  static Path path(Path taskDirectory, String store) {
    return taskDirectory.resolve("fovea").resolve(store);
  }

  /** Reads a marker; null if it is missing or incomplete. */
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
   * Writes the marker, without waiting for stable storage: a lost marker wipes the store, which is
   * then restored.
   */
  void write(Path path) throws IOException {
    Files.createDirectories(path.getParent());
    ByteBuffer b = ByteBuffer.allocate(BYTES);
    b.putLong(database.getMostSignificantBits()).putLong(database.getLeastSignificantBits());
    b.putLong(table).putLong(random);
    Files.write(path, b.array());
  }
}
