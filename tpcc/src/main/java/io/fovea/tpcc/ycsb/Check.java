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
 * Reads all records of an idle database and compares them with the clients' counts.
 *
 * <ol>
 *   <li>The number of records is that of the loaded and inserted ones, and each is under its own
 *       key.
 *   <li>Fields were replaced as often as committed transactions did: no update is lost, and none of
 *       an aborted transaction is visible. Unknown if records were also written whole without being
 *       read.
 *   <li>A record that was written whole was written by a committed attempt.
 * </ol>
 */
final class Check {
  private static final int EXAMPLES_MAX = 5;
  private static final int ROWS_PER_TRANSACTION = 2_000;

  /** The findings for a part of the keys, or for all. */
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
   * The result.
   *
   * @param counted the expected sum of the records' counts, or -1 if unknown
   */
  record Result(Found found, long expected, long counted) {
    boolean holds() {
      return complaints().isEmpty();
    }

    /** Returns the violations, one line each. */
    List<String> complaints() {
      List<String> wrong = new ArrayList<>();
      if (found.records != expected) {
        wrong.add(text("found %,d records, expected %,d", found.records, expected));
      }
      if (found.misplaced > 0) {
        wrong.add(text("%,d records are under a wrong key", found.misplaced));
      }
      if (counted >= 0 && found.counted != counted) {
        wrong.add(
            text(
                "fields were replaced %,d times, expected %,d times from committed transactions",
                found.counted, counted));
      }
      if (found.foreign > 0) {
        wrong.add(text("%,d records were written by attempts that did not commit", found.foreign));
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

  /** Creates a check. */
  Check(Records records, int run, Stamps[] clients) {
    this.records = records;
    this.run = run;
    this.clients = clients;
  }

  /** Reads all records. Throws DriverException if a thread failed or a signal arrived. */
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
    crew.check(progress, "the check is incomplete");
    return all;
  }

  /** Returns the first hash of a part, in key order. */
  private static long border(int part, int parts) {
    return Long.divideUnsigned(-1L, parts) * part ^ Long.MIN_VALUE;
  }

  /** Reads in pieces, one transaction each: a single one would have to track everything it read. */
  private Found read(int part, int parts, Crew crew) {
    Found found = new Found();
    Key from = Records.setHash(records.table.key(), border(part, parts));
    Key to = records.table.key();
    // The last part includes all keys of the largest hash; the others exclude the next border.
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
