package io.fovea.shortcut;

import io.fovea.InTurn;
import io.fovea.Markdown;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Figure 7: inserts into five hash tables, accumulated (a), and random lookups of existing keys
 * (b). Each table has a new JVM in each round, and rounds alternate between the tables.
 */
@Command(
    name = "ShortcutTables",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Inserts into hash tables, and lookups in them.")
public final class ShortcutTables implements Callable<Integer> {
  private static final int POINTS = 10;

  /** Statements of the paper's text; its figure has no numbers. */
  private static final String[] PAPER = {
    "a staircase; lookups fastest",
    "a drawn-out staircase; lookups slowest except perhaps CH's",
    "inserts fastest; lookups slow",
    "smooth; lookups slower than Shortcut-EH's",
    "inserts 1.08 of EH's; lookups close to HT's"
  };

  @Option(
      names = "--entries",
      description = "Number of keys; by default as many as mappings allow.")
  private long entries = Tables.entries();

  @Option(names = "--lookups", description = "Number of lookups, after as many warm-up lookups.")
  private long lookups = 5_000_000;

  @Option(names = "--rounds", description = "JVMs of each table.")
  private int rounds = 5;

  @Option(
      names = "--huge-pages",
      description = "Use huge pages for HT, HTI and CH, unlike the paper.")
  private boolean hugePages;

  @Option(names = "--table", hidden = true, description = "Measure one table in this JVM.")
  private String table = "";

  private ShortcutTables() {}

  /** Runs the benchmark. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new ShortcutTables()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    if (!table.isEmpty()) {
      measure(Tables.of(table));
      return 0;
    }
    Slots.printFacts();
    System.out.println(
        entries
            + " entries, "
            + lookups
            + " lookups, "
            + (hugePages ? "huge" : "no huge")
            + " pages for HT, HTI and CH:\n");
    Map<Tables, List<double[]>> found = new EnumMap<>(Tables.class);
    for (int round = 0; round < rounds; round++) {
      for (Tables t : Tables.values()) {
        found.computeIfAbsent(t, none -> new ArrayList<>()).add(inOwnJvm(t));
      }
    }
    print(found);
    return 0;
  }

  private double[] inOwnJvm(Tables t) throws Exception {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "--table",
                t.name(),
                "--entries",
                String.valueOf(entries),
                "--lookups",
                String.valueOf(lookups)));
    if (hugePages) {
      arguments.add("--huge-pages");
    }
    return Tables.inOwnJvm(ShortcutTables.class, arguments).stream()
        .mapToDouble(Double::parseDouble)
        .toArray();
  }

  private static void print(Map<Tables, List<double[]>> found) {
    double[] ehInserts = column(found.get(Tables.EH), POINTS - 1);
    double[] ehLookups = column(found.get(Tables.EH), POINTS);
    double[] htLookups = column(found.get(Tables.HT), POINTS);
    Markdown.head(
        "table",
        "an insert, ns",
        "of EH",
        "a lookup, ns",
        "of EH",
        "of HT",
        "through the shortcut",
        "MiB",
        "paper");
    found.forEach(
        (t, rounds) -> {
          double[] inserts = column(rounds, POINTS - 1);
          double[] lookups = column(rounds, POINTS);
          Markdown.line(
              t.title,
              Slots.cell(inserts),
              Slots.ratio(inserts, ehInserts),
              Slots.cell(lookups),
              Slots.ratio(lookups, ehLookups),
              Slots.ratio(lookups, htLookups),
              t == Tables.SHORTCUT_EH
                  ? InTurn.median(column(rounds, POINTS + 1)) == 1 ? "yes" : "no"
                  : "-",
              Slots.text("%.0f", InTurn.median(column(rounds, POINTS + 2)) / (1 << 20)),
              PAPER[t.ordinal()]);
        });
    System.out.println("\nInserts, accumulated, ms:\n");
    Object[] heads = new Object[POINTS];
    for (int i = 0; i < POINTS; i++) {
      heads[i] = (i + 1) * 100 / POINTS + " %";
    }
    Markdown.head("table", heads);
    found.forEach(
        (t, rounds) -> {
          Object[] cells = new Object[POINTS];
          double entriesOfPoint = InTurn.median(column(rounds, POINTS + 3)) / POINTS;
          for (int i = 0; i < POINTS; i++) {
            double nanos = InTurn.median(column(rounds, i)) * entriesOfPoint * (i + 1);
            cells[i] = Slots.text("%.0f", nanos / 1e6);
          }
          Markdown.line(t.title, cells);
        });
  }

  private static double[] column(List<double[]> rounds, int i) {
    return rounds.stream().mapToDouble(r -> r[i]).toArray();
  }

  /**
   * Prints one number per line: nanoseconds per insert up to each point, nanoseconds per lookup, 1
   * if lookups use a shortcut, bytes, entries.
   */
  private void measure(Tables t) throws Exception {
    // Warms up the compiler on everything: splits, moves, both kinds of lookups.
    for (int i = 0; i < 3; i++) {
      try (LongTable warm = t.make(200_000, hugePages)) {
        Tables.insert(warm, 0, 200_000);
        Tables.lookUp(warm, 200_000, 1_000_000, 99 + i);
      }
    }
    try (LongTable measured = t.make(entries, hugePages)) {
      long begin = System.nanoTime();
      for (int i = 0; i < POINTS; i++) {
        long to = entries * (i + 1) / POINTS;
        Tables.insert(measured, entries * i / POINTS, to);
        System.out.println((double) (System.nanoTime() - begin) / to);
      }
      if (measured instanceof ShortcutHashing shortcut) {
        shortcut.sync();
      }
      Tables.lookUp(measured, entries, lookups, 5);
      begin = System.nanoTime();
      Tables.lookUp(measured, entries, lookups, 6);
      System.out.println((double) (System.nanoTime() - begin) / lookups);
      boolean through = measured instanceof ShortcutHashing s && s.throughShortcut();
      System.out.println(through ? 1 : 0);
      System.out.println(measured.bytes());
      System.out.println(entries);
    }
  }
}
