package io.fovea.jmh;

import io.fovea.Database;
import io.fovea.DatabaseStats;
import io.fovea.Markdown;
import io.fovea.Options;
import io.fovea.Table;
import io.fovea.config.Durability;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/**
 * Durable transactions per second of clients that each wait for their own commit. Alternates
 * numbers of clients in slices of one run on one database, so that changes in the speed of the
 * machine affect all of them.
 *
 * <pre>
 * java -cp jmh.jar io.fovea.jmh.DurableClients FOLDER [SLICE-MILLIS ROUNDS CLIENTS...]
 * </pre>
 *
 * <p>A transaction reads and writes eight of a hundred thousand records of 100 bytes. The table
 * has, for each number of clients, the median of all slices, the median ratio to one client in the
 * same round, the groups of the log per second, and commits per group.
 */
public final class DurableClients {
  private static final int RECORDS = 100_000;
  private static final int VALUE = 100;
  private static final int TOUCHED = 8;

  private final Database db;
  private final Table<byte[], byte[]> table;
  private final LongAdder commits = new LongAdder();

  private DurableClients(Database db) {
    this.db = db;
    this.table = db.table(TableSpec.bytes("records", Long.BYTES)).bytes();
  }

  /**
   * Runs the benchmark.
   *
   * @param args see the class
   * @throws Exception if the folder cannot be used, or the run is interrupted
   */
  public static void main(String[] args) throws Exception {
    Path folder = Files.createDirectories(Path.of(args[0]));
    long slice = args.length > 1 ? Long.parseLong(args[1]) : 400;
    int rounds = args.length > 2 ? Integer.parseInt(args[2]) : 25;
    int[] clients =
        args.length > 3
            ? Arrays.stream(args).skip(3).mapToInt(Integer::parseInt).toArray()
            : new int[] {1, 2, 4, 16};
    Path file = folder.resolve("clients.fovea");
    clean(folder);
    try (Database db =
        Database.open(
            file, Options.defaults().bufferBytes(128L << 20).durability(Durability.SYNC))) {
      new DurableClients(db).run(slice, rounds, clients);
    }
    clean(folder);
  }

  private static void clean(Path folder) throws Exception {
    try (Stream<Path> files = Files.list(folder)) {
      for (Path p : files.filter(f -> f.getFileName().toString().startsWith("clients.")).toList()) {
        Files.delete(p);
      }
    }
  }

  /**
   * The result of a slice: transactions per second, groups of the log per second, commits per
   * group.
   */
  private record Slice(double rate, double groups, double commitsPerGroup) {}

  private void run(long sliceMillis, int rounds, int[] clients) throws InterruptedException {
    for (int from = 0; from < RECORDS; from += 1000) {
      int first = from;
      db.run(
          tx -> {
            for (int i = first; i < first + 1000; i++) {
              table.insert(tx, key(i), new byte[VALUE]);
            }
          });
    }
    db.checkpoint();
    int warmUp = Math.max(3, rounds / 5);
    List<List<Slice>> all = new ArrayList<>();
    for (int round = 0; round < warmUp + rounds; round++) {
      List<Slice> mine = new ArrayList<>();
      for (int n : clients) {
        mine.add(slice(n, sliceMillis));
      }
      if (round >= warmUp) {
        all.add(mine);
      }
    }
    System.out.printf(
        "Each waits for its own commits; %d slices of each, %.1f s (min-max; ratio: quartiles)%n%n",
        rounds, sliceMillis / 1e3);
    Markdown.head("clients", "tx/s", "of one", "groups/s", "commits a group");
    for (int i = 0; i < clients.length; i++) {
      int c = i;
      double[] rates = sorted(all, r -> r.get(c).rate);
      double[] ratios = sorted(all, r -> r.get(c).rate / r.get(0).rate);
      Markdown.line(
          String.valueOf(clients[i]),
          String.format(
              Locale.ROOT,
              "%,.0f (%,.0f-%,.0f)",
              at(rates, 0.5),
              rates[0],
              rates[rates.length - 1]),
          String.format(
              Locale.ROOT, "%.2f (%.2f-%.2f)", at(ratios, 0.5), at(ratios, 0.25), at(ratios, 0.75)),
          String.format(Locale.ROOT, "%,.0f", at(sorted(all, r -> r.get(c).groups), 0.5)),
          String.format(Locale.ROOT, "%.2f", at(sorted(all, r -> r.get(c).commitsPerGroup), 0.5)));
    }
  }

  private static double[] sorted(List<List<Slice>> rounds, ToDoubleFunction<List<Slice>> figure) {
    return rounds.stream().mapToDouble(figure).sorted().toArray();
  }

  private static double at(double[] sorted, double part) {
    return sorted[(int) Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
  }

  private Slice slice(int clients, long millis) throws InterruptedException {
    long end = System.nanoTime() + millis * 1_000_000;
    commits.reset();
    DatabaseStats before = db.stats();
    long began = System.nanoTime();
    List<Thread> threads = new ArrayList<>();
    for (int c = 0; c < clients; c++) {
      long seed = began + c;
      threads.add(Thread.ofPlatform().start(() -> client(seed, end)));
    }
    for (Thread t : threads) {
      t.join();
    }
    double seconds = (System.nanoTime() - began) / 1e9;
    double groups = db.stats().log().syncs() - before.log().syncs();
    return new Slice(
        commits.sum() / seconds, groups / seconds, groups == 0 ? 0 : commits.sum() / groups);
  }

  private void client(long seed, long end) {
    Random random = new Random(seed);
    while (System.nanoTime() < end) {
      db.run(
          tx -> {
            for (int i = 0; i < TOUCHED; i++) {
              byte[] key = key(random.nextInt(RECORDS));
              byte[] value = table.get(tx, key);
              if (value != null) {
                value[0]++;
                table.put(tx, key, value);
              }
            }
          });
      commits.increment();
    }
  }

  private static byte[] key(int n) {
    return ByteBuffer.allocate(Long.BYTES).putLong(n).array();
  }
}
