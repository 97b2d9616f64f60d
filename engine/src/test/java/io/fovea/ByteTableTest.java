package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Byte strings with values of up to many pages, and Java objects over both kinds of tables. */
class ByteTableTest {
  private static final Options SMALL = Options.defaults().bufferBytes(4 << 20);
  private static final TableSpec SPEC = TableSpec.bytes("b", 40);

  private static byte[] bytes(String s) {
    return s.getBytes(StandardCharsets.UTF_8);
  }

  @Test
  void arraysAndSegmentsAreEqual() {
    try (Database db = Database.inMemory(SMALL);
        Arena arena = Arena.ofConfined()) {
      Table<byte[], byte[]> t = db.table(SPEC).bytes();
      MemorySegment off = arena.allocate(5);
      off.copyFrom(MemorySegment.ofArray(bytes("value")));
      MemorySegment out = arena.allocate(3);
      db.run(
          tx -> {
            t.insert(tx, bytes("a"), bytes("1"));
            t.insert(tx, MemorySegment.ofArray(bytes("b")), off);
            assertThrows(DuplicateKeyException.class, () -> t.insert(tx, bytes("a"), bytes("2")));
            assertArrayEquals(bytes("value"), t.get(tx, bytes("b")));
            assertEquals(5, t.get(tx, MemorySegment.ofArray(bytes("b")), out));
            assertEquals('v', out.get(java.lang.foreign.ValueLayout.JAVA_BYTE, 0));
            assertEquals(
                -1,
                t.get(tx, MemorySegment.ofArray(bytes("c")), MemorySegment.ofArray(new byte[1])));
            t.put(tx, off, MemorySegment.ofArray(new byte[0]));
            assertEquals(0, t.get(tx, bytes("value")).length);
            assertTrue(t.delete(tx, off));
            assertFalse(t.exists(tx, bytes("value")));
            assertTrue(t.exists(tx, bytes("a")));
            assertNull(t.get(tx, bytes("value")));
            assertThrows(InvalidUseException.class, () -> t.get(tx, new byte[0]));
            assertThrows(KeyTooLargeException.class, () -> t.get(tx, new byte[41]));
            assertThrows(NullPointerException.class, () -> t.put(tx, bytes("x"), null));
            assertThrows(NullPointerException.class, () -> t.get(tx, (byte[]) null));
          });
      assertThrows(InvalidUseException.class, () -> t.table().row());
    }
  }

  @Test
  void prefixesAreExact() {
    try (Database db = Database.inMemory(SMALL)) {
      Table<byte[], byte[]> t = db.table(SPEC).bytes();
      byte[] ff = {'a', (byte) 0xFF};
      db.run(
          tx -> {
            for (String s : new String[] {"a", "ab", "abc", "b", "ac"}) {
              t.put(tx, bytes(s), bytes(s));
            }
            t.put(tx, ff, ff);
          });
      assertEquals(List.of("ab", "abc"), scan(db, t, bytes("ab"), ScanOrder.ASCENDING));
      assertEquals(5, scan(db, t, bytes("a"), ScanOrder.DESCENDING).size());
      assertEquals(6, scan(db, t, new byte[0], ScanOrder.DESCENDING).size());
      assertEquals(1, scan(db, t, ff, ScanOrder.ASCENDING).size());
      db.read(
          tx -> {
            try (Cursor<byte[], byte[]> c =
                t.scan(tx, bytes("ab"), bytes("ac"), ScanOrder.ASCENDING)) {
              assertThrows(InvalidUseException.class, c::key);
              assertTrue(c.next());
              assertTrue(c.next());
              assertArrayEquals(bytes("abc"), c.key());
              assertFalse(c.next());
            }
            try (Cursor<byte[], byte[]> c = t.scan(tx, null, new byte[0], ScanOrder.ASCENDING)) {
              assertFalse(c.next());
            }
            return null;
          });
    }
  }

  private static List<String> scan(
      Database db, Table<byte[], byte[]> t, byte[] prefix, ScanOrder order) {
    return db.read(
        tx -> {
          List<String> found = new ArrayList<>();
          try (Cursor<byte[], byte[]> c = t.scanPrefix(tx, prefix, order)) {
            while (c.next()) {
              assertArrayEquals(c.key(), c.value());
              found.add(new String(c.key(), StandardCharsets.UTF_8));
            }
          }
          return found;
        });
  }

