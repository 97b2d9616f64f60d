package io.fovea.tpcc.ycsb;

import io.fovea.Key;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.ScanOrder;
import io.fovea.tpcc.bench.Crew;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.bench.Shutdown;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Reads all records when nobody writes, and holds them against what clients were told.
 *
 * <ol>
 *   <li>There are as many records as were loaded and inserted, and each is under its own key.
 *   <li>Fields were replaced as often as committed transactions have done it: no update is lost,
 *       none of an aborted transaction is there. It can't be said where records were also written
 *       whole, without having been read.
 *   <li>A record that was written whole was written by an attempt that has committed.
 * </ol>
 */
final class Check {
  private static final int EXAMPLES_MAX = 5;
  private static final int ROWS_PER_TRANSACTION = 2_000;

  /** What is found in a part of the keys, or in all of them. */
  static final class Found {
    long records;
    long counted;
    long numberMax = -1;
    long misplaced;
    long foreign;
    final List<String> examples = new ArrayList<>();

    private void add(Found f) {
      records += f.records;
      counted += f.counted;
      numberMax = Math.max(numberMax, f.numberMax);
      misplaced += f.misplaced;
      foreign += f.foreign;
      f.examples.forEach(this::example);
    }

    private void example(String format, Object... args) {
      if (examples.size() < EXAMPLES_MAX) {
        examples.add(args.length == 0 ? format : String.format(Locale.ROOT, format, args));
      }
    }
  }

  /**
   * What came out.
   *
   * @param found what there is
   * @param expected how many records there have to be
   * @param counted what the records' counts have to add up to, or -1 where that is not known
   */
  record Result(Found found, long expected, long counted) {
    boolean holds() {
      return complaints().isEmpty();
    }

    /** What is wrong, a line each. */
    List<String> complaints() {
      List<String> wrong = new ArrayList<>();
      if (found.records != expected) {
        wrong.add(text("%,d records are there, and %,d have to be", found.records, expected));
      }
      if (found.misplaced > 0) {
        wrong.add(text("%,d records are not those of their keys", found.misplaced));
      }
      if (counted >= 0 && found.counted != counted) {
        wrong.add(
            text(
                "fields were replaced %,d times, and committed transactions have done it %,d times",
                found.counted, counted));
      }
      if (found.foreign > 0) {
        wrong.add(
            text("%,d records were written by attempts that have not committed", found.foreign));
      }
      return wrong;
    }

    private static String text(String format, Object... args) {
      return String.format(Locale.ROOT, format, args);
    }
  }

  private final Records records;
  private final int run;
  private final Stamps[] clients;

  /**
   * Makes a check.
   *
   * @param run the run whose stamps the clients know
   * @param clients its clients
   */
  Check(Records records, int run, Stamps[] clients) {
    this.records = records;
    this.run = run;
    this.clients = clients;
  }

  /**
   * Reads everything.
   *
   * @throws io.fovea.tpcc.bench.DriverException if a thread failed or a signal came
   */
  Found read(int threads, Progress progress, Shutdown shutdown) {
    Found all = new Found();
    long start = System.nanoTime();
    Crew crew = new Crew("check", threads, false, shutdown);
    crew.start(
        thread -> {
          Found part = read(thread, threads, crew);
          synchronized (all) {
            all.add(part);
          }
        });
    while (!crew.await(Progress.INTERVAL_NANOS)) {
      progress.say("%6.0f s  checking", (System.nanoTime() - start) / 1e9);
    }
    crew.check(progress, "not all records were read");
    return all;
  }

  /** The first hash of a part, in the order of keys. */
  private static long border(int part, int parts) {
    return Long.divideUnsigned(-1L, parts) * part ^ Long.MIN_VALUE;
  }

  /**
   * A transaction for each piece: one that has read everything would have to remember all of it.
   */
  private Found read(int part, int parts, Crew crew) {
    Found found = new Found();
    Key from = Records.setHash(records.table.key(), border(part, parts));
    Key to = records.table.key();
    // The last part ends with all keys of the largest hash, the others below the next part.
    boolean closed = part == parts - 1;
    Records.setHash(to, closed ? Long.MAX_VALUE : border(part + 1, parts));
    Key last = records.table.key();
    boolean first = true;
    boolean more = true;
    while (more && !crew.stopping()) {
      Range range = Range.of(first ? from : last, first, to, closed);
      Key end = records.table.key();
      Found piece =
          records.database.read(
              tx -> {
                Found p = new Found();
                try (RowCursor cursor = records.table.scan(tx, range, ScanOrder.ASCENDING)) {
                  while (p.records < ROWS_PER_TRANSACTION && cursor.next()) {
                    look(p, cursor);
                    end.set(cursor.key());
                  }
                }
                return p;
              });
      more = piece.records == ROWS_PER_TRANSACTION;
      last.set(end);
      first = false;
      found.add(piece);
    }
    return found;
  }

  private void look(Found found, RowCursor cursor) {
    Row row = cursor.row();
    Key key = cursor.key();
    long number = row.getLong(records.number);
    found.records++;
    found.counted += records.count(row);
    found.numberMax = Math.max(found.numberMax, number);
    if (key.getLong(2) != number || key.getLong(1) != Records.hash(number)) {
      found.misplaced++;
      found.example("record %,d is under the key of %,d", number, key.getLong(2));
    }
    long stamp = row.getLong(records.stamp);
    if (!Stamps.plausible(stamp, run, clients)) {
      found.foreign++;
      found.example("record %,d was written by %s", number, Stamps.text(stamp));
    }
  }
}
