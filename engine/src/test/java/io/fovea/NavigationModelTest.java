package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Id;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SetClock;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import io.fovea.support.TestEnvironment;
import io.fovea.support.UnreliableDeviceState;
import io.fovea.support.UnreliableStorage;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Compares cursors that seek and reverse, nearest records, streams and pages with sorted sets: over
 * byte strings, rows, objects and two indexes, with the transaction's own uncommitted writes,
 * expired rows and snapshots. Moves are repeated after device faults.
 */
@Tag("slow")
class NavigationModelTest {
  private static final int KEYS = 300;
  private static final int AFTER = 10;
  private static final Layout.Definition B = Layout.define();
  private static final Field PAD = B.bytes("pad", 200);
  private static final Field COLOUR = B.int32("colour");
  private static final Field CODE = B.int64("code");
  private static final Field AT = B.int64("at");
  private static final TableSpec ROWS =
      TableSpec.of("rows", KeySpec.of(FieldType.INT32), B.build())
          .with(IndexSpec.on("by_colour", COLOUR))
          .with(IndexSpec.unique("by_code", CODE))
          .expireAfter(AT, Duration.ofMillis(AFTER));
  private static final TableSpec BYTES = TableSpec.bytes("bytes", 40);
  private static final ObjectSpec<Integer, Thing> THINGS =
      ObjectSpec.of("things", Integer.class, Thing.class);

  public record Thing(@Id int number, int colour, long code, long at) {
    boolean expired(long now) {
      return at > 0 && at <= now - AFTER;
    }
  }

  /** The sort value of a record, and its number. */
  private record Item(long sort, int number) implements Comparable<Item> {
    @Override
    public int compareTo(Item other) {
      int c = Long.compare(sort, other.sort);
      return c != 0 ? c : Integer.compare(number, other.number);
    }
  }

  /** A table form or index in a transaction; everything sorts by a number. */
  private interface Form {
    boolean moves(Move move, long to);

    int number();

    void close();
  }

  private enum Move {
    NEXT,
    PREVIOUS,
    FIRST,
    LAST,
    SEEK
  }

  private enum Kind {
    ROWS,
    BYTES,
    THINGS,
    COLOURS,
    CODES;

    Item item(Thing t) {
      return new Item(this == COLOURS ? t.colour : this == CODES ? t.code : t.number, t.number);
    }
  }

  private record Tables(RowTable rows, Table<byte[], byte[]> bytes, Table<Integer, Thing> things) {
    static Tables of(Database db) {
      return new Tables(db.table(ROWS), db.table(BYTES).bytes(), db.table(THINGS));
    }

    RowRangeOperations ordered(Kind kind) {
      return switch (kind) {
        case COLOURS -> rows.index("by_colour");
        case CODES -> rows.index("by_code");
        default -> rows;
      };
    }

    Key key(Kind kind, long sort) {
      return switch (kind) {
        case COLOURS -> rows.index("by_colour").key().set((int) sort);
        case CODES -> rows.index("by_code").key().set(sort);
        default -> rows.key().set((int) sort);
      };
    }

    void put(Transaction tx, Thing t) {
      Row row =
          rows.row()
              .setBytes(PAD, new byte[t.number % 200])
              .setInt(COLOUR, t.colour)
              .setLong(CODE, t.code)
              .setLong(AT, t.at);
      rows.put(tx, rows.key().set(t.number), row);
      bytes.put(tx, stored(t.number), new byte[t.colour * 50]);
      things.put(tx, t);
    }

    void delete(Transaction tx, int number) {
      rows.delete(tx, rows.key().set(number));
      bytes.delete(tx, stored(number));
      things.delete(tx, number);
    }
  }

  private static byte[] stored(long number) {
    return ByteBuffer.allocate(8).putLong(number).array();
  }

  private static int number(byte[] key) {
    return (int) ByteBuffer.wrap(key).getLong();
  }

  /** An interval of sort values, including the first and excluding the second; null: unbounded. */
  private record Part(@Nullable Long from, @Nullable Long to) {
    static Part any(Random r) {
      Long from = r.nextInt(3) == 0 ? null : (long) r.nextInt(KEYS);
      Long to = r.nextInt(3) == 0 ? null : (long) r.nextInt(KEYS);
      return new Part(from, to);
    }

