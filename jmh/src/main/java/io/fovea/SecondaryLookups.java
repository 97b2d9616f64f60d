package io.fovea;

import io.fovea.btree.HintedLeaf;
import io.fovea.btree.Position;
import io.fovea.btree.TreeVerifier;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * What hints in the entries of secondary indexes are worth, what wrong ones cost, how long they
 * stay right: figures 4 to 6 and table 1 of Otaki et al., Enhancing Transaction Processing through
 * Indirection Skipping, PVLDB 18 (11), 2025.
 *
 * <pre>
 *   java -cp jmh/target/benchmarks.jar io.fovea.SecondaryLookups FIGURE [RECORDS [ROUNDS]]
 *
 *   sizes    4a: ns a lookup by type of hint, over records of 10 to 1000 bytes
 *   stale    4b: ns a lookup over shares of wrong hints, by what is wrong; no repair
 *   robust   5: share of right hints after inserts, deletes, updates; -Dbeyond=true: the pool holds
 *            what there was before them
 *   repair   6: ns a lookup beside changes of hints: with repair, without, without hints;
 *            -Dmix=50/10/40 for page/frame/slot of the changes (10/10/80), -Dthreads=10 (1)
 *   table    table 1: pages and MiB of the index by type of hint
 *   engines  the latched table without hints and with all of them, and the guess likewise: what the
 *            paper calls conventional, and what it becomes; with one lookup and with {@value #GROUP}
 *            in a transaction. Each in a JVM of its own; so often with new ones, and at last the
 *            medians of all: -Dsets=5
 *   poison   full hints, none, and hints that are all wrong, at random; with one lookup and with
 *            {@value #GROUP} in a transaction
 *
 *   -DpageSize=16384 (the paper's; 4096)   -Dsize=100 bytes of a record, but for sizes
 *   -Dgroup=64 lookups of a transaction, but for engines and poison
 * </pre>
 *
 * <p>One million records, one entry each, all in memory unless said otherwise; keys of 8 bytes, the
 * index is unique. Whatever is compared is open at the same time: unique indexes of one table,
 * which share its tree, or engines ({@link SecondaryEngine}). A round is a piece of {@value
 * #PIECE_MILLIS} ms of each in turn, so that each gets the same of a machine whose speed changes.
 * The first quarter of the ROUNDS is warm-up and does not count. Printed, as Markdown, are the
 * median of the nanoseconds for a lookup and, in brackets, the median over the rounds of their
 * ratio to the first column's, or line's, of the same round. A lookup is {@link Index#get}, of all
 * entries in random order.
 */
public final class SecondaryLookups {
  private static final int GROUP = 64;
  private static final int BATCH = 1000;
  private static final int SAMPLES_MAX = 1 << 20;
  private static final int PIECE_MILLIS = 50;
  private static final long PIECE_NANOS = PIECE_MILLIS * 1_000_000L;
  private static final int ROUNDS = 100;
  private static final int SETS = 5;

  private final int pageSize = Integer.getInteger("pageSize", 4096);
  private final int size = Integer.getInteger("size", 100);
  private final int group = Integer.getInteger("group", GROUP);
  private final int records;
  private final int rounds;

  private SecondaryLookups(int records, int rounds) {
    this.records = records;
    this.rounds = rounds;
  }

  /** See the class. */
  public static void main(String[] args) throws Exception {
    String figure = args.length > 0 ? args[0] : "";
    SecondaryLookups b =
        new SecondaryLookups(
            args.length > 1 ? Integer.parseInt(args[1]) : 1_000_000,
            args.length > 2 ? Integer.parseInt(args[2]) : ROUNDS);
    switch (figure) {
      case "sizes" -> b.sizes();
      case "stale" -> b.stale();
      case "robust" -> b.robust();
      case "repair" -> b.repair();
      case "table" -> b.table();
      case "engines" -> b.engines();
      case "poison" -> b.poison();
      default -> {
        System.err.println(
            "SecondaryLookups sizes|stale|robust|repair|table|engines|poison [RECORDS [ROUNDS]]");
        System.exit(1);
      }
    }
  }

  private SecondaryStore store(int bytes, int spread, double share, EntryHints... kinds) {
    return new SecondaryStore(
        records, pageSize, bytes, spread, share, Translation.PREDICTIVE, Hints.ALL, kinds);
  }

  // --------------------------------------------------------------------------------- in turn

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }

  /** Something that is measured in turn with others. */
  @FunctionalInterface
  private interface Piece {
    /** Goes on for about so long; nanoseconds for each lookup. */
    double run(long nanos);
  }

  /** Medians: of the nanoseconds, and of the ratio to the first. */
  private record Medians(double[] nanos, double[] ratios) {
    /** Of each, the median over several. */
    static Medians of(List<Medians> all) {
      double[] nanos = new double[all.get(0).nanos.length];
      double[] ratios = new double[nanos.length];
      for (int i = 0; i < nanos.length; i++) {
        int at = i;
        nanos[i] = median(all.stream().mapToDouble(m -> m.nanos[at]).toArray());
        ratios[i] = median(all.stream().mapToDouble(m -> m.ratios[at]).toArray());
      }
      return new Medians(nanos, ratios);
    }

    String cell(int i) {
      return String.format(Locale.ROOT, "%.0f (%.2f)", nanos[i], ratios[i]);
    }

    String[] cells() {
      String[] cells = new String[nanos.length];
      Arrays.setAll(cells, this::cell);
      return cells;
    }
  }

  private Medians inTurn(List<Piece> pieces) {
    int n = pieces.size();
    int warmUp = rounds / 4;
    double[][] nanos = new double[n][rounds - warmUp];
    double[][] ratios = new double[n][rounds - warmUp];
    for (int round = -warmUp; round < rounds - warmUp; round++) {
      for (int i = 0; i < n; i++) {
        double value = pieces.get(i).run(PIECE_NANOS);
        if (round >= 0) {
          nanos[i][round] = value;
          ratios[i][round] = value / nanos[0][round];
        }
      }
    }
    return new Medians(
        Arrays.stream(nanos).mapToDouble(SecondaryLookups::median).toArray(),
        Arrays.stream(ratios).mapToDouble(SecondaryLookups::median).toArray());
  }

  private static void line(Object first, Object... cells) {
    StringBuilder s = new StringBuilder("| ").append(first);
    for (Object c : cells) {
      s.append(" | ").append(c);
    }
    System.out.println(s.append(" |"));
  }

  private static void head(String first, Object... columns) {
    StringBuilder names = new StringBuilder("| ").append(first);
    StringBuilder rule = new StringBuilder("|---");
    for (Object c : columns) {
      names.append(" | ").append(c);
      rule.append("|---");
    }
    System.out.println(names.append(" |"));
    System.out.println(rule.append('|'));
  }

  // ---------------------------------------------------------------------------------- the figures

  private void sizes() {
    head("bytes of a record", (Object[]) EntryHints.values());
    for (int bytes : new int[] {10, 50, 100, 200, 500, 1000}) {
      try (SecondaryStore s = store(bytes, 1, 1, EntryHints.values())) {
        List<Piece> pieces = new ArrayList<>();
        s.indexes.forEach(i -> pieces.add(s.walk(i, group)::run));
        line(bytes + " (" + s.bytes + ")", (Object[]) inTurn(pieces).cells());
      }
    }
  }

  private void stale() {
    head("% wrong", "page", "frame", "slot", "all");
    try (SecondaryStore s = store(size, 1, 1, EntryHints.NONE, EntryHints.PAGE_FRAME_SLOT)) {
      s.db.repairHints(false);
      List<Piece> pieces = new ArrayList<>();
      pieces.add(s.walk(s.indexes.get(0), group)::run);
      for (int p = 0; p <= 100; p += 20) {
        pieces.add(poisoned(s, 1, new HintPoison(p, 0, 0, false), group));
        pieces.add(poisoned(s, 1, new HintPoison(0, p, 0, false), group));
        pieces.add(poisoned(s, 1, new HintPoison(0, 0, p, false), group));
        pieces.add(poisoned(s, 1, new HintPoison(p, p, p, false), group));
      }
      Medians m = inTurn(pieces);
      line("none", m.cell(0), m.cell(0), m.cell(0), m.cell(0));
      for (int p = 0, i = 1; p <= 100; p += 20, i += 4) {
        line(p + " %", m.cell(i), m.cell(i + 1), m.cell(i + 2), m.cell(i + 3));
      }
    }
  }

  /** Lookups by an index that has wrong hints while they run. */
  private static Piece poisoned(SecondaryStore s, int index, HintPoison poison, int group) {
    SecondaryStore.Walk walk = s.walk(s.indexes.get(index), group);
    return nanos -> {
      s.db.poisonHints(poison);
      try {
        return walk.run(nanos);
      } finally {
        s.db.poisonHints(HintPoison.NONE);
      }
    };
  }

  private void engines() {
    int sets = Integer.getInteger("sets", SETS);
    List<SecondaryEngine.Kind> kinds = List.of(SecondaryEngine.Kind.values());
    // By set, first one lookup in a transaction, then a group.
    List<Medians> one = new ArrayList<>();
    List<Medians> many = new ArrayList<>();
    head("engine", "ns, 1 lookup a transaction", "ns, " + GROUP + " lookups");
    for (int set = 0; set < sets; set++) {
      List<SecondaryEngine> engines = new ArrayList<>();
      try {
        kinds.forEach(k -> engines.add(new SecondaryEngine(k, records, pageSize, size)));
        engines.forEach(SecondaryEngine::await);
        one.add(inTurn(engines.stream().<Piece>map(e -> nanos -> e.run(1, nanos)).toList()));
        many.add(inTurn(engines.stream().<Piece>map(e -> nanos -> e.run(GROUP, nanos)).toList()));
      } finally {
        engines.forEach(SecondaryEngine::close);
      }
      for (SecondaryEngine.Kind k : kinds) {
        int i = k.ordinal();
        line((set + 1) + ": " + k.title, one.get(set).cell(i), many.get(set).cell(i));
      }
    }
    Medians middleOne = Medians.of(one);
    Medians middleMany = Medians.of(many);
    for (SecondaryEngine.Kind k : kinds) {
      line("medians: " + k.title, middleOne.cell(k.ordinal()), middleMany.cell(k.ordinal()));
    }
  }

  private void poison() {
    head("hints", "ns, 1 lookup a transaction", "ns, " + GROUP + " lookups");
    EntryHints full = EntryHints.PAGE_FRAME_SLOT;
    // What the poison stores is in an index of its own.
    try (SecondaryStore s = store(size, 1, 1, EntryHints.NONE, full, full)) {
      HintPoison wild = new HintPoison(100, 100, 100, true);
      List<Medians> all = new ArrayList<>();
      for (int lookups : new int[] {1, GROUP}) {
        all.add(
            inTurn(
                List.of(
                    s.walk(s.indexes.get(0), lookups)::run,
                    s.walk(s.indexes.get(1), lookups)::run,
                    poisoned(s, 2, wild, lookups))));
      }
      String[] names = {"none", "full, right", "full, all wrong at random"};
      for (int i = 0; i < names.length; i++) {
        line(names[i], all.get(0).cell(i), all.get(1).cell(i));
      }
    }
  }

  private void table() {
    head("hints", "levels", "inner", "leaves", "all pages", "MiB");
    try (SecondaryStore s = store(size, 1, 1, EntryHints.values())) {
      for (Index i : s.indexes) {
        TreeVerifier.Report r = TreeVerifier.verify(i.core().tree);
        double mib = r.pages() * (double) pageSize / (1 << 20);
        System.out.printf(
            Locale.ROOT,
            "| %s | %d | %d | %d | %d | %.2f |%n",
            i.hints(),
            r.height(),
            r.innerPages(),
            r.leafPages(),
            r.pages(),
            mib);
      }
    }
  }

  // -------------------------------------------------------------------------------------- figure 5

  private void robust() {
    boolean beyond = Boolean.getBoolean("beyond");
    head("change", "% of the records", "page", "frame", "slot");
    for (String change : List.of("insert", "delete", "update")) {
      double share = beyond ? 1 : change.equals("insert") ? 2.2 : 1.2;
      try (SecondaryStore s = store(size, 1024, share, EntryHints.PAGE_FRAME_SLOT)) {
        s.db.repairHints(false);
        SplittableRandom r = new SplittableRandom(1);
        boolean[] gone = new boolean[records];
        int done = 0;
        for (int percent = 0; percent <= 100; percent += 20) {
          int target = (int) ((long) records * percent / 100);
          while (done < target) {
            int todo = Math.min(BATCH / 10, target - done);
            s.db.run(
                tx -> {
                  for (int k = 0; k < todo; k++) {
                    change(s, tx, change, r, gone);
                  }
                });
            done += todo;
          }
          robust(s, change, percent, gone);
        }
      }
    }
  }

  private void change(
      SecondaryStore s, Transaction tx, String change, SplittableRandom r, boolean[] gone) {
    Key key = s.table.key();
    Row row = s.table.row();
    switch (change) {
      case "insert" -> {
        long k;
        do {
          k = r.nextLong((long) records * s.spread);
        } while (k % s.spread == 0 || s.table.exists(tx, key.set(k)));
        row.clear().setLong(s.number, -1 - k);
        s.table.insert(tx, key.set(k), row);
      }
      case "delete" -> {
        int i = r.nextInt(records);
        while (gone[i]) {
          i = i + 1 < records ? i + 1 : 0;
        }
        gone[i] = true;
        s.table.delete(tx, key.set((long) i * s.spread));
      }
      default -> {
        int i = r.nextInt(records);
        s.table.get(tx, key.set((long) i * s.spread), row);
        row.setLong(s.number, s.numberOf(i) - 1);
        s.table.update(tx, row);
        row.setLong(s.number, s.numberOf(i));
        s.table.update(tx, row);
      }
    }
  }

  /** Walks the index; a hint of a page that is not resident counts as right if it is not freed. */
  private void robust(SecondaryStore s, String change, int percent, boolean[] gone) {
    DatabaseStats.HintedLookups before = s.db.stats().hintedLookups();
    Index index = s.indexes.get(0);
    Position hint = new Position();
    Position there = new Position();
    long entries = 0;
    long pages = 0;
    long slots = 0;
    long frames = 0;
    Key key = index.key();
    Row row = s.table.row();
    Key from = index.key().set(Long.MIN_VALUE);
    boolean more = true;
    // A transaction for a part of the entries: a read set has its limits.
    while (more) {
      long[] count = new long[5];
      Key begin = from;
      s.db.run(
          TxOptions.forReading(),
          tx -> {
            Arrays.fill(count, 0);
            try (Cursor c = index.scan(tx, Range.atLeast(begin), Order.ASCENDING)) {
              while (count[0] < BATCH && c.next()) {
                long number = c.indexKey().getLong(0);
                peek(s, tx, index, key.set(number), row, hint, there);
                count[0]++;
                count[1] += hint.pid == there.pid ? 1 : 0;
                count[2] += hint.pid == there.pid && hint.slot == there.slot ? 1 : 0;
                count[3] += hint.pid == there.pid && hint.frame == there.frame ? 1 : 0;
                count[4] = number;
              }
            }
          });
      entries += count[0];
      pages += count[1];
      slots += count[2];
      frames += count[3];
      more = count[0] == BATCH && count[4] < Long.MAX_VALUE;
      from = index.key().set(count[4] + 1);
    }
    if (s.db.stats().hintedLookups().pageRepairs() != before.pageRepairs()) {
      throw new IllegalStateException("hints were put right on the way");
    }
    System.out.printf(
        Locale.ROOT,
        "| %s | %d %% | %.1f %% | %.1f %% | %.1f %% |%n",
        change,
        percent,
        100.0 * pages / Math.max(1, entries),
        100.0 * frames / Math.max(1, entries),
        100.0 * slots / Math.max(1, entries));
  }

  /** The hint of an entry, and where its record is. */
  private static void peek(
      SecondaryStore s,
      Transaction tx,
      Index index,
      Key key,
      Row row,
      Position hint,
      Position there) {
    Tx t = tx.enter(s.db);
    try {
      MemorySegment value = tx.slot().keyStage(64);
      IndexCore core = index.core();
      int n = t.get(core.tree, key.segment(), key.base(), key.length(), value, 0, 64);
      int pkLen = core.hints.keyLength(n);
      core.hints.codec.read(value, pkLen, hint);
      t.get(s.table.core().tree, value, 0, pkLen, row.segment(), row.base(), 0);
      t.placeOfRead(t.lastRead(), there);
    } finally {
      tx.exit();
    }
  }

  // -------------------------------------------------------------------------------------- figure 6

  private void repair() throws InterruptedException {
    int[] mix =
        Arrays.stream(System.getProperty("mix", "10/10/80").split("/"))
            .mapToInt(Integer::parseInt)
            .toArray();
    int threads = Integer.getInteger("threads", 1);
    head(
        "lookups/changes",
        "hints",
        "p2",
        "p25",
        "ns, median",
        "p75",
        "p98",
        "lookups",
        "% of pages right after it");
    String[] names = {"no hint", "repair", "no repair"};
    EntryHints full = EntryHints.PAGE_FRAME_SLOT;
    for (int lookups : new int[] {100, 80, 60, 40, 20}) {
      try (SecondaryStore s = store(size, 1, 1, EntryHints.NONE, full, full)) {
        List<List<Mixed>> teams = new ArrayList<>();
        for (Index index : s.indexes) {
          List<Mixed> team = new ArrayList<>();
          for (int i = 0; i < threads; i++) {
            team.add(new Mixed(s, index, lookups, mix, i));
          }
          teams.add(team);
        }
        double[][] medians = new double[names.length][rounds - rounds / 4];
        for (int round = -(rounds / 4); round < rounds - rounds / 4; round++) {
          for (int i = 0; i < names.length; i++) {
            s.db.repairHints(names[i].equals("repair"));
            double m = piece(teams.get(i), round >= 0);
            if (round >= 0) {
              medians[i][round] = m / (i == 0 ? 1 : medians[0][round]);
            }
          }
        }
        for (int i = 0; i < names.length; i++) {
          print(
              s,
              lookups,
              names[i],
              s.indexes.get(i),
              teams.get(i),
              i == 0 ? 1 : median(medians[i]));
        }
      }
    }
  }

  /** All threads of an index for a piece; the median of what their lookups took in it. */
  private static double piece(List<Mixed> team, boolean counts) throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    for (Mixed m : team) {
      m.counts = counts;
      m.first = m.samples;
      if (team.size() > 1) {
        Thread t = new Thread(m);
        threads.add(t);
        t.start();
      } else {
        m.run();
      }
    }
    for (Thread t : threads) {
      t.join();
    }
    return counts ? median(all(team, true)) : 0;
  }

  /** What was sampled, in all pieces or in the last one. */
  private static double[] all(List<Mixed> team, boolean last) {
    double[] nanos = new double[0];
    for (Mixed m : team) {
      int from = last ? m.first : 0;
      int at = nanos.length;
      nanos = Arrays.copyOf(nanos, at + m.samples - from);
      for (int i = from; i < m.samples; i++) {
        nanos[at++] = m.nanos[i];
      }
    }
    return nanos;
  }

  private void print(
      SecondaryStore s, int lookups, String how, Index index, List<Mixed> team, double ratio) {
    double[] nanos = all(team, false);
    Arrays.sort(nanos);
    double[] shares = {0.02, 0.25, 0.5, 0.75, 0.98};
    Object[] cells = new Object[shares.length + 3];
    cells[0] = how;
    for (int i = 0; i < shares.length; i++) {
      double v = nanos[(int) ((nanos.length - 1) * shares[i])];
      cells[i + 1] = String.format(Locale.ROOT, i == 2 ? "%.0f (%.2f)" : "%.0f", v, ratio);
    }
    cells[6] = team.stream().mapToLong(m -> m.done).sum();
    cells[7] = String.format(Locale.ROOT, "%.0f", rightPages(s, index));
    line(lookups + "/" + (100 - lookups), cells);
  }

  /** Percent. */
  private double rightPages(SecondaryStore s, Index index) {
    if (index.hints() == EntryHints.NONE) {
      return 0;
    }
    int sample = Math.min(records, 10_000);
    long[] right = new long[1];
    Position hint = new Position();
    Position there = new Position();
    s.db.run(
        TxOptions.forReading(),
        tx -> {
          right[0] = 0;
          Key key = index.key();
          Row row = s.table.row();
          for (int i = 0; i < sample; i++) {
            long id = (long) i * records / sample;
            peek(s, tx, index, key.set(s.numberOf(id)), row, hint, there);
            right[0] += hint.pid == there.pid ? 1 : 0;
          }
        });
    return 100.0 * right[0] / sample;
  }

  /** Looks records up and makes hints wrong, a piece at a time. */
  private final class Mixed implements Runnable {
    private final SecondaryStore s;
    private final Index index;
    private final Key key;
    private final Row row;
    private final int lookups;
    private final int[] mix;
    private final SplittableRandom r;
    private final Position hint = new Position();
    final long[] nanos = new long[SAMPLES_MAX];
    int samples;

    /** The first sample of this piece. */
    int first;

    /** Whether this piece is sampled. */
    boolean counts;

    /** Lookups, of all pieces. */
    long done;

    Mixed(SecondaryStore s, Index index, int lookups, int[] mix, int number) {
      this.s = s;
      this.index = index;
      this.key = index.key();
      this.row = s.table.row();
      this.lookups = lookups;
      this.mix = mix;
      this.r = new SplittableRandom(number);
    }

    @Override
    public void run() {
      long begin = System.nanoTime();
      do {
        s.db.run(TxOptions.forReading(), this::some);
      } while (System.nanoTime() - begin < PIECE_NANOS);
    }

    private void some(Transaction tx) {
      for (int i = 0; i < group; i++) {
        key.set(s.numberOf(r.nextInt(records)));
        if (r.nextInt(100) >= lookups) {
          if (index.hints() != EntryHints.NONE) {
            spoil(tx);
          }
          continue;
        }
        done++;
        long begin = System.nanoTime();
        index.get(tx, key, row);
        long took = System.nanoTime() - begin;
        if (counts && samples < nanos.length && r.nextInt(4) == 0) {
          nanos[samples++] = took;
        }
      }
    }

    /** Takes 1 from the page, the frame or the slot of a hint. */
    private void spoil(Transaction tx) {
      Tx t = tx.enter(s.db);
      try {
        MemorySegment value = tx.slot().keyStage(64);
        IndexCore core = index.core();
        int n = t.get(core.tree, key.segment(), key.base(), key.length(), value, 0, 64);
        int at = core.hints.keyLength(n);
        core.hints.codec.read(value, at, hint);
        int which = r.nextInt(100);
        if (which < mix[0]) {
          hint.pid = Math.max(1, hint.pid - 1);
        } else if (which < mix[0] + mix[1]) {
          hint.frame = hint.frame > 0 ? hint.frame - 1 : 1;
        } else {
          hint.slot = Math.max(0, hint.slot - 1);
        }
        core.hints.codec.write(value, at, hint, true);
        Position entry = tx.slot().entry;
        t.placeOfRead(t.lastRead(), entry);
        HintedLeaf.store(core.tree, entry, value, at, core.hints.bytes(), false);
      } finally {
        tx.exit();
      }
    }
  }
}
