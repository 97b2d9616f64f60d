package io.fovea.catalog;

import io.fovea.index.RowHistory.Part;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/**
 * Fields of rows and parts of keys, as entries of the catalog have them.
 *
 * <pre>
 *   type (1): {@link FieldType#code}, and 128 if nullable
 *   size (4): of a decimal, 256 times its precision, and its scale; else {@link Field#width}
 * </pre>
 *
 * <p>Types up to BYTES that are not nullable are what every version of Fovea knows; an entry with
 * others has a version of its own ({@link CatalogEntry}).
 */
final class FieldCodec {
  private static final int NULLABLE = 0x80;
  private static final int PRECISION_SHIFT = 8;
  private static final int SCALE = 0xFF;

  private FieldCodec() {}

  /** Whether versions of Fovea before these types know it. */
  static boolean isPlain(FieldType type, boolean nullable) {
    return type.code() <= FieldType.BYTES.code() && !nullable;
  }

  static void write(DataOutputStream out, Field f) throws IOException {
    write(out, f.type(), f.width(), f.precision(), f.scale(), f.nullable());
  }

  static void write(DataOutputStream out, Part p) throws IOException {
    write(out, p.type(), p.width(), p.precision(), p.scale(), p.nullable());
  }

  private static void write(
      DataOutputStream out, FieldType type, int width, int precision, int scale, boolean nullable)
      throws IOException {
    out.writeByte(nullable ? type.code() | NULLABLE : type.code());
    out.writeInt(type == FieldType.DECIMAL ? precision << PRECISION_SHIFT | scale : width);
  }

  /**
   * Reads a field without its place.
   *
   * @throws IllegalArgumentException if there is none that is so
   */
  static Field read(DataInputStream in, String name) throws IOException {
    int code = in.readUnsignedByte();
    int size = in.readInt();
    FieldType type = FieldType.ofCode(code & ~NULLABLE);
    boolean nullable = (code & NULLABLE) != 0;
    if (type != FieldType.DECIMAL) {
      return new Field(name, type, size, 0, 0, nullable, 0, 0, false);
    }
    int precision = size >> PRECISION_SHIFT;
    if (precision < 1 || precision > Field.PRECISION_MAX) {
      throw new IOException("a decimal of " + precision + " digits");
    }
    int width = Field.decimalBytes(precision);
    return new Field(name, type, width, precision, size & SCALE, nullable, 0, 0, false);
  }
}
