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
 * What an entry of the catalog has behind its fixed part: sections with numbers, each there or not.
 *
 * <pre>
 *   each, in the order of the numbers:  number (1) · length (4) · bytes
 * </pre>
 *
 * <p>A section changes what a table means, so one with an unknown number is refused: an engine that
 * passed over it would read rows wrongly.
 */
final class ExtensionFields {
  /** The name of a table, in UTF-8, where the key has only its hash. */
  static final int NAME = 1;

  /** The versions of a table's rows: {@link RowHistoryCodec}. */
  static final int ROWS = 2;

  /** How rows expire. */
  static final int EXPIRY = 30;

  /** How objects or byte strings expire. */
  static final int TIME = 31;

  /** Which components indexes of a table of objects are by: {@link ObjectIndexCodec}. */
  static final int COMPONENTS = 51;

  /** The versions of a table's objects: {@link ObjectVersions}. */
  static final int OBJECTS = 50;

  private static final Set<Integer> KNOWN = Set.of(NAME, ROWS, EXPIRY, TIME, OBJECTS, COMPONENTS);

  private final TreeMap<Integer, byte[]> all = new TreeMap<>();

  boolean isEmpty() {
    return all.isEmpty();
  }

  /** Adds a section, which is not there yet. */
  void put(int number, byte[] bytes) {
    if (!KNOWN.contains(number) || all.put(number, bytes) != null) {
      throw new IllegalStateException("Section " + number + " is unknown, or there twice.");
    }
  }

  /** The bytes of a section, or null. */
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
   * Reads sections up to the end.
   *
   * @param table whose they are
   * @throws IncompatibleFormatException if one has an unknown number
   * @throws IOException if the bytes make no sense
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
                + " has what this version of Fovea does not know (section "
                + number
                + " of its entry in the catalog): a newer version made it. Use a newer version.");
      }
      if (!extensionFields.isEmpty() && number <= extensionFields.all.lastKey()) {
        throw new IOException("section " + number + " behind " + extensionFields.all.lastKey());
      }
      extensionFields.all.put(number, in.readNBytes(length));
    }
    return extensionFields;
  }
}
