package io.fovea.jmh;

import static io.fovea.jmh.NumberedRecords.text;

import io.fovea.InTurn;
import io.fovea.Markdown;
import io.fovea.config.Durability;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Records per second added in key order, by transactions of a thousand or by one load, compared
 * with LMDB and RocksDB; and the disk space used then, after a pause, and after the close.
 *
 * <p>Each load uses a new store in an empty folder, in this JVM. The stores are loaded in turn,
 * round after round, with warm-up rounds first. The time ends with the last commit, or when the
 * load returns.
 */
@Command(
    name = "Loads",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Loads records in key order, and compares engines.")
public final class Loads implements Callable<Integer> {
  static final int VALUE_BYTES = 120;

  private static final int HALF = 2;

  @Option(names = "--dir", description = "Folder for the stores, which are deleted afterwards.")
  private Path dir = Path.of(".");

  @Option(names = "--records", description = "Number of records of 128 bytes.")
  private long records = 2_000_000;

  @Option(names = "--batch", description = "Records per transaction.")
  private int batch = 1000;

  @Option(names = "--memory", description = "Size of the buffer, in MiB.")
  private long memory = 768;

  @Option(names = "--rounds", description = "Measured loads of each kind.")
  private int rounds = 5;

  @Option(names = "--warm-up", description = "Warm-up rounds.")
  private int warmUp = 2;

  @Option(
      names = "--quiet",
      description = "In the last round: seconds until sizes are measured again.")
  private int quiet = 15;

  @Option(names = "--only", description = "Kinds to run, by prefix of their name.")
  private String only = "";

  private Loads() {}

  /** Runs the benchmark. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new Loads()).execute(args));
  }

  /** The records: a number as the key, and values that differ. The arrays are reused. */
  static final class Records {
    private final byte[] key = new byte[LoadStore.KEY_BYTES];
    private final byte[] value = new byte[VALUE_BYTES];

    Records() {
      for (int i = 0; i < VALUE_BYTES; i++) {
        value[i] = (byte) (i * 31);
      }
    }

    byte[] key(long n) {
      long v = n;
      for (int i = LoadStore.KEY_BYTES - 1; i >= 0; i--) {
        key[i] = (byte) v;
        v >>>= 8;
      }
      return key;
    }

    byte[] value(long n) {
      value[0] = (byte) n;
      value[VALUE_BYTES / HALF] = (byte) (n >>> 8);
      value[VALUE_BYTES - 1] = (byte) (n >>> 16);
      return value;
    }
  }

  /** Opens one of the kinds. */
  private interface Opening {
    LoadStore open(Path folder) throws Exception;
  }

  /** A line of the table. */
  private final class Kind {
    final String name;
    final Opening opening;
    final boolean whole;
    final List<Double> rates = new ArrayList<>();
    final List<Double> cpu = new ArrayList<>();
    final List<Double> loaded = new ArrayList<>();
    final List<Double> closed = new ArrayList<>();
    double later;

    Kind(String name, boolean whole, Opening opening) {
      this.name = name;
      this.whole = whole;
      this.opening = opening;
    }

    void run(boolean counts, boolean last) throws Exception {
      Path folder = Files.createTempDirectory(dir, "loads");
      try {
        long began;
        long ended;
        double size;
        long cpuBegan;
        long cpuEnded;
        try (LoadStore store = opening.open(folder)) {
          Records of = new Records();
          int each = whole ? Math.toIntExact(records) : batch;
          cpuBegan = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
          began = System.nanoTime();
          for (long n = 0; n < records; n += each) {
            store.add(of, n, (int) Math.min(each, records - n));
          }
          ended = System.nanoTime();
          cpuEnded = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
          store.settle();
          size = mib(folder);
          if (last) {
            NumberedRecords.idle(quiet * 1_000_000_000L);
            later = mib(folder);
          }
        }
        if (counts) {
          rates.add(records / ((ended - began) / 1e9));
          cpu.add((cpuEnded - cpuBegan) / (double) records);
          loaded.add(size);
          closed.add(mib(folder));
        }
      } finally {
        remove(folder);
      }
    }
  }

  @Override
  public Integer call() throws Exception {
    if (quiet * 1_000_000_000L <= LoadStore.Fovea.quietNanos()) {
      System.err.println("--quiet is too short for the log to be trimmed");
    }
    long bytes = memory << 20;
    List<Kind> all = new ArrayList<>();
    all.add(fovea("Fovea, puts, no log", bytes, Durability.NONE, LoadStore.Fovea.How.PUT));
    all.add(fovea("Fovea, puts, ASYNC", bytes, Durability.ASYNC, LoadStore.Fovea.How.PUT));
    all.add(fovea("Fovea, inserts, ASYNC", bytes, Durability.ASYNC, LoadStore.Fovea.How.INSERT));
    all.add(fovea("Fovea, one load, SYNC", bytes, Durability.SYNC, LoadStore.Fovea.How.LOAD));
    all.add(
        fovea("Fovea, one load, fill(1)", bytes, Durability.SYNC, LoadStore.Fovea.How.LOAD_WHOLE));
    all.add(new Kind("LMDB, no sync", false, f -> new LoadStore.Lmdb(f, records)));
    all.add(new Kind("RocksDB, no log", false, f -> new LoadStore.Rocks(f, false)));
    all.add(new Kind("RocksDB, log without sync", false, f -> new LoadStore.Rocks(f, true)));
    all.removeIf(k -> !k.name.startsWith(only));
    for (int r = 0; r < warmUp + rounds; r++) {
      for (Kind k : all) {
        k.run(r >= warmUp, r == warmUp + rounds - 1);
      }
    }
    table(all);
    return 0;
  }

  private Kind fovea(String name, long bytes, Durability durability, LoadStore.Fovea.How how) {
    return new Kind(name, how.whole(), f -> new LoadStore.Fovea(f, bytes, durability, how));
  }

  private void table(List<Kind> all) {
    double lmdb =
        all.stream()
            .filter(k -> k.name.startsWith("LMDB"))
            .mapToDouble(k -> median(k.closed))
            .findFirst()
            .orElse(Double.NaN);
    Markdown.head(
        "",
        "records/s",
        "least",
        "most",
        "of LMDB (least-most)",
        "client's processor, ns a record",
        "MiB, loaded",
        "MiB, " + quiet + " s later",
        "MiB, closed",
        "closed / LMDB");
    for (Kind k : all) {
      Markdown.line(
          k.name,
          text("%,.0f", median(k.rates)),
          text("%,.0f", quantile(k.rates, 0)),
          text("%,.0f", quantile(k.rates, 1)),
          ratio(k, all),
          text("%,.0f", median(k.cpu)),
          text("%,.0f", median(k.loaded)),
          text("%,.0f", k.later),
          text("%,.0f", median(k.closed)),
          text("%.2f", median(k.closed) / lmdb));
    }
    System.out.printf(
        Locale.ROOT,
        "%nMedians of %d loads of each in turn, of %,d records; sizes %d s later of the last round.%n",
        rounds,
        records,
        quiet);
  }

  private static double median(List<Double> values) {
    return quantile(values, 0.5);
  }

  private static double quantile(List<Double> values, double part) {
    double[] all = values.stream().mapToDouble(d -> d).toArray();
    return all.length == 0 ? Double.NaN : InTurn.quantile(all, part);
  }

  private static String ratio(Kind k, List<Kind> all) {
    List<Double> ratios = new ArrayList<>();
    for (Kind other : all) {
      if (other.name.startsWith("LMDB")) {
        for (int i = 0; i < k.rates.size(); i++) {
          ratios.add(k.rates.get(i) / other.rates.get(i));
        }
      }
    }
    return ratios.isEmpty()
        ? "-"
        : text("%.2f", median(ratios))
            + text(" (%.2f", quantile(ratios, 0))
            + text("-%.2f)", quantile(ratios, 1));
  }

  /** Returns the disk space of a folder as counted by the system; LMDB's file is sparse. */
  private static double mib(Path folder) throws IOException, InterruptedException {
    Process du = new ProcessBuilder("du", "-sk", folder.toString()).start();
    String out = new String(du.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (du.waitFor() != 0) {
      throw new IOException("du failed for " + folder);
    }
    return Long.parseLong(Arrays.asList(out.split("\\s+")).getFirst()) / 1024.0;
  }

  private static void remove(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
    Files.delete(folder);
  }
}
