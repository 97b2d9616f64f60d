package io.fovea.index;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Layout;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/** Rows of variable length: packed, unpacked, read in part, and damaged. */
class PackedRowsTest {
  /** Returns a layout with at least one field of variable length. */
  private static Layout layout(Random r) {
    Layout.Definition b = Layout.define();
    int fields = 1 + r.nextInt(6);
    int one = r.nextInt(fields);
    for (int i = 0; i < fields; i++) {
      if (r.nextInt(3) == 0) {
        b.nullable();
      }
      int most = 1 + r.nextInt(r.nextBoolean() ? 5 : 80);
      if (i == one || r.nextInt(3) == 0) {
        b.varBytes("f" + i, most);
      } else if (r.nextBoolean()) {
        b.add("f" + i, FieldType.INT32, 4);
      } else {
        b.bytes("f" + i, most);
      }
    }
    return b.build();
  }

  /** Returns the history of a layout whose rows had a fixed length before. */
  private static RowHistory history(Layout layout, Random r) {
    int length = layout.size() + 1;
    List<RowHistory.Shape> old = new ArrayList<>();
    List<RowHistory.Origin> fields = new ArrayList<>();
    for (Field f : layout.fields()) {
      fields.add(new RowHistory.Origin(100 + f.ordinal(), new byte[0]));
    }
    int from = r.nextInt(length);
    for (int i = r.nextInt(5); i > 0; i--) {
      List<RowHistory.Part> parts =
          List.of(new RowHistory.Part(i, FieldType.BYTES, 1, 0, 0, false, false));
      old.add(new RowHistory.Shape(old.size() + 1, Math.max(3, from + i), parts));
    }
    List<RowHistory.Shape> once = old.stream().filter(s -> s.length() > 3).toList();
    return new RowHistory(once.size() + 1, 200, fields, layout.size() + 1 + once.size(), once);
  }

  /** Fills in random values, with garbage in the unused space after each. */
  private static void fill(Layout layout, MemorySegment row, Random r) {
    byte[] rubbish = new byte[(int) row.byteSize()];
    r.nextBytes(rubbish);
    MemorySegment.copy(rubbish, 0, row, ValueLayout.JAVA_BYTE, 0, rubbish.length);
    for (Field f : layout.fields()) {
      if (f.nullable()) {
        Mem.putByte(row, f.start(), (byte) r.nextInt(2));
      }
      if (!f.type().isFixed()) {
        int n = r.nextInt(4) == 0 ? f.width() : r.nextInt(f.width() + 1);
        boolean there = !f.nullable() || Mem.getByte(row, f.start()) != 0;
        Mem.putShort(row, f.offset(), (short) (there ? n : 0));
      }
    }
  }

  private static byte[] value(Layout layout, int field, MemorySegment row) {
    Field f = layout.fields().get(field);
    if (f.nullable() && Mem.getByte(row, f.start()) == 0) {
      return new byte[] {0};
    }
    int end =
        f.type().isFixed()
            ? f.offset() + f.width()
            : f.offset() + 2 + Mem.getUnsignedShort(row, f.offset());
    byte[] b = new byte[end - f.start()];
    Mem.getBytes(row, f.start(), b, 0, b.length);
    return b;
  }

  private static void assertSame(Layout layout, MemorySegment a, MemorySegment b, int limit) {
    for (Field f : layout.fields()) {
      if (f.end() <= limit) {
        assertArrayEquals(value(layout, f.ordinal(), a), value(layout, f.ordinal(), b), "" + f);
      }
    }
  }

  @Property(tries = 3000)
  void packedRowsRoundTrip(@ForAll long seed) {
    Random r = new Random(seed);
    Layout layout = layout(r);
    RowHistory history = history(layout, r);
    PackedRows rows = PackedRows.of(history, layout);
    assertNotNull(rows);
    try (Arena arena = Arena.ofConfined()) {
      int size = rows.rowBytes();
      MemorySegment row = arena.allocate(size, 8);
      fill(layout, row, r);
      MemorySegment stored = arena.allocate(size, 8);
      int n = rows.pack(row, 0, stored, 0);
      assertTrue(n <= size);
      assertTrue(rows.isNewest(stored, 0, n));
      assertTrue(history.old().stream().noneMatch(s -> s.length() == n));

      MemorySegment apart = arena.allocate(size, 8);
      fill(layout, apart, r);
      assertTrue(rows.unpack(stored, 0, n, apart, 0));
      assertSame(layout, row, apart, size);

      // In place, as a whole and up to each field, with garbage after what was read.
      for (int i = 0; i <= layout.fields().size(); i++) {
        int bytes = i == layout.fields().size() ? size : layout.fields().get(i).end();
        MemorySegment here = arena.allocate(size, 8);
        fill(layout, here, r);
        Mem.copy(stored, 0, here, 0, Math.min(n, bytes));
        assertTrue(rows.unpack(here, 0, n, bytes));
        assertSame(layout, row, here, bytes);
      }
      MemorySegment again = arena.allocate(size, 8);
      assertEquals(n, rows.pack(apart, 0, again, 0));
      assertTrue(Mem.equal(stored, 0, n, again, 0, n));
    }
  }

  /** A damaged row is rejected or read as another row; memory outside of it is never accessed. */
  @Property(tries = 3000)
  void damage(@ForAll long seed) {
    Random r = new Random(seed);
    Layout layout = layout(r);
    RowHistory history = history(layout, r);
    LegacyRowReader old = new LegacyRowReader(history, layout);
    PackedRows rows = old.packed;
    assertNotNull(rows);
    try (Arena arena = Arena.ofConfined()) {
      int size = rows.rowBytes();
      MemorySegment row = arena.allocate(size, 8);
      fill(layout, row, r);
      MemorySegment stored = arena.allocate(size, 8);
      int n = rows.pack(row, 0, stored, 0);
      int length = r.nextBoolean() ? n : r.nextInt(n + 1);
      for (int i = r.nextInt(4); i > 0 && length > 0; i--) {
        Mem.putByte(stored, r.nextInt(length), (byte) r.nextInt());
      }
      MemorySegment exact = arena.allocate(Math.max(1, length));
      Mem.copy(stored, 0, exact, 0, length);
      MemorySegment out = arena.allocate(size, 8);
      if (old.upgrade(length, exact, 0, out, 0) == LegacyRowReader.UNPACKED) {
        MemorySegment again = arena.allocate(size, 8);
        assertEquals(length, rows.pack(out, 0, again, 0));
      }
      for (Field f : layout.fields()) {
        if (f.type() == FieldType.INT32) {
          old.millis(length, exact, 0, f.ordinal());
        }
      }
      int bytes = r.nextInt(size + 1);
      Mem.copy(stored, 0, out, 0, Math.min(length, bytes));
      rows.unpack(out, 0, length, bytes);
    }
  }
}
