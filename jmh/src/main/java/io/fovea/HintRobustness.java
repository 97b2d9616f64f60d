package io.fovea;

import io.fovea.btree.Position;
import io.fovea.schema.EntryHints;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/** Figure 5 of {@link SecondaryLookups}: the share of correct hints after changes of the table. */
final class HintRobustness {
  private static final int BATCH = 1000;

  private final SecondaryLookups b;

  HintRobustness(SecondaryLookups b) {
    this.b = b;
  }

  void run() {
    boolean beyond = Boolean.getBoolean("beyond");
    Markdown.head("change", "% of the records", "page", "frame", "slot");
    for (String change : List.of("insert", "delete", "update")) {
      double share = beyond ? 1 : change.equals("insert") ? 2.2 : 1.2;
      try (SecondaryStore s = b.store(b.size, 1024, share, EntryHints.PAGE_FRAME_SLOT)) {
        s.db.schema().hintUse().repairs = false;
        SplittableRandom r = new SplittableRandom(1);
        boolean[] gone = new boolean[b.records];
        int done = 0;
        for (int percent = 0; percent <= 100; percent += 20) {
          int target = (int) ((long) b.records * percent / 100);
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
          k = r.nextLong((long) b.records * s.spread);
        } while (k % s.spread == 0 || s.table.exists(tx, key.set(k)));
        row.clear().setLong(s.number, -1 - k);
        s.table.insert(tx, key.set(k), row);
      }
      case "delete" -> {
        int i = r.nextInt(b.records);
        while (gone[i]) {
          i = i + 1 < b.records ? i + 1 : 0;
        }
        gone[i] = true;
        s.table.delete(tx, key.set((long) i * s.spread));
      }
      default -> {
        int i = r.nextInt(b.records);
        s.table.get(tx, key.set((long) i * s.spread), row);
        row.setLong(s.number, s.numberOf(i) - 1);
        s.table.update(tx, row);
        row.setLong(s.number, s.numberOf(i));
        s.table.update(tx, row);
      }
    }
  }

  /** Scans the index. A hint to a non-resident page counts as correct unless the page is free. */
  private void robust(SecondaryStore s, String change, int percent, boolean[] gone) {
    DatabaseStats.HintedLookups before = s.db.stats().hintedLookups();
    RowIndex index = s.indexes.get(0);
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
    // One transaction per part of the entries, since a read set is bounded.
    while (more) {
      long[] count = new long[5];
      Key begin = from;
      s.db.run(
          TxOptions.forReading(),
          tx -> {
            Arrays.fill(count, 0);
            try (RowCursor c = index.scan(tx, Range.atLeast(begin), ScanOrder.ASCENDING)) {
              while (count[0] < BATCH && c.next()) {
                long number = c.indexKey().getLong(0);
                HintPlaces.peek(s, tx, index, key.set(number), row, hint, there);
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
      throw new IllegalStateException("Hints were repaired during the scan.");
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
}
