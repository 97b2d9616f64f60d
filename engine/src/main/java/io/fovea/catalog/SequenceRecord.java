package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.TreeWalk;
import io.fovea.error.CorruptionException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.memory.Mem;
import io.fovea.schema.SequenceSpec;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/**
 * The catalog record of a sequence. All numbers are big-endian.
 *
 * <pre>
 *   key     as in {@link CatalogKey}, with "s"
 *   value   version (1) · first (8) · last (8) · step (8) · cached (4) · reserved values (8)
 *           · {@link ExtensionFields}: a name too long for the key
 * </pre>
 *
 * @param spec the specification of the sequence
 * @param reserved the number of reserved values, which later openings do not use
 */
record SequenceRecord(SequenceSpec spec, long reserved) {
  private static final int VERSION = 1;

  @FunctionalInterface
  interface Visitor {
    void sequence(SequenceRecord r);
  }

  static byte[] key(SequenceSpec spec) {
    return CatalogKey.of(CatalogKey.SEQUENCE, spec.name());
  }

  static byte[] encode(SequenceSpec spec, long reserved) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeByte(VERSION);
      out.writeLong(spec.first());
      out.writeLong(spec.last());
      out.writeLong(spec.step());
      out.writeInt(spec.cached());
      out.writeLong(reserved);
      ExtensionFields extensionFields = new ExtensionFields();
      CatalogKey.write(spec.name(), extensionFields);
      extensionFields.write(out);
    } catch (IOException e) {
      throw new IllegalStateException("Writing to memory failed.", e);
    }
    return bytes.toByteArray();
  }

  /**
   * Decodes a record.
   *
   * @throws IncompatibleFormatException if a newer version wrote it
   * @throws CorruptionException if the bytes are invalid
   */
  static SequenceRecord decode(byte[] key, byte[] value) {
    String known = CatalogKey.describe(key);
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(value))) {
      int version = in.readUnsignedByte();
      if (version != VERSION) {
        throw new IncompatibleFormatException(
            "The catalog entry of sequence "
                + known
                + " has version "
                + version
                + "; this version of Fovea reads version "
                + VERSION
                + ". Use a newer version of Fovea.");
      }
      long first = in.readLong();
      long last = in.readLong();
      long step = in.readLong();
      int cached = in.readInt();
      long reserved = in.readLong();
      ExtensionFields extensionFields = ExtensionFields.read(in, known);
      SequenceSpec spec =
          new SequenceSpec(CatalogKey.read(key, extensionFields), first, last, step, cached);
      if (reserved < 0 || reserved > spec.values()) {
        throw new IOException(reserved + " values");
      }
      return new SequenceRecord(spec, reserved);
    } catch (IOException | IllegalArgumentException e) {
      CorruptionException c =
          new CorruptionException("the catalog entry of sequence " + known, -1, -1, VERSION, -1);
      c.initCause(e);
      throw c;
    }
  }

  static void forEach(BTree catalog, Visitor visitor) {
    TreeWalk.forEach(
        catalog,
        (k, kOff, kLen, v, vOff, vLen) -> {
          if (kLen > 0 && Mem.getByte(k, kOff) == CatalogKey.SEQUENCE) {
            byte[] key = Mem.bytes(k, kOff, kLen);
            visitor.sequence(decode(key, Mem.bytes(v, vOff, vLen)));
          }
        });
  }
}
