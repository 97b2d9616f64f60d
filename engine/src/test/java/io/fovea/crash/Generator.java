package io.fovea.crash;

import io.fovea.config.Duplicates;
import io.fovea.crash.State.Blob;
import io.fovea.crash.State.Contents;
import io.fovea.crash.State.Kind;
import io.fovea.crash.State.Pk;
import io.fovea.crash.State.Value;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;

/** Random steps. They follow from the seed and the states passed in, never from the engine. */
final class Generator {
  private static final int GROUPS = 6;

  /** Tables whose pages interleave; the first one's pages move when the second is empty. */
  private static final String MOVES = "moves";

  private static final String GOES = "goes";

  /** A table that is created after these, so that moving pages must also move its roots. */
  private static final String LATE = "late";

  private static final String TIMED = "timed";

  private static final List<Kind> UNTIMED =
      Arrays.stream(Kind.values()).filter(k -> k != Kind.TIMED).toList();

  private static final int MOVED_PUTS = 120;
  private static final String LONG = "\u6f22".repeat(255);
  private static final List<String> INDEXES = List.of("by_a", "by_text", "by_unique");
  private static final List<String> OF_BYTES = List.of("by_end", "by_name", "by_length");

  private final Random r;

  /** The number of names in a group: few lead to updates, many to splits. */
  private final int names;

  /** Whether to create and drop tables and indexes. */
  private final boolean schema;

  /** Whether to do checkpoints and closes. */
  private final boolean upkeep;

  private int next;

  private boolean timed;

  Generator(long seed) {
    this(seed, true, true);
  }

  Generator(long seed, boolean schema, boolean upkeep) {
    this(seed, 4 << new Random(seed).nextInt(5), schema, upkeep);
  }

  Generator(long seed, int names, boolean schema, boolean upkeep) {
    this.r = new Random(seed * 31 + 7);
    this.names = names;
    this.next = r.nextInt(1 << 28);
    this.schema = schema;
    this.upkeep = upkeep;
  }

  /** Returns the first steps of every workload. */
  static List<Step> first() {
    return List.of(
        new Step.CreateTable("narrow", Kind.NARROW, List.of("by_text", "by_unique")),
        new Step.CreateTable("wide", Kind.WIDE, List.of("by_a")),
        new Step.CreateTable("variable", Kind.VARIABLE, List.of("by_text")),
        new Step.CreateTable("bytes", Kind.BYTES, List.of()));
  }

  /** Also generates tables whose rows expire, clock steps, and sweeps. */
  Generator timed() {
    timed = true;
    return this;
  }

  Step next(State state) {
    if (timed && r.nextInt(6) == 0) {
      if (!state.tables.containsKey(TIMED)) {
        return new Step.CreateTable(TIMED, Kind.TIMED, List.of("by_text", "expires"));
      }
      // Times are below 2^20, and small ones are frequent.
      return r.nextBoolean() ? new Step.Sweep() : new Step.Tick(1 + r.nextInt(1 << 15));
    }
    return anyNext(state);
  }

  /** The subject of a step. */
  enum Kin {
    ROWS,
    EVOLUTION,
    EXPIRY,
    RANGE_DELETE,
    SNAPSHOT,
    LOAD,
    CATALOG,
    COMPACTION,
    UPKEEP
  }

  /** Returns a step of some kind, or of another if that is not possible now. */
  Step next(State state, Kin kin) {
    if (!state.tables.containsKey(TIMED)) {
      return new Step.CreateTable(TIMED, Kind.TIMED, List.of("by_text", "expires"));
    }
    return switch (kin) {
      case ROWS -> transact(state);
      case EVOLUTION -> evolve(state);
      case EXPIRY -> {
        if (r.nextInt(3) == 0) {
          yield timedRows(state);
        }
        yield r.nextBoolean() ? new Step.Sweep() : new Step.Tick(1 + r.nextInt(1 << 15));
      }
      case RANGE_DELETE -> ranges(state);
      case SNAPSHOT -> new Step.Snap();
      case LOAD -> load(state);
      case CATALOG -> r.nextBoolean() ? migrate(state) : schemaStep(state);
      case COMPACTION -> new Step.Compact(r.nextBoolean());
      case UPKEEP ->
          switch (r.nextInt(3)) {
            case 0 -> new Step.Checkpoint();
            case 1 -> new Step.Reopen();
            default -> new Step.Look();
          };
    };
  }