    NavigableSet<Item> of(TreeSet<Item> all) {
      if (from != null && to != null && from >= to) {
        return new TreeSet<>();
      }
      NavigableSet<Item> some = all;
      some = from == null ? some : some.tailSet(new Item(from, Integer.MIN_VALUE), true);
      return to == null ? some : some.headSet(new Item(to, Integer.MIN_VALUE), false);
    }

    Range range(Tables t, Kind kind) {
      Key lo = from == null ? null : t.key(kind, from);
      Key hi = to == null ? null : t.key(kind, to);
      return lo == null
          ? hi == null ? Range.all() : Range.lessThan(hi)
          : hi == null ? Range.atLeast(lo) : Range.of(lo, true, hi, false);
    }

    byte @Nullable [] fromBytes() {
      return from == null ? null : stored(from);
    }

    byte @Nullable [] toBytes() {
      return to == null ? null : stored(to);
    }

    @Nullable Integer fromInt() {
      return from == null ? null : from.intValue();
    }

    @Nullable Integer toInt() {
      return to == null ? null : to.intValue();
    }
  }

  private static final class Run {
    private final TestEnvironment environment;
    private final UnreliableDeviceState deviceState;
    private final SetClock clock = new SetClock(1_000);
    private final Random random;
    private final Database db;
    private final Tables tables;
    private TreeMap<Integer, Thing> model = new TreeMap<>();
    private int moves;

    Run(TestEnvironment environment, UnreliableDeviceState deviceState, long seed) {
      this.environment = environment;
      this.deviceState = deviceState;
      this.random = new Random(seed);
      Protocol protocol = Protocol.values()[(int) (seed % Protocol.values().length)];
      Options options =
          Options.defaults()
              .bufferBytes(environment.smallest() ? 100L * environment.pageSize() : 8 << 20)
              .device(d -> d.pageSize(environment.pageSize()))
              .expiry(e -> e.clock(clock).sweepInterval(Duration.ZERO))
              .experiments(exp -> exp.protocol(protocol));
      db =
          SimDatabase.open(
              new UnreliableStorage(new SimStorage(new SimDisk(seed)), deviceState),
              options,
              environment);
      tables = Tables.of(db);
    }

    void step() {
      switch (random.nextInt(12)) {
        case 0 -> clock.set(clock.millis() + random.nextInt(6));
        case 1 -> environment.patiently(db::checkpoint);
        case 2 -> snapshot();
        case 3, 4 -> pages();
        default -> {
          long once = random.nextLong();
          environment.patiently(() -> transaction(once));
        }
      }
    }

    private static TreeSet<Item> sorted(Kind kind, Map<Integer, Thing> all, long now) {
      boolean expires = kind != Kind.BYTES && kind != Kind.THINGS;
      TreeSet<Item> items = new TreeSet<>();
      all.values().stream()
          .filter(t -> !expires || !t.expired(now))
          .forEach(t -> items.add(kind.item(t)));
      return items;
    }

    private void transaction(long once) {
      AtomicReference<TreeMap<Integer, Thing>> after = new AtomicReference<>(model);
      TxOptions how = TxOptions.defaults();
      how = once % 5 == 0 ? how.pessimisticAfterAborts(0) : how;
      db.run(
          how,
          tx -> {
            Random r = new Random(once);
            TreeMap<Integer, Thing> m = new TreeMap<>(model);
            Runnable writes = () -> write(tx, m, r);
            for (int n = r.nextInt(12); n > 0; n--) {
              writes.run();
            }
            for (int n = 1 + r.nextInt(4); n > 0; n--) {
              look(tx, tables, m, r, writes);
            }
            after.set(m);
          });
      model = after.get();
    }

    private void write(Transaction tx, TreeMap<Integer, Thing> m, Random r) {
      int n = r.nextInt(KEYS);
      if (r.nextInt(3) == 0) {
        int last = n + r.nextInt(3);
        for (; n <= last; n++) {
          tables.delete(tx, n);
          m.remove(n);
        }
        return;
      }
      long at = r.nextInt(3) == 0 ? 0 : clock.millis() - AFTER + r.nextInt(8) - 2;
      Thing t = new Thing(n, r.nextInt(6), n + (long) KEYS * r.nextInt(3), at);
      tables.put(tx, t);
      m.put(n, t);
    }

