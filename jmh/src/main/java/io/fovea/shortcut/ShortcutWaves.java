package io.fovea.shortcut;

import io.fovea.InTurn;
import io.fovea.Markdown;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.DoubleStream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Figure 8: EH and Shortcut-EH in four waves of accesses that begin with a hundredth of inserts:
 * how long the shortcut is out of date, and the cost of lookups during and after that time. One
 * line per 10,000 accesses.
 */
@Command(
    name = "ShortcutWaves",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Waves of accesses that begin with inserts.")
public final class ShortcutWaves implements Callable<Integer> {
  private static final int WAVES = 4;
  private static final int PIECE = 10_000;

  @Option(
      names = "--entries",
      description = "Number of keys; 92 % are inserted before the first wave.")
  private long entries = Tables.entries();

  @Option(names = "--accesses", description = "Accesses per wave; a hundredth of them are inserts.")
  private int accesses = 2_000_000;

  @Option(names = "--rounds", description = "JVMs of each table, in turn.")
  private int rounds = 5;

  @Option(names = "--out", description = "File for all lines of the last round.")
  private Path out = Path.of("");

  @Option(names = "--table", hidden = true, description = "Measure one table in this JVM.")
  private String table = "";

  private ShortcutWaves() {}

  /** Runs the benchmark. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new ShortcutWaves()).execute(args));
  }

  /** One line. */
  private record Piece(int wave, double nanos, boolean insert, boolean inSync, long behind) {
    static Piece of(String line) {
      String[] parts = line.split(",");
      return new Piece(
          Integer.parseInt(parts[0]),
          Double.parseDouble(parts[2]),
          parts[3].equals("insert"),
          parts[4].equals(parts[5]),
          Long.parseLong(parts[4]) - Long.parseLong(parts[5]));
    }
  }

  @Override
  public Integer call() throws Exception {
    if (!table.isEmpty()) {
      measure(Tables.of(table));
      return 0;
    }
    Slots.printFacts();
    List<String> lines = new ArrayList<>();
    lines.add("table,wave,accesses,nanoseconds of one,kind,version,version of the shortcut");
    double[][] eh = new double[WAVES][rounds];
    double[][] inSync = new double[WAVES][rounds];
    double[][] behind = new double[WAVES][rounds];
    double[][] millis = new double[WAVES][rounds];
    double[][] inserts = new double[WAVES][rounds];
    for (int round = 0; round < rounds; round++) {
      for (Tables t : List.of(Tables.EH, Tables.SHORTCUT_EH)) {
        List<String> found =
            Tables.inOwnJvm(
                ShortcutWaves.class,
                List.of(
                    "--table",
                    t.name(),
                    "--entries",
                    String.valueOf(entries),
                    "--accesses",
                    String.valueOf(accesses)));
        if (round == rounds - 1) {
          found.forEach(line -> lines.add(t.title + "," + line));
        }
        List<Piece> pieces = found.stream().map(Piece::of).toList();
        for (int wave = 0; wave < WAVES; wave++) {
          int w = wave;
          List<Piece> lookups = pieces.stream().filter(p -> p.wave == w && !p.insert).toList();
          if (t == Tables.EH) {
            eh[wave][round] = median(lookups.stream().mapToDouble(p -> p.nanos));
          } else {
            inSync[wave][round] =
                median(lookups.stream().filter(Piece::inSync).mapToDouble(p -> p.nanos));
            behind[wave][round] =
                median(lookups.stream().filter(p -> !p.inSync).mapToDouble(p -> p.nanos));
            millis[wave][round] =
                lookups.stream().filter(p -> !p.inSync).mapToDouble(p -> p.nanos).sum()
                    * PIECE
                    / 1e6;
            inserts[wave][round] =
                pieces.stream().filter(p -> p.wave == w).mapToLong(p -> p.behind).max().orElse(0);
          }
        }
      }
    }
    Markdown.head(
        "wave",
        "EH, a lookup, ns",
        "Shortcut-EH, in sync",
        "of EH",
        "Shortcut-EH, behind",
        "behind for, ms",
        "requests behind, most",
        "paper");
    for (int w = 0; w < WAVES; w++) {
      Markdown.line(
          w + 1,
          Slots.cell(eh[w]),
          Slots.cell(inSync[w]),
          Slots.ratio(inSync[w], eh[w]),
          Slots.cell(behind[w]),
          Slots.cell(millis[w]),
          Slots.text("%.0f", InTurn.median(inserts[w])),
          "behind briefly, then below EH");
    }
    if (!out.toString().isEmpty()) {
      Files.write(out, lines);
    }
    return 0;
  }

  private static double median(DoubleStream values) {
    double[] all = values.toArray();
    return all.length == 0 ? 0 : InTurn.median(all);
  }

  private void measure(Tables t) throws Exception {
    for (int i = 0; i < 3; i++) {
      try (LongTable warm = t.make(200_000, false)) {
        Tables.insert(warm, 0, 200_000);
        Tables.lookUp(warm, 200_000, 1_000_000, 99 + i);
      }
    }
    List<String> lines = new ArrayList<>();
    try (LongTable measured = t.make(entries, false)) {
      ShortcutHashing shortcut = measured instanceof ShortcutHashing s ? s : null;
      long keys = entries * 92 / 100;
      Tables.insert(measured, 0, keys);
      if (shortcut != null) {
        shortcut.sync();
      }
      Tables.lookUp(measured, keys, 1_000_000, 3);
      for (int wave = 0; wave < WAVES; wave++) {
        for (int done = 0; done < accesses; done += PIECE) {
          boolean insert = done < accesses / 100;
          long begin = System.nanoTime();
          if (insert) {
            Tables.insert(measured, keys, keys + PIECE);
            keys += PIECE;
          } else {
            Tables.lookUp(measured, keys, PIECE, 7 + wave * 1_000_003L + done);
          }
          double nanos = (double) (System.nanoTime() - begin) / PIECE;
          lines.add(
              wave
                  + ","
                  + (wave * (long) accesses + done + PIECE)
                  + ","
                  + Slots.text("%.2f", nanos)
                  + ","
                  + (insert ? "insert" : "lookup")
                  + ","
                  + (shortcut == null ? 0 : shortcut.version())
                  + ","
                  + (shortcut == null ? 0 : shortcut.mappedVersion()));
        }
      }
    }
    lines.forEach(System.out::println);
  }
}
