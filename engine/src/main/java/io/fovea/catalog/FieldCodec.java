package io.fovea.catalog;

import io.fovea.index.RowHistory.Part;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/**
 * Encodes fields of rows and parts of keys in catalog entries.
 *
 * <pre>
 *   type (1): {@link FieldType#code}; 10 for a variable-length string, 11 for a
 *     variable-length byte string; plus 128 if nullable
 *   size (4): of a decimal, 256 times its precision plus its scale; otherwise {@link Field#width}
 * </pre>
 *
 * <p>Every version of Fovea can read non-nullable fields with types up to BYTES. Entries with other
 * fields have a higher version ({@link CatalogEntry}).
 */
final class FieldCodec {
  private static final int NULLABLE = 0x80;

  /** Added to the type code of a variable-length field. */
  private static final int VARIABLE = 7;

  private static final int PRECISION_SHIFT = 8;
  private static final int SCALE = 0xFF;

  private FieldCodec() {}

  /** Returns whether every version of Fovea can read fields of this type. */
  static boolean isPlain(FieldType type, boolean nullable) {
    return type.code() <= FieldType.BYTES.code() && !nullable;
  }

  static void write(DataOutputStream out, Field f) throws IOException {
    write(out, f.type(), f.width(), f.precision(), f.scale(), f.nullable(), f.variable());
  }

  static void write(DataOutputStream out, Part p) throws IOException {
    write(out, p.type(), p.width(), p.precision(), p.scale(), p.nullable(), p.variable());
  }

  private static void write(
      DataOutputStream out,
      FieldType type,
      int width,
      int precision,
      int scale,
      boolean nullable,
      boolean variable)
      throws IOException {
    int code = variable ? type.code() + VARIABLE : type.code();
    out.writeByte(nullable ? code | NULLABLE : code);
    out.writeInt(type == FieldType.DECIMAL ? precision << PRECISION_SHIFT | scale : width);
  }

  static Field read(DataInputStream in, String name) throws IOException {
    int code = in.readUnsignedByte();
    int size = in.readInt();
    int kind = code & ~NULLABLE;
    boolean variable =
        kind == FieldType.TEXT.code() + VARIABLE || kind == FieldType.BYTES.code() + VARIABLE;
    FieldType type = FieldType.ofCode(variable ? kind - VARIABLE : kind);
    boolean nullable = (code & NULLABLE) != 0;
    if (type != FieldType.DECIMAL) {
      return new Field(name, type, size, 0, 0, nullable, variable, 0, 0, false);
    }
    int precision = size >> PRECISION_SHIFT;
    if (precision < 1 || precision > Field.PRECISION_MAX) {
      throw new IOException("a decimal of " + precision + " digits");
    }
    int width = Field.decimalBytes(precision);
    return new Field(name, type, width, precision, size & SCALE, nullable, false, 0, 0, false);
  }
}