  /** Returns changes of rows that expire. */
  private Step timedRows(State state) {
    Contents c = state.tables.get(TIMED);
    List<Step.Op> ops = new ArrayList<>();
    for (int i = 1 + r.nextInt(12); i > 0; i--) {
      ops.add(op(TIMED, c, true));
    }
    return new Step.Transact(ops, true);
  }

  /** Returns range deletes on one or more tables, in a transaction with other changes. */
  private Step ranges(State state) {
    List<String> tables = List.copyOf(state.tables.keySet());
    List<Step.Op> ops = new ArrayList<>();
    for (int i = 1 + r.nextInt(3); i > 0; i--) {
      String table = tables.get(r.nextInt(tables.size()));
      if (r.nextInt(3) == 0) {
        ops.add(op(table, state.tables.get(table), false));
      }
      int group = r.nextInt(GROUPS);
      boolean all = r.nextInt(6) == 0;
      Pk from = all ? null : new Pk(group, "");
      Pk to = all && r.nextBoolean() ? null : new Pk(group + r.nextInt(2), "name" + r.nextInt(9));
      ops.add(new Step.DeleteRange(table, from, to));
    }
    return new Step.Transact(ops, r.nextInt(8) > 0);
  }

  private Step anyNext(State state) {
    if (state.tables.isEmpty()) {
      return first().get(r.nextInt(3));
    }
    int kind = r.nextInt(100);
    if (kind < 10 && schema) {
      return schemaStep(state);
    }
    if (kind < 14 && schema) {
      return migrate(state);
    }
    if (kind < 19 && upkeep) {
      return kind < 17 ? new Step.Checkpoint() : new Step.Reopen();
    }
    if (kind < 21) {
      return new Step.Look();
    }
    if (kind < 25 && schema && upkeep) {
      return new Step.Snap();
    }
    if (kind < 29 && schema) {
      return load(state);
    }
    if (kind < 32 && schema) {
      return evolve(state);
    }
    return transact(state);
  }

  /**
   * Returns steps that make pages move: two trees grow interleaved, one is emptied, and the
   * database is compacted, repeatedly.
   *
   * @param i the number of the step
   * @param every one of this many steps is a compaction
   */
  Step next(State state, int i, int every) {
    return next(state, i, every, false, true);
  }

  /**
   * Returns steps that make pages move.
   *
   * @param wide whether records occupy their own pages, so that the space between them becomes
   *     holes or targets of moves
   * @param moves whether compaction moves pages, rather than punching holes
   */
  Step next(State state, int i, int every, boolean wide, boolean moves) {
    int before = every - 1 - i % every;
    if (before == 0) {
      return new Step.Compact(moves);
    }
    if (before > 4 && state.tables.containsKey(LATE)) {
      return new Step.DropTable(LATE);
    }
    if (before == 1 || before > 4) {
      return next(state);
    }
    if (before == 3 && !state.tables.containsKey(LATE)) {
      return new Step.CreateTable(LATE, Kind.BYTES, OF_BYTES.subList(0, r.nextInt(3)));
    }
    for (String table : List.of(MOVES, GOES)) {
      if (!state.tables.containsKey(table)) {
        return new Step.CreateTable(table, Kind.BYTES, List.of());
      }
    }
    List<Step.Op> ops = new ArrayList<>();
    if (before > 2 && wide) {
      for (int n = 0; n < 4; n++) {
        Pk pk = new Pk(r.nextInt(GROUPS), "wide" + r.nextInt(6));
        Value value = Step.bytes(15_000 + r.nextInt(15_000), ++next * 7 + 1);
        ops.add(new Step.Put(n == 3 ? MOVES : GOES, pk, value));
      }
    } else if (before > 2) {
      for (int n = 0; n < MOVED_PUTS; n++) {
        Pk pk = new Pk(r.nextInt(GROUPS), "move" + r.nextInt(MOVED_PUTS / 2));
        Value value = Step.bytes(4 + r.nextInt(900), ++next * 7 + 1);
        ops.add(new Step.Put(n % 2 == 0 ? MOVES : GOES, pk, value));
      }
    } else {
      ops.add(new Step.DeleteRange(GOES, null, null));
    }
    return new Step.Transact(ops, true);
  }

