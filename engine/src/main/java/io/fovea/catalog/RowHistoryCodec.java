package io.fovea.catalog;

import io.fovea.index.DefaultValue;
import io.fovea.index.PackedRows;
import io.fovea.index.RowHistory;
import io.fovea.index.RowHistory.Origin;
import io.fovea.index.RowHistory.Part;
import io.fovea.index.RowHistory.Shape;
import io.fovea.schema.Field;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Encodes the row versions of a table, as an {@linkplain ExtensionFields extension field} of its
 * catalog entry. The field is absent from a table of version 1.
 *
 * <pre>
 *   version (1) · next field number (4) · bytes of a row (4), unpacked if variable-length
 *   · for each field of the layout: its number (4) · length of its default (4) · default
 *   · number of older layouts (1), each: last version with it (1) · bytes of a row (4)
 *     · number of fields (2), each: number (4) · type (1) · size (4), see {@link FieldCodec}
 * </pre>
 */
final class RowHistoryCodec {
  private RowHistoryCodec() {}

  static byte[] encode(RowHistory h) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeByte(h.version());
      out.writeInt(h.nextId());
      out.writeInt(h.length());
      for (Origin f : h.fields()) {
        out.writeInt(f.id());
        out.writeInt(f.value().length);
        out.write(f.value());
      }
      out.writeByte(h.old().size());
      for (Shape s : h.old()) {
        out.writeByte(s.version());
        out.writeInt(s.length());
        out.writeShort(s.fields().size());
        for (Part p : s.fields()) {
          out.writeInt(p.id());
          FieldCodec.write(out, p);
        }
      }
    } catch (IOException e) {
      throw new IllegalStateException("Writing to memory failed.", e);
    }
    return bytes.toByteArray();
  }

  /**
   * Decodes the output of {@link #encode}.
   *
   * @throws IOException if the bytes are invalid
   * @throws IllegalArgumentException likewise
   */
  static RowHistory decode(byte[] section, Layout layout) throws IOException {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(section))) {
      int version = in.readUnsignedByte();
      int nextId = in.readInt();
      int length = in.readInt();
      List<Origin> fields = new ArrayList<>();
      for (Field f : layout.fields()) {
        fields.add(origin(in, f));
      }
      int n = in.readUnsignedByte();
      List<Shape> old = new ArrayList<>();
      for (int i = 0; i < n; i++) {
        old.add(shape(in));
      }
      if (in.read() >= 0) {
        throw new IOException("bytes after the versions of rows");
      }
      RowHistory h = new RowHistory(version, nextId, List.copyOf(fields), length, List.copyOf(old));
      check(h, layout);
      return h;
    }
  }

  private static Origin origin(DataInputStream in, Field f) throws IOException {
    int id = in.readInt();
    int bytes = in.readInt();
    byte[] value = bytes < 0 || bytes > in.available() ? null : in.readNBytes(bytes);
    if (value == null || !DefaultValue.fits(f, value)) {
      throw new IOException("a default of " + bytes + " bytes for " + f);
    }
    return new Origin(id, value);
  }

  private static Shape shape(DataInputStream in) throws IOException {
    int version = in.readUnsignedByte();
    int length = in.readInt();
    int n = in.readUnsignedShort();
    List<Part> parts = new ArrayList<>();
    long bytes = 0;
    for (int i = 0; i < n; i++) {
      Part p = Part.of(in.readInt(), FieldCodec.read(in, "f" + i));
      bytes += p.rowBytes();
      parts.add(p);
    }
    if (length < bytes) {
      throw new IOException("rows of " + length + " bytes with fields of " + bytes);
    }
    return new Shape(version, length, List.copyOf(parts));
  }

  private static void check(RowHistory h, Layout layout) throws IOException {
    boolean good = h.version() > 1 && h.version() <= TableSpec.VERSION_MAX;
    boolean packed = h.isPacked(layout);
    good &= h.length() >= layout.size() + (packed ? PackedRows.bytesMore(h.fixed()) : 0);
    Set<Integer> lengths = new HashSet<>();
    good &= packed || lengths.add(h.length());
    Set<Integer> ids = new HashSet<>();
    for (Origin f : h.fields()) {
      good &= ids.add(f.id()) && f.id() >= 0 && f.id() < h.nextId();
    }
    for (int n = 0; n < h.old().size(); n++) {
      Shape s = h.old().get(n);
      good &= n >= h.fixed() || lengths.add(s.length());
      good &= s.version() < h.version();
      for (Part p : s.fields()) {
        for (int i = 0; i < h.fields().size(); i++) {
          Field f = layout.fields().get(i);
          good &= h.fields().get(i).id() != p.id() || Evolution.holds(f, p);
        }
      }
    }
    if (!good) {
      throw new IOException("versions of rows that make no sense");
    }
  }
}
