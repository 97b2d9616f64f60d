package io.fovea.catalog;

import io.fovea.catalog.CatalogEntry.IndexEntry;
import io.fovea.index.ObjectHistory;
import io.fovea.object.ObjectEntries;
import io.fovea.object.ObjectEntries.Part;
import io.fovea.object.ObjectEntries.Source;
import io.fovea.object.Shapes;
import io.fovea.schema.Shape;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Encodes the components of indexes of a table of objects, as an {@linkplain ExtensionFields
 * extension field} of its catalog entry. The field is absent if the table has no indexes.
 *
 * <pre>
 *   for each index, in the order of the entry: number of parts (1)
 *     · for each part: length (2) · its type, as {@link Shape} writes it in UTF-8
 *       · for each version of the objects: number of positions (1), each 2 bytes;
 *         if 0: length (2) · the part, which is the same in all objects of the version;
 *         length 0 if no object has the version
 * </pre>
 */
final class ObjectIndexCodec {
  private ObjectIndexCodec() {}

  static byte[] encode(List<IndexEntry> indexes) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      for (IndexEntry i : indexes) {
        List<Part> parts = Objects.requireNonNull(i.objects()).parts();
        out.writeByte(parts.size());
        for (Part part : parts) {
          write(out, part.type().toString().getBytes(StandardCharsets.UTF_8));
          for (Source s : part.sources()) {
            write(out, s);
          }
        }
      }
    } catch (IOException e) {
      throw new IllegalStateException("Writing to memory failed.", e);
    }
    return bytes.toByteArray();
  }

  private static void write(DataOutputStream out, Source source) throws IOException {
    out.writeByte(source.path().size());
    for (int ordinal : source.path()) {
      out.writeShort(ordinal);
    }
    ByteBuffer fixed = source.fixed();
    if (fixed != null) {
      write(out, fixed.array());
    }
  }

  private static void write(DataOutputStream out, byte[] bytes) throws IOException {
    if (bytes.length > 0xFFFF) {
      throw new IllegalArgumentException(
          "A part of an index has " + bytes.length + " bytes; 65,535 is the limit.");
    }
    out.writeShort(bytes.length);
    out.write(bytes);
  }

  /**
   * Decodes the output of {@link #encode} and returns the indexes with their components.
   *
   * @throws IOException if the bytes are invalid
   * @throws IllegalArgumentException likewise
   */
  static List<IndexEntry> decode(
      byte @Nullable [] section, List<IndexEntry> indexes, @Nullable ObjectHistory objects)
      throws IOException {
    if (objects == null || indexes.isEmpty()) {
      if (section != null) {
        throw new IOException("indexes by components in a table without");
      }
      return List.copyOf(indexes);
    }
    if (section == null) {
      throw new IOException("indexes of objects without components");
    }
    List<IndexEntry> all = new ArrayList<>();
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(section))) {
      for (IndexEntry i : indexes) {
        List<Part> parts = new ArrayList<>();
        for (int n = in.readUnsignedByte(); n > 0; n--) {
          Shape type = Shapes.parse(new String(bytes(in, 1), StandardCharsets.UTF_8));
          List<Source> sources = new ArrayList<>();
          for (int v = 0; v < objects.version(); v++) {
            sources.add(source(in));
          }
          parts.add(new Part(type, sources));
        }
        all.add(i.with(new ObjectEntries(objects.versions(), parts, objects.current())));
      }
      if (in.read() >= 0) {
        throw new IOException("bytes after the components of indexes");
      }
    } catch (ClassCastException e) {
      throw new IOException("components of indexes that are no records", e);
    }
    return List.copyOf(all);
  }

  private static Source source(DataInputStream in) throws IOException {
    int n = in.readUnsignedByte();
    if (n == 0) {
      return new Source(List.of(), ByteBuffer.wrap(bytes(in, 0)));
    }
    List<Integer> ordinals = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      ordinals.add(in.readUnsignedShort());
    }
    return new Source(ordinals, null);
  }

  private static byte[] bytes(DataInputStream in, int min) throws IOException {
    int length = in.readUnsignedShort();
    if (length > in.available() || length < min) {
      throw new IOException("a part of an index of " + length + " bytes");
    }
    return in.readNBytes(length);
  }
}