  @Property(tries = 40, shrinking = ShrinkingMode.OFF)
  void anyLengthOfValue(@ForAll long seed) {
    Random r = new Random(seed);
    TreeMap<byte[], byte[]> model = new TreeMap<>(Arrays::compareUnsigned);
    try (Database db =
        Database.inMemory(
            SMALL.device(dev -> dev.pageSize(4096 << r.nextInt(4))).bufferBytes(12 << 20))) {
      Table<byte[], byte[]> t = db.table(SPEC).bytes();
      for (int i = 0; i < 25; i++) {
        TreeMap<byte[], byte[]> local = new TreeMap<>(model);
        boolean commit = r.nextInt(4) > 0;
        try (Transaction tx = db.begin()) {
          for (int k = r.nextInt(8); k >= 0; k--) {
            byte[] key = new byte[1 + r.nextInt(3)];
            for (int j = 0; j < key.length; j++) {
              key[j] = (byte) (r.nextInt(4) * 85);
            }
            if (r.nextInt(3) == 0) {
              assertEquals(local.remove(key) != null, t.delete(tx, key));
            } else {
              byte[] value = new byte[r.nextInt(5) == 0 ? r.nextInt(90_000) : r.nextInt(700)];
              r.nextBytes(value);
              t.put(tx, key, value);
              local.put(key, value);
            }
            assertArrayEquals(local.get(key), t.get(tx, key));
          }
          if (commit) {
            tx.commit();
            model = local;
          }
        }
      }
      check(db, t, model, ScanOrder.ASCENDING);
      check(db, t, model, ScanOrder.DESCENDING);
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
      assertEquals(model.size(), report.records());
    }
  }

  private static void check(
      Database db, Table<byte[], byte[]> t, TreeMap<byte[], byte[]> model, ScanOrder order) {
    db.read(
        tx -> {
          var expected =
              (order == ScanOrder.ASCENDING ? model : model.descendingMap()).entrySet().iterator();
          try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, order)) {
            while (c.next()) {
              var e = expected.next();
              assertArrayEquals(e.getKey(), c.key());
              assertArrayEquals(e.getValue(), c.value());
            }
          }
          assertFalse(expected.hasNext());
          return null;
        });
  }

  private record Person(String name, int age) {}

  @Test
  void objectsOverRowsAndOverBytes() {
    Layout.Definition b = Layout.define();
    Field name = b.text("name", 40);
    Field age = b.int32("age");
    KeyCodec<Integer> ids =
        new KeyCodec<>() {
          @Override
          public void encode(Integer id, Key key) {
            key.set(id.intValue());
          }

          @Override
          public Integer decode(Key key) {
            return key.getInt(0);
          }
        };
    Codec<Person> people =
        new Codec<>() {
          @Override
          public void encode(Person p, Row row) {
            row.setText(name, p.name).setInt(age, p.age);
          }

          @Override
          public Person decode(Row row) {
            return new Person(row.getText(name), row.getInt(age));
          }
        };
    try (Database db = Database.inMemory(SMALL)) {
      objects(
          db,
          db.table(TableSpec.of("rows", KeySpec.of(FieldType.INT32), b.build())).as(ids, people));
      objects(
          db,
          db.table(TableSpec.bytes("objects", 8))
              .as(
                  codec(i -> new byte[] {i.byteValue()}, x -> (int) x[0]),
                  codec(
                      p -> bytes(p.age + "," + p.name),
                      x -> {
                        String[] s = new String(x, StandardCharsets.UTF_8).split(",");
                        return new Person(s[1], Integer.parseInt(s[0]));
                      })));
    }
  }

  private static <T> ByteCodec<T> codec(
      java.util.function.Function<T, byte[]> to, java.util.function.Function<byte[], T> from) {
    return new ByteCodec<>() {
      @Override
      public byte[] encode(T object) {
        return to.apply(object);
      }

      @Override
      public T decode(byte[] bytes) {
        return from.apply(bytes);
      }
    };
  }

  private static void objects(Database db, Table<Integer, Person> t) {
    Person ada = new Person("Ada", 36);
    Person alan = new Person("Alan", 41);
    db.run(
        tx -> {
          t.insert(tx, 1, ada);
          t.put(tx, 2, new Person("?", 0));
          t.put(tx, 2, alan);
          t.put(tx, 3, ada);
          assertThrows(DuplicateKeyException.class, () -> t.insert(tx, 1, alan));
          assertTrue(t.delete(tx, 3));
          assertFalse(t.delete(tx, 3));
        });
    db.read(
        tx -> {
          assertEquals(ada, t.get(tx, 1));
          assertNull(t.get(tx, 3));
          assertEquals(List.of(ada, alan), all(t, tx, null, null, ScanOrder.ASCENDING));
          assertEquals(List.of(alan, ada), all(t, tx, null, null, ScanOrder.DESCENDING));
          assertEquals(List.of(ada), all(t, tx, 1, 2, ScanOrder.ASCENDING));
          assertEquals(List.of(alan), all(t, tx, 2, null, ScanOrder.ASCENDING));
          assertThrows(NullPointerException.class, () -> t.get(tx, null));
          return null;
        });
  }

  private static List<Person> all(
      Table<Integer, Person> t,
      Transaction tx,
      @Nullable Integer from,
      @Nullable Integer to,
      ScanOrder order) {
    List<Person> list = new ArrayList<>();
    t.scan(tx, from, to, order, (k, v) -> list.add(v));
    return list;
  }
}