    private void look(
        Transaction tx, Tables t, TreeMap<Integer, Thing> m, Random r, @Nullable Runnable writes) {
      Kind kind = Kind.values()[r.nextInt(Kind.values().length)];
      Supplier<TreeSet<Item>> items = () -> sorted(kind, m, clock.millis());
      switch (r.nextInt(6)) {
        case 0 -> nearest(tx, t, kind, items.get(), r);
        case 1 -> streams(tx, t, kind, items.get(), r);
        default -> walk(tx, t, kind, items, r, writes);
      }
    }

    private void walk(
        Transaction tx,
        Tables t,
        Kind kind,
        Supplier<TreeSet<Item>> all,
        Random r,
        @Nullable Runnable writes) {
      Part part = Part.any(r);
      boolean down = r.nextBoolean();
      Form form = open(tx, t, kind, part, down ? ScanOrder.DESCENDING : ScanOrder.ASCENDING);
      Position model = new Position(down);
      StringBuilder done = new StringBuilder(kind + " " + part + (down ? " down" : " up"));
      NavigableSet<Item> items = part.of(all.get());
      for (int n = 1 + r.nextInt(20); n > 0; n--) {
        if (writes != null && r.nextInt(6) == 0) {
          writes.run();
          items = part.of(all.get());
          model.written = true;
          done.append(", writes");
        }
        Move move = model.any(r);
        long to = r.nextInt(KEYS + 20) - 10;
        Item expected = model.move(items, move, to);
        boolean[] found = new boolean[1];
        environment.patiently(() -> found[0] = form.moves(move, to));
        done.append(", ").append(move).append(move == Move.SEEK ? " " + to : "");
        String so = done + ": " + expected + " of " + items;
        assertEquals(expected != null, found[0], so);
        if (expected != null) {
          assertEquals(expected.number, form.number(), so);
          done.append(" (").append(expected.number).append(')');
        }
        moves++;
      }
      form.close();
    }

    private static final class Position {
      private final boolean down;
      private @Nullable Item on;
      private boolean behind;

      boolean written;

      Position(boolean down) {
        this.down = down;
      }

      /**
       * Returns a random move, except one whose result depends on records inserted before the first
       * or after the last one.
       */
      Move any(Random r) {
        for (; ; ) {
          Move m =
              Move.values()[
                  r.nextInt(4) == 0 ? 4 : r.nextInt(10) < 8 ? r.nextInt(2) : r.nextInt(4)];
          boolean beyond =
              on == null && written && (m == Move.NEXT && behind || m == Move.PREVIOUS && !behind);
          if (!beyond) {
            return m;
          }
        }
      }

      @Nullable Item move(NavigableSet<Item> ascending, Move move, long to) {
        NavigableSet<Item> items = down ? ascending.descendingSet() : ascending;
        Item was = on;
        Item first = items.isEmpty() ? null : items.first();
        Item last = items.isEmpty() ? null : items.last();
        on =
            switch (move) {
              case FIRST -> first;
              case LAST -> last;
              case NEXT -> was != null ? items.higher(was) : behind ? null : first;
              case PREVIOUS -> was != null ? items.lower(was) : behind ? last : null;
              case SEEK ->
                  items.ceiling(new Item(to, down ? Integer.MAX_VALUE : Integer.MIN_VALUE));
            };
        if (on == null) {
          behind = move == Move.NEXT || move == Move.SEEK || move == Move.FIRST;
        }
        written = false;
        return on;
      }
    }

