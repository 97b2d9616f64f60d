package io.fovea.examples;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Options;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.config.Durability;
import io.fovea.schema.Field;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * Measurements of sensors: keys of series and time, range scans, retention.
 *
 * <p>The key begins with the series, so the measurements of a series are adjacent and in time
 * order: a window is one range, and the latest value is the first step of a backward scan. Large
 * operations such as loading and retention use transactions of about a thousand records.
 *
 * <p>Points are rows: they are many and small, and a scan reads a number from each without creating
 * an object. If that does not matter, Java records need less code; see the other examples.
 *
 * <p>Usage: {@code TimeSeries FOLDER}
 */
public final class TimeSeries {
  private static final int BATCH = 1_000;

  private static final KeySpec.Definition KEY = KeySpec.define();
  private static final Field SERIES = KEY.text("series", 40);
  private static final Field TIME = KEY.instant("time");
  private static final Layout.Definition LAYOUT = Layout.define();
  private static final Field VALUE = LAYOUT.float64("value");
  private static final TableSpec SPEC = TableSpec.of("points", KEY.build(), LAYOUT.build());

  private record Point(Instant time, double value) {}

  private final Database db;
  private final RowTable points;

  private TimeSeries(Database db) {
    this.db = db;
    this.points = db.table(SPEC);
  }

  public static void main(String[] args) {
    Path file = Path.of(args[0]).resolve("series.fovea");
    // A power loss may lose a sensor's last ten milliseconds: commits do not wait for the disk.
    Options options = Options.defaults().durability(Durability.ASYNC);
    try (Database db = Database.open(file, options)) {
      TimeSeries series = new TimeSeries(db);
      Instant begin = Instant.parse("2025-06-01T00:00:00Z");
      for (String name : List.of("cellar/temperature", "roof/temperature")) {
        List<Point> day = new ArrayList<>();
        for (int minute = 0; minute < 24 * 60; minute++) {
          double value = 15 + 5 * Math.sin(Math.PI * minute / 720);
          day.add(new Point(begin.plus(Duration.ofMinutes(minute)), value));
        }
        series.add(name, day);
      }

      Instant six = begin.plus(Duration.ofHours(6));
      Instant seven = begin.plus(Duration.ofHours(7));
      System.out.printf("mean from 6 to 7: %.2f%n", series.mean("roof/temperature", six, seven));
      System.out.println("latest: " + series.latest("roof/temperature").time());
      System.out.println("removed: " + series.removeBefore("roof/temperature", six));
      System.out.println("left: " + series.count("roof/temperature"));
      System.out.println("left of the other: " + series.count("cellar/temperature"));
    }
  }

  /** Adds measurements in batches; a crash in between leaves the first batches. */
  private void add(String series, List<Point> added) {
    Key key = points.key();
    Row row = points.row();
    for (int from = 0; from < added.size(); from += BATCH) {
      List<Point> batch = added.subList(from, Math.min(from + BATCH, added.size()));
      db.run(
          tx -> {
            for (Point p : batch) {
              key.clear().text(series).instant(p.time());
              points.put(tx, key, row.setDouble(VALUE, p.value()));
            }
          });
    }
  }

  /** The mean of a window, without its end; NaN if there are no measurements. */
  private double mean(String series, Instant from, Instant to) {
    Range window = Range.of(at(series, from), true, at(series, to), false);
    return db.read(
        tx -> {
          double sum = 0;
          int count = 0;
          try (RowCursor c = points.scan(tx, window, ScanOrder.ASCENDING)) {
            while (c.next()) {
              sum += c.row().getDouble(VALUE);
              count++;
            }
          }
          return sum / count;
        });
  }

  private Point latest(String series) {
    Range all = Range.prefix(points.key().text(series));
    return db.read(
        tx -> {
          try (RowCursor c = points.scan(tx, all, ScanOrder.DESCENDING)) {
            if (!c.next()) {
              throw new IllegalArgumentException("No measurements of " + series);
            }
            double value = c.row().getDouble(VALUE);
            return new Point(c.key().getInstant(TIME), value);
          }
        });
  }

  /** Removes older measurements in batches, so that no transaction is large. */
  private long removeBefore(String series, Instant time) {
    Range old = Range.of(points.key().text(series), true, at(series, time), false);
    long removed = 0;
    long n;
    do {
      n = db.call(tx -> points.deleteRange(tx, old, BATCH));
      removed += n;
    } while (n == BATCH);
    return removed;
  }

  private int count(String series) {
    Range all = Range.prefix(points.key().text(series));
    return db.read(
        tx -> {
          int count = 0;
          try (RowCursor c = points.scan(tx, all, ScanOrder.ASCENDING)) {
            while (c.next()) {
              assert c.key().getText(SERIES).equals(series);
              count++;
            }
          }
          return count;
        });
  }

  private Key at(String series, Instant time) {
    return points.key().text(series).instant(time);
  }
}