  private static List<String> indexes(Kind kind) {
    return kind == Kind.BYTES ? OF_BYTES : INDEXES;
  }

  private Step schemaStep(State state) {
    String extra = "extra" + r.nextInt(2);
    if (!state.tables.containsKey(extra)) {
      Kind kind = UNTIMED.get(r.nextInt(UNTIMED.size()));
      return new Step.CreateTable(extra, kind, indexes(kind).subList(0, r.nextInt(4)));
    }
    List<String> names = List.copyOf(state.tables.keySet());
    String name = names.get(r.nextInt(names.size()));
    Contents c = state.tables.get(name);
    String index = indexes(c.kind()).get(r.nextInt(3));
    if (r.nextInt(5) == 0) {
      // a short name, one that the catalog stores by its hash, or an existing one
      List<String> to = List.of("extra0", "extra1", LONG);
      String other = to.get(r.nextInt(3));
      return other.equals(extra) ? new Step.DropTable(extra) : new Step.Rename(extra, other);
    }
    if (r.nextInt(4) == 0) {
      return new Step.DropTable(extra);
    }
    String there = c.named(index);
    if (there == null) {
      return new Step.CreateIndex(name, index);
    }
    return r.nextInt(3) == 0 ? new Step.RenameIndex(name, there) : new Step.DropIndex(name, there);
  }

  /** Evolves a table of rows to its next version, if any. */
  private Step evolve(State state) {
    List<String> names = List.copyOf(state.tables.keySet());
    String name = names.get(r.nextInt(names.size()));
    Contents c = state.tables.get(name);
    if (c.kind() == Kind.BYTES || c.version() == Shape.NEWEST) {
      return new Step.Look();
    }
    String byA = c.named("by_a");
    // An index that must be rebuilt is missing for a while, which is a separate state.
    return byA != null && Shape.rebuildsByA(c.version() + 1)
        ? new Step.DropIndex(name, byA)
        : new Step.Evolve(name);
  }

  /** Loads few or many records, so that the new tree is logged or written. */
  private Step load(State state) {
    List<String> tables = List.copyOf(state.tables.keySet());
    String table = tables.get(r.nextInt(tables.size()));
    Contents c = state.tables.get(table);
    int n = r.nextInt(3) == 0 ? 1 + r.nextInt(4) : 1 + r.nextInt(40);
    Duplicates duplicates = Duplicates.values()[r.nextInt(3)];
    boolean ascending = r.nextBoolean();
    List<Step.Loaded> rows = new ArrayList<>();
    TreeSet<Pk> keys = new TreeSet<>();
    while (rows.size() < n) {
      Pk pk = new Pk(r.nextInt(GROUPS), "load" + r.nextInt(2 * names + n));
      boolean fails = duplicates == Duplicates.FAIL && r.nextInt(30) > 0;
      if ((ascending || fails) && !keys.add(pk) || fails && c.records().containsKey(pk)) {
        n--;
        continue;
      }
      rows.add(new Step.Loaded(pk, value(c.kind(), false)));
    }
    if (ascending) {
      rows.sort(Comparator.comparing(Step.Loaded::pk));
    }
    return new Step.Load(table, rows, ascending, duplicates);
  }

