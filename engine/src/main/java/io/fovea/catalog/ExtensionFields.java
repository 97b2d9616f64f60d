package io.fovea.catalog;

import io.fovea.error.IncompatibleFormatException;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Optional extension fields after the fixed part of a catalog entry, each with a number.
 *
 * <pre>
 *   each, in ascending order:  number (1) · length (4) · bytes
 * </pre>
 *
 * <p>An extension field changes the meaning of a table, so an unknown number is refused: an engine
 * that skipped it would misread rows.
 */
final class ExtensionFields {
  /** A table's name in UTF-8, if the key contains only its hash. */
  static final int NAME = 1;

  /** The row versions: {@link RowHistoryCodec}. */
  static final int ROWS = 2;

  static final int EXPIRY = 30;

  /** How objects or byte strings expire. */
  static final int TIME = 31;

  /** The components in indexes of a table of objects: {@link ObjectIndexCodec}. */
  static final int COMPONENTS = 51;

  /** The object versions: {@link ObjectVersions}. */
  static final int OBJECTS = 50;

  /** How older classes read objects, if they may: {@link ObjectVersions}. */
  static final int OLDER_CLASSES = 52;

  /** The versions that no object has any more, if there are any: {@link ObjectVersions}. */
  static final int VACANT = 53;

  private static final Set<Integer> KNOWN =
      Set.of(NAME, ROWS, EXPIRY, TIME, OBJECTS, COMPONENTS, OLDER_CLASSES, VACANT);

  private final TreeMap<Integer, byte[]> all = new TreeMap<>();

  boolean isEmpty() {
    return all.isEmpty();
  }

  /** Adds an extension field, which must be absent. */
  void put(int number, byte[] bytes) {
    if (!KNOWN.contains(number) || all.put(number, bytes) != null) {
      throw new IllegalStateException("Section " + number + " is unknown, or occurs twice.");
    }
  }

  byte @Nullable [] get(int number) {
    return all.get(number);
  }

  void write(DataOutputStream out) throws IOException {
    for (Map.Entry<Integer, byte[]> e : all.entrySet()) {
      out.writeByte(e.getKey());
      out.writeInt(e.getValue().length);
      out.write(e.getValue());
    }
  }

  /**
   * Reads extension fields to the end of the input.
   *
   * @param table the table's name, for messages
   * @throws IncompatibleFormatException if a number is unknown
   * @throws IOException if the bytes are invalid
   */
  static ExtensionFields read(DataInputStream in, String table) throws IOException {
    ExtensionFields extensionFields = new ExtensionFields();
    for (int number = in.read(); number >= 0; number = in.read()) {
      int length = in.readInt();
      if (length < 0 || length > in.available()) {
        throw new IOException("section " + number + " has " + length + " bytes");
      }
      if (!KNOWN.contains(number)) {
        throw new IncompatibleFormatException(
            "Table "
                + table
                + " uses a feature that this version of Fovea does not support (section "
                + number
                + " of its catalog entry): a newer version created it. Use a newer version.");
      }
      if (!extensionFields.isEmpty() && number <= extensionFields.all.lastKey()) {
        throw new IOException("section " + number + " after " + extensionFields.all.lastKey());
      }
      extensionFields.all.put(number, in.readNBytes(length));
    }
    return extensionFields;
  }
}