    private static Form open(Transaction tx, Tables t, Kind kind, Part part, ScanOrder order) {
      return switch (kind) {
        case BYTES -> {
          Cursor<byte[], byte[]> c = t.bytes.scan(tx, part.fromBytes(), part.toBytes(), order);
          yield form(
              c::next,
              c::previous,
              c::first,
              c::last,
              to -> c.seek(to < 0 ? new byte[0] : stored(to)),
              () -> number(c.key()),
              c::close);
        }
        case THINGS -> {
          Cursor<Integer, Thing> c = t.things.scan(tx, part.fromInt(), part.toInt(), order);
          yield form(
              c::next,
              c::previous,
              c::first,
              c::last,
              to -> c.seek((int) to),
              () -> {
                assertEquals(c.key(), c.value().number);
                return c.key();
              },
              c::close);
        }
        default -> {
          RowCursor c = t.ordered(kind).scan(tx, part.range(t, kind), order);
          yield form(
              c::next,
              c::previous,
              c::first,
              c::last,
              to -> c.seek(t.key(kind, to)),
              () -> c.key().getInt(0),
              c::close);
        }
      };
    }

    private interface Seek {
      boolean to(long sort);
    }

    private static Form form(
        BooleanSupplier next,
        BooleanSupplier previous,
        BooleanSupplier first,
        BooleanSupplier last,
        Seek seek,
        Supplier<Integer> number,
        Runnable close) {
      return new Form() {
        @Override
        public boolean moves(Move move, long to) {
          return switch (move) {
            case NEXT -> next.getAsBoolean();
            case PREVIOUS -> previous.getAsBoolean();
            case FIRST -> first.getAsBoolean();
            case LAST -> last.getAsBoolean();
            case SEEK -> seek.to(to);
          };
        }

        @Override
        public int number() {
          return number.get();
        }

        @Override
        public void close() {
          close.run();
        }
      };
    }

    private static void nearest(
        Transaction tx, Tables t, Kind kind, TreeSet<Item> items, Random r) {
      long at = r.nextInt(KEYS + 10);
      Item low = new Item(at, Integer.MIN_VALUE);
      Item high = new Item(at, Integer.MAX_VALUE);
      List<@Nullable Item> expected =
          Arrays.asList(
              items.floor(high),
              items.ceiling(low),
              items.lower(low),
              items.higher(high),
              items.isEmpty() ? null : items.first(),
              items.isEmpty() ? null : items.last());
      List<@Nullable Integer> found = new ArrayList<>();
      switch (kind) {
        case BYTES -> {
          byte[] key = stored(at);
          Table<byte[], byte[]> b = t.bytes;
          for (Map.Entry<byte[], byte[]> e :
              Arrays.asList(
                  b.floor(tx, key),
                  b.ceiling(tx, key),
                  b.lower(tx, key),
                  b.higher(tx, key),
                  b.first(tx),
                  b.last(tx))) {
            found.add(e == null ? null : number(e.getKey()));
          }
        }
        case THINGS -> {
          int key = (int) at;
          Table<Integer, Thing> o = t.things;
          for (Map.Entry<Integer, Thing> e :
              Arrays.asList(
                  o.floor(tx, key),
                  o.ceiling(tx, key),
                  o.lower(tx, key),
                  o.higher(tx, key),
                  o.first(tx),
                  o.last(tx))) {
            found.add(e == null ? null : e.getKey());
          }
        }
        default -> {
          Key key = t.key(kind, at);
          Row row = t.rows.row();
          RowRangeOperations o = t.ordered(kind);
          List<BooleanSupplier> all =
              List.of(
                  () -> o.floor(tx, key, row),
                  () -> o.ceiling(tx, key, row),
                  () -> o.lower(tx, key, row),
                  () -> o.higher(tx, key, row),
                  () -> o.first(tx, row),
                  () -> o.last(tx, row));
          for (BooleanSupplier one : all) {
            found.add(one.getAsBoolean() ? row.key(t.rows.key()).getInt(0) : null);
          }
        }
      }
      List<@Nullable Integer> numbers = new ArrayList<>();
      expected.forEach(e -> numbers.add(e == null ? null : e.number));
      assertEquals(numbers, found, () -> kind + " at " + at + " of " + items);
    }

    private static List<Integer> numbers(NavigableSet<Item> items) {
      return items.stream().map(Item::number).toList();
    }