  /** Creates, drops and renames tables, with records, in one transaction. */
  private Step migrate(State state) {
    List<String> extras = List.of("extra0", "extra1", LONG);
    List<Object> parts = new ArrayList<>();
    State s = state.copy();
    int n = 1 + r.nextInt(4);
    for (int i = 0; i < n; i++) {
      String name = extras.get(r.nextInt(3));
      Step.Change change;
      if (!s.tables.containsKey(name)) {
        Kind kind = UNTIMED.get(r.nextInt(UNTIMED.size()));
        change = new Step.CreateInTransaction(name, kind, indexes(kind).subList(0, r.nextInt(4)));
      } else if (r.nextBoolean()) {
        change = new Step.DropInTransaction(name);
      } else {
        change = new Step.RenameInTransaction(name, extras.get(r.nextInt(3)));
      }
      parts.add(change);
      change.apply(s);
      List<String> tables = List.copyOf(s.tables.keySet());
      for (int k = tables.isEmpty() ? 0 : r.nextInt(5); k > 0; k--) {
        String table = s.tables.containsKey(name) ? name : tables.get(r.nextInt(tables.size()));
        Step.Op op = op(table, s.tables.get(table), false);
        parts.add(op);
        op.apply(s);
      }
    }
    return new Step.Migrate(parts, r.nextInt(5) > 0);
  }

  private Step transact(State state) {
    int n = r.nextInt(3) == 0 ? 1 : 1 + r.nextInt(8);
    if (r.nextInt(12) == 0) {
      n = 40; // enough for several splits in one commit
    }
    List<Step.Op> ops = new ArrayList<>();
    List<String> tables = List.copyOf(state.tables.keySet());
    boolean one = n == 40 || r.nextBoolean();
    String table = tables.get(r.nextInt(tables.size()));
    for (int i = 0; i < n; i++) {
      if (!one) {
        table = tables.get(r.nextInt(tables.size()));
      }
      ops.add(op(table, state.tables.get(table), n == 40));
    }
    return new Step.Transact(ops, r.nextInt(10) > 0);
  }

  private Step.Op op(String table, Contents c, boolean bulk) {
    // Each wide record occupies its own pages, so use fewer.
    int range = c.kind() == Kind.WIDE ? Math.min(names, 4) : names;
    Pk pk = new Pk(r.nextInt(GROUPS), (r.nextInt(3) == 0 ? "\0n" : "name") + r.nextInt(range));
    if (r.nextInt(3) == 0 && !c.records().isEmpty()) {
      Pk there = c.records().ceilingKey(pk); // an existing key
      pk = there == null ? c.records().firstKey() : there;
    }
    int kind = r.nextInt(100);
    if (bulk) {
      return new Step.Put(table, pk, value(c.kind(), true));
    }
    if (kind < 25) {
      return new Step.Insert(table, pk, value(c.kind(), false));
    }
    if (kind < 50) {
      return new Step.Put(table, pk, value(c.kind(), false));
    }
    if (kind < 75 && c.kind() != Kind.BYTES) {
      return new Step.Patch(
          table, pk, r.nextInt(3) > 0, r.nextBoolean(), next % 2 == 0, value(c.kind(), false));
    }
    if (kind < 95) {
      return new Step.Delete(table, pk);
    }
    if (kind < 98) {
      Pk to = new Pk(pk.group() + r.nextInt(2), "name" + r.nextInt(range));
      return new Step.DeleteRange(
          table, r.nextInt(8) == 0 ? null : pk, r.nextInt(8) == 0 ? null : to);
    }
    return new Step.DeleteGroup(table, pk.group());
  }

  private Value value(Kind kind, boolean small) {
    int seed = ++next * 7 + 1; // distinct, to tell values apart
    if (kind != Kind.BYTES) {
      int pad = kind == Kind.WIDE ? 9000 : 60;
      int length = r.nextInt(pad + 1);
      return new Value(
          r.nextInt(9),
          "t" + r.nextInt(20),
          r.nextInt(r.nextInt(4) == 0 ? 30 : 1 << 20),
          length < 4 ? Blob.EMPTY : new Blob(length, seed),
          seed % 1000);
    }
    int length =
        switch (small ? r.nextInt(3) : r.nextInt(7)) {
          case 0 -> 0;
          case 1, 2 -> 4 + r.nextInt(100);
          case 3, 4 -> 4 + r.nextInt(1500);
          case 5 -> 3000 + r.nextInt(6000);
          default -> 4 + r.nextInt(30_000);
        };
    return Step.bytes(length, seed);
  }
}
