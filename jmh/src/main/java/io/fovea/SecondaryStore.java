package io.fovea;

import io.fovea.config.LeakDetection;
import io.fovea.config.Translation;
import io.fovea.schema.EntryHints;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A numbered table in memory, with a unique index of the numbers for each kind of hint, for {@link
 * SecondaryLookups}.
 *
 * <p>One thread, except for {@link #db}.
 */
final class SecondaryStore implements AutoCloseable {
  private static final int BATCH = 1000;

  /** Fewest lookups between two clock readings; reading the clock costs as much as a miss. */
  private static final int LOOKUPS = 64;

  private static final KeySpec KEY = KeySpec.of(FieldType.INT64);

  final Database db;
  final Field number;

  final int bytes;

  final RowTable table;

  /** In the order of the requested kinds. */
  final List<RowIndex> indexes = new ArrayList<>();

  final int records;

  /** The keys are multiples of this, with space for inserts between them. */
  final int spread;

  /** All records in random order, shared by the walks, which begin at different points. */
  private final int[] order;

  private int walks;

  /**
   * Fills the store.
   *
   * @param size approximate bytes per record
   * @param share the size of the pool, in multiples of the data
   * @param remembered whether key locations of the table and its indexes are cached
   * @param kinds one index for each; kinds may repeat
   */
  SecondaryStore(
      int records,
      int pageSize,
      int size,
      int spread,
      double share,
      Translation translation,
      Hints hints,
      boolean remembered,
      EntryHints... kinds) {
    this.records = records;
    this.spread = spread;
    Layout.Definition l = Layout.define();
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
                .device(dev -> dev.pageSize(pageSize))
                .bufferBytes(buffer)
                .experiments(
                    exp ->
                        exp.translation(translation).hints(hints).cacheAllKeyLocations(remembered))
                .transactions(txs -> txs.leakDetection(LeakDetection.OFF)));
    TableSpec spec = TableSpec.of("t", KEY, layout);
    RowTable plain = db.table(spec);
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
    for (int i = 0; i < kinds.length; i++) {
      spec = spec.with(IndexSpec.unique(nameOf(kinds, i), number).hints(kinds[i]));
    }
    table = db.table(spec);
    for (int i = 0; i < kinds.length; i++) {
      indexes.add(table.index(nameOf(kinds, i)));
    }
    order = shuffled(records);
    lookAtAll();
  }

  private void lookAtAll() {
    for (RowIndex index : indexes) {
      if (index.hints() == EntryHints.NONE) {
        continue;
      }
      Key key = index.key();
      Row row = table.row();
      for (int from = 0; from < records; from += BATCH) {
        int first = from;
        db.run(
            TxOptions.forReading(),
            tx -> {
              for (int i = first; i < Math.min(records, first + BATCH); i++) {
                index.get(tx, key.set(numberOf(i)), row);
              }
            });
      }
    }
  }

  private static String nameOf(EntryHints[] kinds, int i) {
    return "by_" + kinds[i] + "_" + i;
  }

  /** Returns a number, unrelated to the order of the keys. */
  long numberOf(long i) {
    long h = (i + 1) * 0x9E37_79B9_7F4A_7C15L;
    h = (h ^ h >>> 30) * 0xBF58_476D_1CE4_E5B9L;
    h = (h ^ h >>> 27) * 0x94D0_49BB_1331_11EBL;
    return (h ^ h >>> 31) >>> 1;
  }

  private static int[] shuffled(int records) {
    int[] order = new int[records];
    SplittableRandom r = new SplittableRandom(7);
    for (int i = 0; i < records; i++) {
      int other = r.nextInt(i + 1);
      order[i] = order[other];
      order[other] = i;
    }
    return order;
  }

  /** Returns endless lookups by an index, over all records in random order. */
  Walk walk(RowIndex index, int group) {
    return new Walk(index, group);
  }

  /** See {@link #walk}. */
  final class Walk {
    private final RowIndex index;
    private final Key key;
    private final Row row;
    private final int group;
    private int at;

    private Walk(RowIndex index, int group) {
      this.index = index;
      this.group = group;
      this.key = index.key();
      this.row = table.row();
      // Start away from the previous walk, whose records may be cached.
      this.at = (int) (walks++ * 0.381966 % 1 * records);
    }

    /** Runs lookups for a time. Returns nanoseconds per lookup. */
    double run(long nanos) {
      long begin = System.nanoTime();
      long took;
      long lookups = 0;
      do {
        for (int n = 0; n < LOOKUPS; n += group) {
          db.run(TxOptions.forReading(), this::some);
          lookups += group;
        }
        took = System.nanoTime() - begin;
      } while (took < nanos);
      return took / (double) lookups;
    }

    private void some(Transaction tx) {
      int i = at;
      for (int k = 0; k < group; k++) {
        if (!index.get(tx, key.set(numberOf(order[i])), row)) {
          throw new IllegalStateException("record " + order[i] + " is missing");
        }
        i = i + 1 < records ? i + 1 : 0;
      }
      at = i;
    }
  }

  @Override
  public void close() {
    db.close();
  }
}
