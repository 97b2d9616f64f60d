package io.fovea;

import io.fovea.btree.HintedLeaf;
import io.fovea.btree.Position;
import io.fovea.index.IndexCore;
import io.fovea.schema.EntryHints;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/** Figure 6 of {@link SecondaryLookups}: lookups concurrent with changes that invalidate hints. */
final class HintRepair {
  private static final int SAMPLES_MAX = 1 << 20;

  /** Lookups of each index over all pieces; 0 for as many as fit in the rounds. */
  private static final long LOOKUPS = Long.getLong("lookups", 0);

  /** Warm-up rounds if lookups are counted. */
  private static final int WARM_UP = LOOKUPS < 1_000_000 ? 0 : 20;

  /** One in this many lookups is timed. */
  private static final int TIMED = LOOKUPS > 4L * SAMPLES_MAX ? 16 : 4;

  private final SecondaryLookups b;

  HintRepair(SecondaryLookups b) {
    this.b = b;
  }

  void run() throws InterruptedException {
    int[] mix =
        Arrays.stream(System.getProperty("mix", "10/10/80").split("/"))
            .mapToInt(Integer::parseInt)
            .toArray();
    int threads = Integer.getInteger("threads", 1);
    Markdown.head(
        "lookups/changes",
        "hints",
        "p2",
        "p25",
        "ns, median (of no hint, quartiles)",
        "p75",
        "p98",
        "lookups",
        "% of pages right after it");
    String[] names = {"no hint", "repair", "no repair"};
    EntryHints full = EntryHints.PAGE_FRAME_SLOT;
    for (int lookups : new int[] {100, 80, 60, 40, 20}) {
      try (SecondaryStore s = b.store(b.size, 1, 1, EntryHints.NONE, full, full)) {
        List<List<Mixed>> teams = new ArrayList<>();
        for (RowIndex index : s.indexes) {
          List<Mixed> team = new ArrayList<>();
          for (int i = 0; i < threads; i++) {
            team.add(new Mixed(s, index, lookups, mix, i));
          }
          teams.add(team);
        }
        List<List<Double>> medians = new ArrayList<>();
        teams.forEach(t -> medians.add(new ArrayList<>()));
        for (int round = 0; !enough(round, teams); round++) {
          boolean counts = LOOKUPS > 0 ? round >= WARM_UP : round >= b.rounds / 4;
          for (int i = 0; i < names.length; i++) {
            if (LOOKUPS > 0 && done(teams.get(i)) >= LOOKUPS) {
              continue;
            }
            s.db.schema().hintUse().repairs = names[i].equals("repair");
            double m = piece(teams.get(i), counts);
            // Once one index has done all its lookups, the others have nothing to compare with.
            if (counts && (i == 0 || medians.get(0).size() > medians.get(i).size())) {
              int at = medians.get(i).size();
              medians.get(i).add(m / (i == 0 ? 1 : medians.get(0).get(at)));
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
              i == 0 ? List.of() : medians.get(i));
        }
      }
    }
  }

  private boolean enough(int round, List<List<Mixed>> teams) {
    return LOOKUPS > 0 ? teams.stream().allMatch(t -> done(t) >= LOOKUPS) : round == b.rounds;
  }

  private static long done(List<Mixed> team) {
    return team.stream().mapToLong(m -> m.done).sum();
  }

  /** Runs all threads of an index for a piece, and returns the median time of their lookups. */
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
    double[] nanos = counts ? all(team, true) : new double[0];
    return nanos.length == 0 ? 0 : InTurn.median(nanos);
  }

  /** Returns the samples of all pieces, or of the last one. */
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
      SecondaryStore s,
      int lookups,
      String how,
      RowIndex index,
      List<Mixed> team,
      List<Double> ratios) {
    double[] nanos = all(team, false);
    Arrays.sort(nanos);
    double[] shares = {0.02, 0.25, 0.5, 0.75, 0.98};
    Object[] cells = new Object[shares.length + 3];
    cells[0] = how;
    for (int i = 0; i < shares.length; i++) {
      double v = nanos[(int) ((nanos.length - 1) * shares[i])];
      cells[i + 1] = String.format(Locale.ROOT, "%.0f", v);
    }
    if (!ratios.isEmpty()) {
      double[] sorted = ratios.stream().mapToDouble(Double::doubleValue).sorted().toArray();
      int n = sorted.length;
      cells[3] =
          String.format(
              Locale.ROOT,
              "%s (%.2f, %.2f-%.2f)",
              cells[3],
              sorted[n / 2],
              sorted[n / 4],
              sorted[n - 1 - n / 4]);
    }
    cells[6] = done(team);
    cells[7] = String.format(Locale.ROOT, "%.0f", rightPages(s, index));
    Markdown.line(lookups + "/" + (100 - lookups), cells);
  }

  private double rightPages(SecondaryStore s, RowIndex index) {
    if (index.hints() == EntryHints.NONE) {
      return 0;
    }
    int sample = Math.min(b.records, 10_000);
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
            long id = (long) i * b.records / sample;
            HintPlaces.peek(s, tx, index, key.set(s.numberOf(id)), row, hint, there);
            right[0] += hint.pid == there.pid ? 1 : 0;
          }
        });
    return 100.0 * right[0] / sample;
  }

  /** Looks up records and invalidates hints, one piece at a time. */
  private final class Mixed implements Runnable {
    private final SecondaryStore s;
    private final RowIndex index;
    private final Key key;
    private final Row row;
    private final int lookups;
    private final int[] mix;
    private final SplittableRandom r;
    private final Position hint = new Position();
    final long[] nanos = new long[SAMPLES_MAX];
    int samples;

    int first;

    boolean counts;

    long done;

    Mixed(SecondaryStore s, RowIndex index, int lookups, int[] mix, int number) {
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
      } while (System.nanoTime() - begin < InTurn.PIECE_NANOS);
    }

    private void some(Transaction tx) {
      for (int i = 0; i < b.group; i++) {
        key.set(s.numberOf(r.nextInt(b.records)));
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
        if (counts && samples < nanos.length && r.nextInt(TIMED) == 0) {
          nanos[samples++] = took;
        }
      }
    }

    /** Subtracts 1 from the page, the frame or the slot of a hint. */
    private void spoil(Transaction tx) {
      Tx t = tx.enter(s.db);
      try {
        MemorySegment value = tx.statementContext().keyStage(64);
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
        Position entry = tx.statementContext().entry;
        t.locationOfRead(t.lastRead(), entry);
        HintedLeaf.store(core.tree, entry, value, at, core.hints.bytes(), false);
      } finally {
        tx.exit();
      }
    }
  }
}
