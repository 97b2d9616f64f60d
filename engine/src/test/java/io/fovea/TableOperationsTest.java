package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.RecordNotFoundException;
import io.fovea.schema.Field;
import io.fovea.schema.Id;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SetClock;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every operation of {@link Table} and {@link Index} works for every form of a table. A method that
 * no test of this class calls fails {@link #everyOperationIsTested}.
 */
class TableOperationsTest {
  /** The objects of a table. */
  public record Note(@Id String name, String text, long until) {
    Note(String name, String text) {
      this(name, text, 0);
    }
  }

  private static final Layout.Definition FIELDS = Layout.define();
  private static final Field TEXT = FIELDS.text("text", 200);
  private static final TableSpec ROWS =
      TableSpec.of("notes", KeySpec.builder().text("name", 40).build(), FIELDS.build());
  private static final IndexSpec BY_TEXT =
      IndexSpec.bytes(
          "by_text",
          KeySpec.builder().text("text", 200).build(),
          true,
          (key, value, entry) -> {
            entry.text(new String(value, StandardCharsets.UTF_8));
            return true;
          });
  private static final TableSpec BYTES = TableSpec.bytes("notes", 40);
  private static final TableSpec INDEXED = BYTES.with(BY_TEXT);
  private static final ObjectSpec<String, Note> NOTES =
      ObjectSpec.of("notes", String.class, Note.class).unique("by_text", "text");

  /** How long after its own time a note expires, in tables of {@link Form#expiring}. */
  private static final Duration AFTER = Duration.ofMillis(100);

  private static final TableSpec BRIEF = TableSpec.bytes("brief", 40).expireAfter(0, AFTER);
  private static final Layout.Definition BRIEF_FIELDS = Layout.define();
  private static final Field BRIEF_TEXT = BRIEF_FIELDS.text("text", 200);
  private static final Field UNTIL = BRIEF_FIELDS.int64("until");
  private static final TableSpec BRIEF_ROWS =
      TableSpec.of("brief", ROWS.key(), BRIEF_FIELDS.build()).expireAfter(UNTIL, AFTER);

  private abstract static class Form<K, V> {
    final String name;

    Form(String name) {
      this.name = name;
    }

    abstract Table<K, V> table(Database db);

    abstract Table<K, V> table(FileChanges changes);

    abstract K key(String name);

    abstract String name(K key);

    abstract V value(String name, String text);

    abstract String text(V value);

    abstract Table<K, V> expiring(Database db);

    /** Creates a note with a time whose bytes are ASCII characters. */
    abstract V expiring(String name, String text, int until);

    /** Whether records can be accessed in stored form. */
    boolean isStored() {
      return true;
    }

    /** Whether values contain their keys. */
    boolean knowsKeys() {
      return false;
    }

    boolean hasIndex() {
      return false;
    }

    /** Returns the key of a note of {@link #expiring} in the index by text. */
    @SuppressWarnings("unchecked") // by the class of the index's keys
    <I> I indexKey(Index<I, K, V> index, int i, int until) {
      return (I) String.valueOf(i);
    }

    /** Returns the index by text; null if the form is a view whose table has the index. */
    @Nullable Index<?, K, V> index(Table<K, V> table) {
      assertThrows(InvalidUseException.class, () -> table.index("by_text", String.class));
      return null;
    }

    @Override
    public String toString() {
      return name;
    }
  }

  private static final class Identity extends Form<byte[], byte[]> {
    Identity() {
      super("byte strings");
    }

    @Override
    Table<byte[], byte[]> table(Database db) {
      return db.table(INDEXED).bytes();
    }

    @Override
    Table<byte[], byte[]> table(FileChanges changes) {
      return changes.table(INDEXED).bytes();
    }

    @Override
    byte[] key(String name) {
      return bytes(name);
    }

    @Override
    String name(byte[] key) {
      return string(key);
    }

    @Override
    byte[] value(String name, String text) {
      return bytes(text);
    }

    @Override
    String text(byte[] value) {
      return string(value);
    }

    @Override
    Table<byte[], byte[]> expiring(Database db) {
      return db.table(BRIEF.with(BY_TEXT)).bytes();
    }

    @Override
    byte[] expiring(String name, String text, int until) {
      return bytes(timed(text, until));
    }

    @Override
    boolean hasIndex() {
      return true;
    }

    @Override
    @SuppressWarnings("unchecked") // keys of these have several parts
    <I> I indexKey(Index<I, byte[], byte[]> index, int i, int until) {
      return (I) index.key().text(timed(String.valueOf(i), until));
    }

    @Override
    Index<?, byte[], byte[]> index(Table<byte[], byte[]> table) {
      return table.index("by_text", Key.class);
    }
  }

  private abstract static class Named<V> extends Form<String, V> {
    Named(String name) {
      super(name);
    }

    @Override
    String key(String name) {
      return name;
    }

    @Override
    String name(String key) {
      return key;
    }
  }

  private abstract static class Coded extends Named<String> {
    Coded(String name) {
      super(name);
    }

    @Override
    String value(String name, String text) {
      return text;
    }

    @Override
    String text(String value) {
      return value;
    }

    @Override
    String expiring(String name, String text, int until) {
      return timed(text, until);
    }
  }

  private static final class CodedBytes extends Coded implements ByteCodec<String> {
    CodedBytes() {
      super("byte strings by codecs");
    }

    @Override
    Table<String, String> table(Database db) {
      return db.table(BYTES).as(this, this);
    }

    @Override
    Table<String, String> table(FileChanges changes) {
      return changes.table(BYTES).as(this, this);
    }

    @Override
    Table<String, String> expiring(Database db) {
      return db.table(BRIEF).as(this, this);
    }

    @Override
    public byte[] encode(String object) {
      return bytes(object);
    }

    @Override
    public String decode(byte[] stored) {
      return string(stored);
    }
  }

  private static final class OfRows extends Coded {
    OfRows() {
      super("rows by codecs");
    }

    @Override
    Table<String, String> table(Database db) {
      return coded(db.table(ROWS));
    }

    @Override
    Table<String, String> table(FileChanges changes) {
      return coded(changes.table(ROWS));
    }

    @Override
    Table<String, String> expiring(Database db) {
      return db.table(BRIEF_ROWS)
          .as(
              NAMES,
              new Codec<>() {
                @Override
                public void encode(String text, Row row) {
                  row.setText(BRIEF_TEXT, text)
                      .setLong(UNTIL, ByteBuffer.wrap(bytes(text)).getLong());
                }

                @Override
                public String decode(Row row) {
                  return row.getText(BRIEF_TEXT);
                }
              });
    }

    private static final KeyCodec<String> NAMES =
        new KeyCodec<>() {
          @Override
          public void encode(String name, Key key) {
            key.text(name);
          }

          @Override
          public String decode(Key key) {
            return key.getText(0);
          }
        };

    private static Table<String, String> coded(RowTable table) {
      return table.as(
          NAMES,
          new Codec<>() {
            @Override
            public void encode(String text, Row row) {
              row.setText(TEXT, text);
            }

            @Override
            public String decode(Row row) {
              return row.getText(TEXT);
            }
          });
    }

    @Override
    boolean isStored() {
      return false;
    }
  }

  private static final class ByClass extends Named<Note> {
    ByClass() {
      super("objects");
    }

    @Override
    Table<String, Note> table(Database db) {
      return db.table(NOTES);
    }

    @Override
    Table<String, Note> table(FileChanges changes) {
      assertThrows(
          IllegalArgumentException.class,
          () -> changes.table(ObjectSpec.of("none", String.class, Note.class)));
      return changes.table(NOTES);
    }

    @Override
    Note value(String name, String text) {
      return new Note(name, text);
    }

    @Override
    String text(Note value) {
      return value.text;
    }

    @Override
    Table<String, Note> expiring(Database db) {
      return db.table(
          ObjectSpec.of("brief", String.class, Note.class)
              .unique("by_text", "text")
              .expireAfter("until", AFTER));
    }

    @Override
    Note expiring(String name, String text, int until) {
      return new Note(name, text, until);
    }

    @Override
    boolean knowsKeys() {
      return true;
    }

    @Override
    boolean hasIndex() {
      return true;
    }

    @Override
    Index<?, String, Note> index(Table<String, Note> table) {
      return table.index("by_text", String.class);
    }
  }

  private static String timed(String text, int until) {
    byte[] time = ByteBuffer.allocate(Long.BYTES).putLong(until).array();
    return new String(time, StandardCharsets.US_ASCII) + text;
  }

  private static byte[] bytes(String s) {
    return s.getBytes(StandardCharsets.UTF_8);
  }

  private static String string(byte[] b) {
    return new String(b, StandardCharsets.UTF_8);
  }

  static Stream<Arguments> forms() {
    return Stream.of(new Identity(), new CodedBytes(), new OfRows(), new ByClass())
        .map(Arguments::of);
  }

  @TempDir Path dir;

  private Database open() {
    return Database.open(
        dir.resolve("notes.fovea"),
        Options.defaults().bufferBytes(4 << 20).log(log -> log.changeRetentionBytes(1 << 20)));
  }

  /** A table with notes named a1 to a9 and b1 to b9, whose texts equal their names. */
  private static final class Filled<K, V> implements AutoCloseable {
    final Form<K, V> form;
    final Database db;
    final Table<K, V> table;

    Filled(Form<K, V> form, Database db) {
      this.form = form;
      this.db = db;
      this.table = form.table(db);
      db.run(
          tx -> {
            for (String n : ALL) {
              table.insert(tx, key(n), value(n, "text " + n));
            }
          });
    }

    K key(String name) {
      return form.key(name);
    }

    V value(String name, String text) {
      return form.value(name, text);
    }

    List<String> names() {
      return db.read(tx -> table.stream(tx).map(e -> shown(e)).toList());
    }

    /** Returns the name if the text equals it, otherwise both. */
    String shown(Map.@Nullable Entry<K, V> e) {
      if (e == null) {
        return "none";
      }
      return shown(e.getKey(), e.getValue());
    }

    String shown(K key, V value) {
      String name = form.name(key);
      String text = form.text(value);
      return text.equals("text " + name) ? name : name + "=" + text;
    }

    @Override
    public void close() {
      assertEquals(List.of(), db.verify().problems());
      db.close();
    }
  }

  private static final List<String> ALL = notes("a1", "b9");

  private static List<String> notes(String from, String to) {
    List<String> all = new ArrayList<>();
    for (String letter : List.of("a", "b")) {
      for (int i = 1; i <= 9; i++) {
        String name = letter + i;
        if (name.compareTo(from) >= 0 && name.compareTo(to) <= 0) {
          all.add(name);
        }
      }
    }
    return all;
  }

  @ParameterizedTest
  @MethodSource("forms")
  <K, V> void reading(Form<K, V> form) {
    try (Filled<K, V> f = new Filled<>(form, open())) {
      Table<K, V> t = f.table;
      assertEquals(18, t.count());
      assertTrue(t.dataBytes() >= 18 * 9);
      assertEquals("notes", t.table().spec().name());
      assertEquals(t.table().toString(), t.toString());
      f.db.run(
          tx -> {
            assertEquals("text a3", form.text(Objects.requireNonNull(t.get(tx, f.key("a3")))));
            assertNull(t.get(tx, f.key("c")));
            assertEquals(Optional.of("text b1"), t.find(tx, f.key("b1")).map(form::text));
            assertEquals(Optional.empty(), t.find(tx, f.key("c")));
            V again = t.getForUpdate(tx, f.key("a4"));
            assertEquals("text a4", form.text(Objects.requireNonNull(again)));
            assertTrue(t.exists(tx, f.key("a1")));
            assertFalse(t.exists(tx, f.key("a")));
            List<@Nullable V> some = t.getAll(tx, List.of(f.key("b2"), f.key("c"), f.key("a2")));
            assertEquals("text b2", form.text(Objects.requireNonNull(some.get(0))));
            assertNull(some.get(1));
            assertEquals("text a2", form.text(Objects.requireNonNull(some.get(2))));
            assertTrue(t.estimate(tx, f.key("a1"), f.key("b1")).count() > 0);
            assertTrue(t.estimatePrefix(tx, f.key("b")).count() > 0);
            assertEquals(0, t.estimatePrefix(tx, f.key("x")).count());
          });
    }
  }

  @ParameterizedTest
  @MethodSource("forms")
  <K, V> void writing(Form<K, V> form) {
    try (Filled<K, V> f = new Filled<>(form, open())) {
      Table<K, V> t = f.table;
      f.db.run(
          tx -> {
            assertThrows(
                DuplicateKeyException.class, () -> t.insert(tx, f.key("a1"), f.value("a1", "x")));
            t.put(tx, f.key("a1"), f.value("a1", "put"));
            t.put(tx, f.key("a0"), f.value("a0", "text a0"));
            t.update(tx, f.key("a2"), f.value("a2", "update"));
            RecordNotFoundException none =
                assertThrows(
                    RecordNotFoundException.class,
                    () -> t.update(tx, f.key("c"), f.value("c", "x")));
            assertEquals("notes", none.table());
            assertTrue(none.key().length > 0);
            assertThrows(RecordNotFoundException.class, () -> t.update(tx, f.key("c"), old -> old));
            assertTrue(t.updateIfPresent(tx, f.key("a3"), f.value("a3", "present")));
            assertFalse(t.updateIfPresent(tx, f.key("c"), f.value("c", "x")));
            assertNull(t.updateIfPresent(tx, f.key("c"), old -> old));
            V changed =
                t.update(tx, f.key("a4"), old -> f.value("a4", form.text(old).toUpperCase()));
            assertEquals("TEXT A4", form.text(Objects.requireNonNull(changed)));
            assertNull(t.update(tx, f.key("a5"), old -> null));
            assertTrue(t.delete(tx, f.key("a6")));
            assertFalse(t.delete(tx, f.key("a6")));
            if (form.knowsKeys()) {
              t.insert(tx, f.value("c1", "text c1"));
              t.put(tx, f.value("c1", "again"));
            } else {
              assertThrows(
                  IllegalStateException.class, () -> t.insert(tx, f.value("c1", "text c1")));
              assertThrows(IllegalStateException.class, () -> t.put(tx, f.value("c1", "again")));
            }
          });
      List<String> all =
          new ArrayList<>(List.of("a0", "a1=put", "a2=update", "a3=present", "a4=TEXT A4"));
      all.addAll(notes("a7", "b9"));
      if (form.knowsKeys()) {
        all.add("c1=again");
      }
      assertEquals(all, f.names());
      assertEquals(all.size(), t.count());
    }
  }

  @ParameterizedTest
  @MethodSource("forms")
  <K, V> void writingAsStored(Form<K, V> form) {
    try (Filled<K, V> f = new Filled<>(form, open())) {
      Table<K, V> t = f.table;
      byte[] space = new byte[100];
      MemorySegment out = MemorySegment.ofArray(space);
      MemorySegment key = MemorySegment.ofArray(t.coding().encode(f.key("a1")));
      f.db.run(
          tx -> {
            if (!form.isStored()) {
              assertThrows(InvalidUseException.class, () -> t.get(tx, key, out));
              assertThrows(InvalidUseException.class, () -> t.insert(tx, key, out));
              assertThrows(InvalidUseException.class, () -> t.put(tx, key, out));
              assertThrows(InvalidUseException.class, () -> t.delete(tx, key));
              return;
            }
            int n = (int) t.get(tx, key, out);
            MemorySegment value = MemorySegment.ofArray(Arrays.copyOf(space, n));
            assertTrue(t.delete(tx, key));
            assertFalse(t.delete(tx, key));
            assertEquals(-1, t.get(tx, key, out));
            t.insert(tx, key, value);
            assertThrows(DuplicateKeyException.class, () -> t.insert(tx, key, value));
            t.put(tx, key, value);
          });
      assertEquals(ALL, f.names());
    }
  }

  @ParameterizedTest
  @MethodSource("forms")
  <K, V> void deletingManyAtOnce(Form<K, V> form) {
    try (Filled<K, V> f = new Filled<>(form, open())) {
      Table<K, V> t = f.table;
      f.db.run(
          tx -> {
            assertEquals(2, t.deleteRange(tx, f.key("a2"), f.key("a4")));
            assertEquals(1, t.deleteRange(tx, f.key("a5"), null, 1));
            assertEquals(0, t.deleteRange(tx, f.key("c"), null));
            assertEquals(9, t.deletePrefix(tx, f.key("b")));
          });
      assertEquals(List.of("a1", "a4", "a6", "a7", "a8", "a9"), f.names());
      f.db.run(tx -> assertEquals(6, t.deleteRange(tx, null, null)));
      assertEquals(0, t.count());
    }
  }

  @ParameterizedTest
  @MethodSource("forms")
  <K, V> void loading(Form<K, V> form) {
    try (Filled<K, V> f = new Filled<>(form, open())) {
      Table<K, V> t = f.table;
      LoadReport report = t.load(into -> into.add(f.key("c1"), f.value("c1", "text c1")));
      assertEquals(1, report.added());
      t.load(LoadOptions.defaults(), into -> into.add(f.key("c2"), f.value("c2", "text c2")));
      List<Map.Entry<K, V>> more = List.of(Map.entry(f.key("c3"), f.value("c3", "text c3")));
      t.load(LoadOptions.defaults(), more.iterator());
      MemorySegment key = MemorySegment.ofArray(t.coding().encode(f.key("c3")));
      if (form.isStored()) {
        byte[] space = new byte[100];
        MemorySegment out = MemorySegment.ofArray(space);
        int n = f.db.read(tx -> (int) t.get(tx, key, out));
        f.db.run(tx -> t.delete(tx, f.key("c3")));
        t.load(into -> into.add(key, out.asSlice(0, n)));
      } else {
        assertThrows(
            InvalidUseException.class, () -> t.load(into -> into.add(key, MemorySegment.NULL)));
      }
      List<String> all = new ArrayList<>(ALL);
      all.addAll(List.of("c1", "c2", "c3"));
      assertEquals(all, f.names());
    }
  }

  @ParameterizedTest
  @MethodSource("forms")
  <K, V> void scanning(Form<K, V> form) {
    try (Filled<K, V> f = new Filled<>(form, open())) {
      Table<K, V> t = f.table;
      f.db.run(
          tx -> {
            for (ScanOrder order : ScanOrder.values()) {
              List<String> want = notes("a3", "b2");
              want = order == ScanOrder.ASCENDING ? want : want.reversed();
              assertEquals(want, all(f, t.scan(tx, f.key("a3"), f.key("b3"), order)));
              List<String> seen = new ArrayList<>();
              t.scan(tx, f.key("a3"), f.key("b3"), order, (k, v) -> seen.add(f.shown(k, v)));
              assertEquals(want, seen);
              assertEquals(
                  want,
                  t.stream(tx, f.key("a3"), f.key("b3"), order).map(e -> f.shown(e)).toList());
              List<String> prefixed = notes("b1", "b9");
              prefixed = order == ScanOrder.ASCENDING ? prefixed : prefixed.reversed();
              assertEquals(prefixed, all(f, t.scanPrefix(tx, f.key("b"), order)));
              List<String> paged = new ArrayList<>();
              String token = null;
              do {
                Page<Map.Entry<K, V>> page = t.page(tx, f.key("a3"), f.key("b3"), order, token, 4);
                page.items().forEach(e -> paged.add(f.shown(e)));
                token = page.next();
              } while (token != null);
              assertEquals(want, paged);
            }
            List<String> seen = new ArrayList<>();
            t.forEach(tx, (k, v) -> seen.add(f.shown(k, v)));
            assertEquals(ALL, seen);
            seen.clear();
            t.forEach(tx, f.key("b8"), null, (k, v) -> seen.add(f.shown(k, v)));
            assertEquals(notes("b8", "b9"), seen);
            assertEquals(notes("b8", "b9"), t.stream(tx, f.key("b8")).map(f::shown).toList());
            assertEquals("a1", f.shown(t.first(tx)));
            assertEquals("b9", f.shown(t.last(tx)));
            assertEquals("a9", f.shown(t.floor(tx, f.key("a99"))));
            assertEquals("b1", f.shown(t.ceiling(tx, f.key("a99"))));
            assertEquals("a4", f.shown(t.lower(tx, f.key("a5"))));
            assertEquals("a6", f.shown(t.higher(tx, f.key("a5"))));
            assertNull(t.higher(tx, f.key("b9")));
            try (Cursor<K, V> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
              assertTrue(c.seek(f.key("b5")));
              assertEquals("b5", f.shown(c.key(), c.value()));
              assertTrue(c.previous());
              assertEquals("b4", f.shown(c.key(), c.value()));
              assertTrue(c.first());
              assertEquals("a1", f.shown(c.key(), c.value()));
              assertTrue(c.last());
              assertEquals("b9", f.shown(c.key(), c.value()));
              assertFalse(c.next());
            }
          });
    }
  }

  private static <K, V> List<String> all(Filled<K, V> f, Cursor<K, V> opened) {
    List<String> all = new ArrayList<>();
    try (Cursor<K, V> c = opened) {
      while (c.next()) {
        all.add(f.shown(c.key(), c.value()));
      }
    }
    return all;
  }

  @ParameterizedTest
  @MethodSource("forms")
  <K, V> void readingByAnIndex(Form<K, V> form) {
    try (Filled<K, V> f = new Filled<>(form, open())) {
      Index<?, K, V> index = form.index(f.table);
      if (index != null) {
        byIndex(f, index);
      }
    }
  }

  private static <I, K, V> void byIndex(Filled<K, V> f, Index<I, K, V> x) {
    assertEquals("by_text", x.name());
    assertTrue(x.isUnique());
    assertEquals(18, x.count());
    assertTrue(x.dataBytes() > 0);
    assertEquals("by_text", x.spec().name());
    assertTrue(x.toString().contains("by_text"), x::toString);
    if (f.form.knowsKeys()) {
      assertThrows(InvalidUseException.class, x::key);
    }
    f.db.run(
        tx -> {
          assertEquals("a3", f.shown(x.get(tx, text(x, "text a3"))));
          assertNull(x.get(tx, text(x, "text c")));
          List<Map.@Nullable Entry<K, V>> some =
              x.getAll(tx, List.of(text(x, "text b2"), text(x, "text c"), text(x, "text a2")));
          assertEquals(List.of("b2", "none", "a2"), some.stream().map(f::shown).toList());
          assertEquals("a1", f.shown(x.first(tx)));
          assertEquals("b9", f.shown(x.last(tx)));
          assertEquals("a9", f.shown(x.floor(tx, text(x, "text a99"))));
          assertEquals("a5", f.shown(x.floor(tx, text(x, "text a5"))));
          assertEquals("b1", f.shown(x.ceiling(tx, text(x, "text a99"))));
          assertEquals("a5", f.shown(x.ceiling(tx, text(x, "text a5"))));
          assertEquals("a4", f.shown(x.lower(tx, text(x, "text a5"))));
          assertEquals("a6", f.shown(x.higher(tx, text(x, "text a5"))));
          I from = text(x, "text a3");
          I to = text(x, "text b3");
          I one = text(x, "text b3");
          assertTrue(x.estimate(tx, from, to).count() > 0);
          assertEquals(1, x.estimate(tx, one).count());
          for (ScanOrder order : ScanOrder.values()) {
            List<String> want = notes("a3", "b2");
            want = order == ScanOrder.ASCENDING ? want : want.reversed();
            assertEquals(want, all(f, x.scan(tx, from, to, order)));
            assertEquals(List.of("b3"), all(f, x.scan(tx, one, order)));
            assertEquals(want, x.stream(tx, from, to, order).map(f::shown).toList());
            assertEquals(List.of("b3"), x.stream(tx, one, order).map(f::shown).toList());
            List<String> paged = new ArrayList<>();
            String token = null;
            do {
              Page<Map.Entry<K, V>> page = x.page(tx, from, to, order, token, 4);
              page.items().forEach(e -> paged.add(f.shown(e)));
              token = page.next();
            } while (token != null);
            assertEquals(want, paged);
            assertEquals(1, x.page(tx, one, order, null, 4).items().size());
            try (IndexCursor<I, K, V> c = x.scan(tx, null, null, order)) {
              assertTrue(c.seek(one));
              assertEquals("b3", f.shown(c.key(), c.value()));
              assertTrue(c.previous());
              assertTrue(c.first());
              assertTrue(c.last());
              assertFalse(c.next());
            }
          }
          if (one instanceof Key k) {
            assertEquals(
                notes("b3", "b9"), all(f, x.scan(tx, Range.atLeast(k), ScanOrder.ASCENDING)));
            try (IndexCursor<I, K, V> c = x.scan(tx, one, ScanOrder.ASCENDING)) {
              assertTrue(c.next());
              assertEquals("text b3", c.indexKey().getText(0));
            }
          } else {
            assertThrows(
                InvalidUseException.class, () -> x.scan(tx, Range.all(), ScanOrder.ASCENDING));
          }
          List<String> seen = new ArrayList<>();
          BiConsumer<K, V> see = (k, v) -> seen.add(f.shown(k, v));
          x.forEach(tx, from, to, see);
          x.forEach(tx, one, see);
          List<String> want = new ArrayList<>(notes("a3", "b2"));
          want.add("b3");
          assertEquals(want, seen);
        });
  }

  @SuppressWarnings("unchecked") // of an index of objects it is text, otherwise a key
  private static <I, K, V> I text(Index<I, K, V> x, String text) {
    return (I) (x.spec().extractedKey() == null ? text : x.key().text(text));
  }

  private static <I, K, V> List<String> all(Filled<K, V> f, IndexCursor<I, K, V> opened) {
    List<String> all = new ArrayList<>();
    try (IndexCursor<I, K, V> c = opened) {
      while (c.next()) {
        all.add(f.shown(c.key(), c.value()));
      }
    }
    return all;
  }

  @ParameterizedTest
  @MethodSource("forms")
  @SuppressWarnings({"NullAway", "DataFlowIssue"}) // null is what this tests
  <K, V> void nothingIsNull(Form<K, V> form) {
    try (Filled<K, V> f = new Filled<>(form, open())) {
      Table<K, V> t = f.table;
      K key = f.key("a1");
      V value = f.value("a1", "x");
      f.db.run(
          tx -> {
            List<Executable> calls =
                List.of(
                    () -> t.get(tx, null),
                    () -> t.find(tx, null),
                    () -> t.getForUpdate(tx, null),
                    () -> t.exists(tx, null),
                    () -> t.getAll(tx, Arrays.asList(key, null)),
                    () -> t.insert(tx, (K) null, value),
                    () -> t.insert(tx, f.key("c"), (V) null),
                    () -> t.put(tx, (K) null, value),
                    () -> t.put(tx, key, (V) null),
                    () -> t.update(tx, null, value),
                    () -> t.update(tx, key, (V) null),
                    () -> t.updateIfPresent(tx, null, value),
                    () -> t.updateIfPresent(tx, key, (V) null),
                    () -> t.delete(tx, (K) null),
                    () -> t.deletePrefix(tx, null),
                    () -> t.estimatePrefix(tx, null),
                    () -> t.scanPrefix(tx, null, ScanOrder.ASCENDING),
                    () -> t.scanPrefix(tx, key, null),
                    () -> t.scan(tx, key, null, null),
                    () -> t.forEach(tx, null),
                    () -> t.floor(tx, null),
                    () -> t.ceiling(tx, null),
                    () -> t.lower(tx, null),
                    () -> t.higher(tx, null),
                    () -> t.stream(tx, null),
                    () -> t.index(null, String.class),
                    () -> t.index("by_text", null));
            for (int i = 0; i < calls.size(); i++) {
              Class<? extends RuntimeException> expected =
                  i >= calls.size() - 2 && form.index(t) == null
                      ? InvalidUseException.class
                      : NullPointerException.class;
              assertThrows(expected, calls.get(i), "call " + i);
            }
          });
      assertEquals(ALL, f.names());
    }
  }

  /** Snapshots, change feeds, copies and the map support the form. */
  @ParameterizedTest
  @MethodSource("forms")
  <K, V> void otherViews(Form<K, V> form) {
    Path backup = dir.resolve("backup");
    try (Filled<K, V> f = new Filled<>(form, open())) {
      Table<K, V> t = f.table;
      f.db.backup(backup);
      try (Database then = f.db.snapshot();
          Changes changes = f.db.changes(then.changesPosition())) {
        f.db.run(
            tx -> {
              t.put(tx, f.key("a1"), f.value("a1", "new"));
              t.delete(tx, f.key("a2"));
            });
        shown(f, t, Objects.requireNonNull(changes.poll(Duration.ofSeconds(60))));
        try (FileChanges files =
            FileChanges.from(dir.resolve("notes.fovea"), then.changesPosition())) {
          shown(f, form.table(files), Objects.requireNonNull(files.poll()));
        }
        Table<K, V> old = form.table(then);
        assertEquals(ALL, then.read(tx -> old.stream(tx).map(e -> f.shown(e)).toList()));
      }
      assertEquals("new", form.text(Objects.requireNonNull(t.asMap().get(f.key("a1")))));
      assertEquals(17, t.asMap().size());
    }
    Path copy = dir.resolve("copy.fovea");
    Restore.from(backup).to(copy, Options.defaults());
    try (Database db = Database.open(copy, Options.defaults())) {
      Table<K, V> t = form.table(db);
      assertEquals(ALL, db.read(tx -> t.stream(tx).map(e -> form.name(e.getKey())).toList()));
    }
  }

  private static <K, V> void shown(Filled<K, V> f, Table<K, V> by, ChangeBatch batch) {
    Change put = batch.changes().get(0);
    assertEquals("a1=new", f.shown(put.key(by), Objects.requireNonNull(put.value(by))));
    Change delete = batch.changes().get(1);
    assertEquals("a2", f.form.name(delete.key(by)));
    assertNull(delete.value(by));
  }

  /**
   * Of the notes a1 to a9, those with odd numbers have expired; no operation returns any of them.
   */
  @ParameterizedTest
  @MethodSource("forms")
  <K, V> void expiry(Form<K, V> form) {
    SetClock clock = new SetClock(300);
    try (Database db =
        Database.open(
            dir.resolve("brief.fovea"),
            Options.defaults()
                .bufferBytes(4 << 20)
                .expiry(e -> e.clock(clock).sweepInterval(Duration.ZERO)))) {
      Table<K, V> t = form.expiring(db);
      db.run(
          tx -> {
            for (int i = 1; i <= 9; i++) {
              t.insert(tx, form.key("a" + i), brief(form, "a" + i, i, i % 2 == 1 ? EARLY : LATE));
            }
            assertEquals(9, t.stream(tx).count());
          });
      clock.set(10_000);
      List<String> there = List.of("a2", "a4", "a6", "a8");
      db.run(
          tx -> {
            K a1 = form.key("a1");
            K a5 = form.key("a5");
            assertNull(t.get(tx, a1));
            assertNull(t.getForUpdate(tx, a1));
            assertEquals(Optional.empty(), t.find(tx, a1));
            assertFalse(t.exists(tx, a1));
            assertTrue(t.exists(tx, form.key("a2")));
            List<@Nullable V> some = t.getAll(tx, List.of(a1, form.key("a2")));
            assertNull(some.get(0));
            assertEquals("2", tail(form, Objects.requireNonNull(some.get(1))));
            assertEquals(there, names(form, t.stream(tx)));
            assertEquals(
                there.reversed(), names(form, t.stream(tx, null, null, ScanOrder.DESCENDING)));
            List<String> visited = new ArrayList<>();
            t.forEach(tx, (k, v) -> visited.add(form.name(k)));
            assertEquals(there, visited);
            assertEquals("a2", name(form, t.first(tx)));
            assertEquals("a8", name(form, t.last(tx)));
            assertEquals("a4", name(form, t.floor(tx, a5)));
            assertEquals("a6", name(form, t.ceiling(tx, a5)));
            assertEquals("a4", name(form, t.lower(tx, form.key("a6"))));
            assertEquals("a8", name(form, t.higher(tx, form.key("a6"))));
            try (Cursor<K, V> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
              assertTrue(c.seek(a5));
              assertEquals("a6", form.name(c.key()));
              assertTrue(c.previous());
              assertEquals("a4", form.name(c.key()));
              assertTrue(c.last());
              assertEquals("a8", form.name(c.key()));
              assertFalse(c.next());
              assertTrue(c.first());
              assertEquals("a2", form.name(c.key()));
            }
            Page<Map.Entry<K, V>> page = t.page(tx, null, null, ScanOrder.ASCENDING, null, 3);
            assertEquals(there.subList(0, 3), names(form, page.items().stream()));
            page = t.page(tx, null, null, ScanOrder.ASCENDING, page.next(), 3);
            assertEquals(there.subList(3, 4), names(form, page.items().stream()));
            assertFalse(t.delete(tx, a1));
            assertNull(t.updateIfPresent(tx, a1, v -> v));
            assertThrows(RecordNotFoundException.class, () -> t.update(tx, a1, v -> v));
          });
      Index<?, K, V> index = form.hasIndex() ? form.index(t) : null;
      if (index != null) {
        db.run(tx -> hidden(tx, form, index));
      }
      assertEquals(new ArrayList<>(there), t.asMap().keySet().stream().map(form::name).toList());
      assertEquals(9, t.count()); // until the sweep
      db.run(
          tx -> {
            t.insert(tx, form.key("a1"), brief(form, "a1", 1, LATE));
            t.put(tx, form.key("a3"), brief(form, "a3", 3, LATE));
            // The text of a5, which has expired.
            t.insert(tx, form.key("c5"), brief(form, "c5", 5, LATE));
            assertThrows(
                DuplicateKeyException.class,
                () -> t.insert(tx, form.key("a1"), brief(form, "a1", 1, LATE)));
            assertEquals(3, t.deleteRange(tx, form.key("a2"), form.key("a5"))); // a2, a3, a4
          });
      assertEquals(List.of(), db.verify().problems());
      long hidden = t.count() - 4;
      assertEquals(hidden, db.sweepExpired());
      assertEquals(List.of("a1", "a6", "a8", "c5"), db.read(tx -> names(form, t.stream(tx))));
      assertEquals(4, t.count());
      assertEquals(List.of(), db.verify().problems());
    }
  }

  private static final int EARLY = 0x0200;
  private static final int LATE = 0x7F00;

  private static <K, V> V brief(Form<K, V> form, String name, int i, int until) {
    return form.expiring(name, String.valueOf(i), until);
  }

  private static <K, V> String tail(Form<K, V> form, V value) {
    String text = form.text(value);
    return text.substring(text.length() - 1);
  }

  private static <K, V> String name(Form<K, V> form, Map.@Nullable Entry<K, V> e) {
    return e == null ? "none" : form.name(e.getKey());
  }

  private static <K, V> List<String> names(Form<K, V> form, Stream<Map.Entry<K, V>> of) {
    return of.map(e -> form.name(e.getKey())).toList();
  }

  private static <I, K, V> void hidden(Transaction tx, Form<K, V> form, Index<I, K, V> index) {
    List<String> there = List.of("a2", "a4", "a6", "a8");
    I one = form.indexKey(index, 1, EARLY);
    I two = form.indexKey(index, 2, LATE);
    assertNull(index.get(tx, one));
    assertEquals("a2", name(form, index.get(tx, two)));
    List<Map.@Nullable Entry<K, V>> both = index.getAll(tx, List.of(one, two));
    assertNull(both.get(0));
    assertEquals("a2", name(form, both.get(1)));
    assertEquals("a2", name(form, index.first(tx)));
    assertEquals("a8", name(form, index.last(tx)));
    assertEquals(there, names(form, index.stream(tx, null, null, ScanOrder.ASCENDING)));
    assertEquals(0, index.stream(tx, one, ScanOrder.ASCENDING).count());
    assertEquals(there.reversed(), names(form, index.stream(tx, null, null, ScanOrder.DESCENDING)));
    assertEquals(9, index.count());
  }

  @Test
  void everyOperationIsTested() {
    assertEquals(
        Set.of(
            "asMap",
            "ceiling",
            "count",
            "dataBytes",
            "delete",
            "deletePrefix",
            "deleteRange",
            "estimate",
            "estimatePrefix",
            "exists",
            "find",
            "first",
            "floor",
            "forEach",
            "get",
            "getAll",
            "getForUpdate",
            "higher",
            "index",
            "insert",
            "last",
            "load",
            "lower",
            "page",
            "put",
            "scan",
            "scanPrefix",
            "stream",
            "table",
            "toString",
            "update",
            "updateIfPresent"),
        methods(Table.class));
    assertEquals(
        Set.of(
            "ceiling",
            "count",
            "dataBytes",
            "estimate",
            "first",
            "floor",
            "forEach",
            "get",
            "getAll",
            "higher",
            "isUnique",
            "key",
            "last",
            "lower",
            "name",
            "page",
            "scan",
            "spec",
            "stream",
            "toString"),
        methods(Index.class));
  }

  private static Set<String> methods(Class<?> c) {
    Set<String> names = new TreeSet<>();
    for (var m : c.getDeclaredMethods()) {
      if (Modifier.isPublic(m.getModifiers()) && !m.isSynthetic()) {
        names.add(m.getName());
      }
    }
    return names;
  }
}