    private static void streams(
        Transaction tx, Tables t, Kind kind, TreeSet<Item> items, Random r) {
      Part part = Part.any(r);
      boolean down = r.nextBoolean();
      ScanOrder order = down ? ScanOrder.DESCENDING : ScanOrder.ASCENDING;
      List<Integer> expected = numbers(part.of(items));
      List<Integer> each = new ArrayList<>();
      List<Integer> stream;
      switch (kind) {
        case BYTES -> {
          t.bytes.forEach(tx, part.fromBytes(), part.toBytes(), (k, v) -> each.add(number(k)));
          stream =
              new ArrayList<>(
                  t.bytes.stream(tx, part.fromBytes(), part.toBytes(), order)
                      .map(e -> number(e.getKey()))
                      .toList());
        }
        case THINGS -> {
          t.things.forEach(tx, part.fromInt(), part.toInt(), (k, v) -> each.add(v.number));
          stream =
              new ArrayList<>(
                  t.things.stream(tx, part.fromInt(), part.toInt(), order)
                      .map(Map.Entry::getKey)
                      .toList());
        }
        default -> {
          Range range = part.range(t, kind);
          t.ordered(kind).forEach(tx, range, (k, row) -> each.add(k.getInt(0)));
          stream =
              new ArrayList<>(
                  t.ordered(kind).stream(
                          tx, range, order, (k, row) -> row.key(t.rows.key()).getInt(0))
                      .toList());
        }
      }
      assertEquals(expected, each);
      if (down) {
        Collections.reverse(stream);
      }
      assertEquals(expected, stream);
    }

    private void pages() {
      Kind kind = Kind.values()[random.nextInt(Kind.values().length)];
      Part part = Part.any(random);
      boolean down = random.nextBoolean();
      ScanOrder order = down ? ScanOrder.DESCENDING : ScanOrder.ASCENDING;
      int limit = 1 + random.nextInt(20);
      List<Integer> found = new ArrayList<>();
      String token = null;
      do {
        String after = token;
        List<Page<Integer>> page = new ArrayList<>();
        environment.patiently(
            () -> page.add(db.read(tx -> page(tx, kind, part, order, after, limit))));
        found.addAll(page.getFirst().items());
        token = page.getFirst().next();
        assertTrue(token == null || page.getFirst().items().size() == limit);
      } while (token != null);
      if (down) {
        Collections.reverse(found);
      }
      assertEquals(numbers(part.of(sorted(kind, model, clock.millis()))), found);
    }

    private Page<Integer> page(
        Transaction tx, Kind kind, Part part, ScanOrder order, @Nullable String after, int limit) {
      return switch (kind) {
        case BYTES -> {
          Page<Map.Entry<byte[], byte[]>> p =
              tables.bytes.page(tx, part.fromBytes(), part.toBytes(), order, after, limit);
          yield new Page<>(p.items().stream().map(e -> number(e.getKey())).toList(), p.next());
        }
        case THINGS -> {
          Page<Map.Entry<Integer, Thing>> p =
              tables.things.page(tx, part.fromInt(), part.toInt(), order, after, limit);
          yield new Page<>(p.items().stream().map(Map.Entry::getKey).toList(), p.next());
        }
        default ->
            tables
                .ordered(kind)
                .page(tx, part.range(tables, kind), order, after, limit, (k, row) -> k.getInt(0));
      };
    }

    private void snapshot() {
      long once = random.nextLong();
      deviceState.faults(false);
      try (Database then = db.snapshot()) {
        TreeMap<Integer, Thing> m = new TreeMap<>(model);
        environment.patiently(() -> transaction(once));
        Tables old = Tables.of(then);
        then.run(
            TxOptions.forReading(),
            tx -> {
              Random r = new Random(once);
              for (int n = 0; n < 4; n++) {
                look(tx, old, m, r, null);
              }
            });
      }
      deviceState.faults(true);
    }

    void end() {
      deviceState.faults(false);
      assertTrue(db.verify().ok(), () -> db.verify().toString());
      db.close();
    }
  }

  @ParameterizedTest
  @EnumSource
  void inAllEnvironments(TestEnvironment environment) {
    environment.each(
        6,
        (deviceState, seed) -> {
          deviceState.faults(false);
          Run run = new Run(environment, deviceState, seed);
          deviceState.faults(true);
          int steps = environment.steps(60);
          for (int i = 0; i < steps; i++) {
            run.step();
          }
          run.end();
          // A third of the minimum over many seeds.
          assertTrue(run.moves > 2 * steps, () -> run.moves + " moves");
        });
  }
}
