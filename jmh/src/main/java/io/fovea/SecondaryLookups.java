package io.fovea;

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
 *   stale    4b: ns a lookup over shares of wrong hints, by what is wrong; each entry once, no repair
 *   robust   5: share of right hints after inserts, deletes, updates; -Dbeyond=true: the pool holds
 *            what there was before them
 *   repair   6: ns a lookup beside changes of hints: with repair, without, without hints;
 *            -Dmix=50/10/40 for page/frame/slot of the changes (10/10/80), -Dthreads=10 (1)
 *   table    table 1: pages and MiB of the index by type of hint
 *   poison   full hints, none, and hints that are all wrong, at random
 *
 *   -DpageSize=16384 (the paper's; 4096)   -Dsize=100 bytes of a record, but for sizes
 * </pre>
 *
 * <p>One million records, one entry each, all in memory unless said otherwise; keys of 8 bytes, the
 * index is unique. The types are indexes of one table, so that they share its tree, and are
 * measured in turn, ROUNDS times (5, the first is warm-up and does not count); medians are printed,
 * as Markdown. A lookup is {@link Index#get} in transactions of {@value #GROUP}, of all entries in
 * random order.
 */
public final class SecondaryLookups {
  private static final int GROUP = 64;
  private static final int BATCH = 1000;
  private static final int SAMPLES_MAX = 1 << 20;
  private static final KeySpec KEY = KeySpec.of(FieldType.INT64);

  private final int pageSize = Integer.getInteger("pageSize", 4096);
  private final int size = Integer.getInteger("size", 100);
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
            args.length > 2 ? Integer.parseInt(args[2]) : 5);
    switch (figure) {
      case "sizes" -> b.sizes();
      case "stale" -> b.stale();
      case "robust" -> b.robust();
      case "repair" -> b.repair();
      case "table" -> b.table();
      case "poison" -> b.poison();
      default -> {
        System.err.println(
            "SecondaryLookups sizes|stale|robust|repair|table|poison [RECORDS [ROUNDS]]");
        System.exit(1);
      }
    }
  }

  // ------------------------------------------------------------------------------------ the table

  /** A table whose records have numbers, with an index of these for each of some types of hints. */
  private final class Store implements AutoCloseable {
    final Database db;
    final Field number;
    final int bytes;
    final Table table;
    final List<Index> indexes = new ArrayList<>();
    final int spread;

    /**
     * Fills it.
     *
     * @param spread the keys are multiples of this; others can be inserted between them
     * @param share how many times the data the pool holds, about
     */
    Store(int size, int spread, double share, EntryHints... kinds) {
      this.spread = spread;
      Layout.Builder l = Layout.builder();
      number = l.int64("number");
      if (size > 10) {
        l.bytes("pad", size - 10);
      }
      Layout layout = l.build();
      bytes = layout.size();
      double data = 1.6 * records * (bytes + 24 + 56.0 * kinds.length);
      long buffer = Math.max(16L << 20, (long) (share * data) + (8L << 20));
      db =
          Database.inMemory(
              Options.defaults()
                  .pageSize(pageSize)
                  .bufferBytes(buffer)
                  .leakDetection(Options.LeakDetection.OFF));
      TableSpec spec = TableSpec.of("t", KEY, layout);
      Table plain = db.table(spec);
      for (int from = 0; from < records; from += BATCH) {
        int first = from;
        db.run(
            tx -> {
              Key key = plain.key();
              Row row = plain.row();
              for (int i = first; i < Math.min(records, first + BATCH); i++) {
                row.clear().setLong(number, numberOf(i));
                plain.insert(tx, key.set((long) i * spread), row);
              }
            });
      }
      for (EntryHints kind : kinds) {
        spec = spec.with(IndexSpec.unique("by_" + kind, number).hints(kind));
      }
      table = db.table(spec);
      for (EntryHints kind : kinds) {
        indexes.add(table.index("by_" + kind));
      }
    }

    /** Numbers are in an order that has nothing to do with that of the keys. */
    long numberOf(long i) {
      long h = (i + 1) * 0x9E37_79B9_7F4A_7C15L;
      h = (h ^ h >>> 30) * 0xBF58_476D_1CE4_E5B9L;
      h = (h ^ h >>> 27) * 0x94D0_49BB_1331_11EBL;
      return (h ^ h >>> 31) >>> 1;
    }

    /** Looks up all records of the first life once, in random order; nanoseconds for each. */
    double lookUp(Index index, long seed) {
      Key key = index.key();
      Row row = table.row();
      int[] order = shuffled(seed);
      long begin = System.nanoTime();
      for (int from = 0; from < records; from += GROUP) {
        int first = from;
        db.run(
            TxOptions.forReading(),
            tx -> {
              for (int k = first; k < Math.min(records, first + GROUP); k++) {
                if (!index.get(tx, key.set(numberOf(order[k])), row)) {
                  throw new IllegalStateException("record " + order[k] + " is gone");
                }
              }
            });
      }
      return (System.nanoTime() - begin) / (double) records;
    }

    private int[] shuffled(long seed) {
      int[] order = new int[records];
      SplittableRandom r = new SplittableRandom(seed);
      for (int i = 0; i < records; i++) {
        int other = r.nextInt(i + 1);
        order[i] = order[other];
        order[other] = i;
      }
      return order;
    }

    @Override
    public void close() {
      db.close();
    }
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }

  /** Something that is measured in turn with others. */
  @FunctionalInterface
  private interface Measure {
    double run(long seed);
  }

  /** The medians of all rounds but the first. */
  private double[] inTurn(List<Measure> measures) {
    double[][] all = new double[measures.size()][Math.max(1, rounds - 1)];
    for (int round = 0; round < rounds; round++) {
      for (int i = 0; i < measures.size(); i++) {
        double value = measures.get(i).run(round * 31L + 7);
        all[i][Math.max(0, round - 1)] = value;
      }
    }
    return Arrays.stream(all).mapToDouble(SecondaryLookups::median).toArray();
  }

  private static void line(String first, double[] values, String format) {
    StringBuilder s = new StringBuilder("| ").append(first);
    for (double v : values) {
      s.append(" | ").append(String.format(Locale.ROOT, format, v));
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
      try (Store s = new Store(bytes, 1, 1, EntryHints.values())) {
        List<Measure> measures = new ArrayList<>();
        s.indexes.forEach(i -> measures.add(seed -> s.lookUp(i, seed)));
        line(bytes + " (" + s.bytes + ")", inTurn(measures), "%.0f");
      }
    }
  }

  private void stale() {
    head("% wrong", "page", "frame", "slot", "all", "none");
    try (Store s = new Store(size, 1, 1, EntryHints.NONE, EntryHints.PAGE_FRAME_SLOT)) {
      s.db.repairHints(false);
      for (int percent = 0; percent <= 100; percent += 20) {
        int p = percent;
        List<Measure> measures = new ArrayList<>();
        for (HintPoison poison :
            List.of(
                new HintPoison(p, 0, 0, false),
                new HintPoison(0, p, 0, false),
                new HintPoison(0, 0, p, false),
                new HintPoison(p, p, p, false))) {
          measures.add(seed -> poisoned(s, s.indexes.get(1), poison, seed));
        }
        measures.add(seed -> s.lookUp(s.indexes.get(0), seed));
        line(p + " %", inTurn(measures), "%.0f");
      }
    }
  }

  private static double poisoned(Store s, Index index, HintPoison poison, long seed) {
    s.db.poisonHints(poison);
    try {
      return s.lookUp(index, seed);
    } finally {
      s.db.poisonHints(HintPoison.NONE);
    }
  }

  private void poison() {
    head("hints", "ns a lookup");
    try (Store s = new Store(size, 1, 1, EntryHints.NONE, EntryHints.PAGE_FRAME_SLOT)) {
      HintPoison wild = new HintPoison(100, 100, 100, true);
      double[] all =
          inTurn(
              List.of(
                  seed -> s.lookUp(s.indexes.get(0), seed),
                  seed -> {
                    s.lookUp(s.indexes.get(1), ~seed); // puts right what the poison has left
                    return s.lookUp(s.indexes.get(1), seed);
                  },
                  seed -> poisoned(s, s.indexes.get(1), wild, seed)));
      line("none", new double[] {all[0]}, "%.0f");
      line("full, right", new double[] {all[1]}, "%.0f");
      line("full, all wrong at random", new double[] {all[2]}, "%.0f");
    }
  }

  private void table() {
    head("hints", "levels", "inner", "leaves", "all pages", "MiB");
    try (Store s = new Store(size, 1, 1, EntryHints.values())) {
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
      try (Store s = new Store(size, 1024, share, EntryHints.PAGE_FRAME_SLOT)) {
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

  private void change(Store s, Transaction tx, String change, SplittableRandom r, boolean[] gone) {
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
  private void robust(Store s, String change, int percent, boolean[] gone) {
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
      Store s, Transaction tx, Index index, Key key, Row row, Position hint, Position there) {
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
        "right pages after it");
    for (int lookups : new int[] {100, 80, 60, 40, 20}) {
      for (String how : List.of("repair", "no repair", "no hint")) {
        EntryHints kind = how.equals("no hint") ? EntryHints.NONE : EntryHints.PAGE_FRAME_SLOT;
        try (Store s = new Store(size, 1, 1, kind)) {
          s.lookUp(s.indexes.get(0), 3);
          s.db.repairHints(how.equals("repair"));
          Mixed[] all = new Mixed[threads];
          for (int i = 0; i < threads; i++) {
            all[i] = new Mixed(s, lookups, mix, (long) records * 10 / threads, i);
            all[i].start();
          }
          long[] nanos = new long[0];
          for (Mixed m : all) {
            m.join();
            int at = nanos.length;
            nanos = Arrays.copyOf(nanos, at + m.samples);
            System.arraycopy(m.nanos, 0, nanos, at, m.samples);
          }
          Arrays.sort(nanos);
          double[] values = new double[5];
          double[] shares = {0.02, 0.25, 0.5, 0.75, 0.98};
          for (int i = 0; i < shares.length; i++) {
            values[i] = nanos[(int) ((nanos.length - 1) * shares[i])];
          }
          line(
              lookups + "/" + (100 - lookups) + " | " + how,
              new double[] {values[0], values[1], values[2], values[3], values[4], rightPages(s)},
              "%.0f");
        }
      }
    }
  }

  /** Percent. */
  private double rightPages(Store s) {
    Index index = s.indexes.get(0);
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

  /** A thread that looks records up and makes hints wrong. */
  private final class Mixed extends Thread {
    private final Store s;
    private final int lookups;
    private final int[] mix;
    private final long target;
    private final SplittableRandom r;
    private final Position hint = new Position();
    final long[] nanos = new long[SAMPLES_MAX];
    int samples;

    Mixed(Store s, int lookups, int[] mix, long target, int number) {
      this.s = s;
      this.lookups = lookups;
      this.mix = mix;
      this.target = target;
      this.r = new SplittableRandom(number);
    }

    @Override
    public void run() {
      Index index = s.indexes.get(0);
      Key key = index.key();
      Row row = s.table.row();
      long[] done = new long[1];
      while (done[0] < target) {
        s.db.run(
            TxOptions.forReading(),
            tx -> {
              for (int i = 0; i < GROUP; i++) {
                key.set(s.numberOf(r.nextInt(records)));
                if (r.nextInt(100) >= lookups) {
                  if (index.hints() != EntryHints.NONE) {
                    spoil(tx, index, key);
                  }
                  continue;
                }
                long begin = System.nanoTime();
                index.get(tx, key, row);
                long took = System.nanoTime() - begin;
                // The first half is for the compiler; of the second, every so many.
                if (++done[0] > target / 2 && samples < nanos.length && r.nextInt(8) == 0) {
                  nanos[samples++] = took;
                }
              }
            });
      }
    }

    /** Takes 1 from the page, the frame or the slot of a hint. */
    private void spoil(Transaction tx, Index index, Key key) {
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
        t.storeHint(core.tree, t.lastRead(), value, at, core.hints.bytes(), false);
      } finally {
        tx.exit();
      }
    }
  }
}
