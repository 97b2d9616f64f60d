package io.fovea;

import io.fovea.config.Durability;
import io.fovea.config.Translation;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Fills, reads, changes and scans a database several times larger than its buffer and prints the
 * memory that the process uses. {@link BudgetTest} starts it and checks the numbers, which are
 * bytes.
 *
 * <pre>
 *   (a small database first, so that the JVM has loaded all code)
 *   baseline N resident then
 *   load | get | update | scan: N budget N  more than the baseline, and the limit
 *   close N
 *   reopened N                              more than before, with a buffer of {@link #LARGE_BYTES}
 *   buffer N                                the size of that buffer
 * </pre>
 *
 * <p>Usage: {@code Budget DIRECTORY BUFFER_BYTES TIMES TRANSLATION}.
 */
final class Budget {
  private static final int PAGE = 16384;
  private static final int ROW = 3900;
  private static final int ROWS_PER_PAGE = 4;
  private static final int THREADS = 6;
  private static final int BATCH = 50;

  /** Buffer size of the last opening. */
  static final long LARGE_BYTES = 1L << 30;

  private static final Layout.Definition B = Layout.define();
  private static final Field COUNT = B.int64("count");
  private static final Field PAD = B.bytes("pad", ROW);
  private static final TableSpec SPEC =
      TableSpec.of("t", KeySpec.of(FieldType.INT64), B.build())
          .with(IndexSpec.on("by_count", COUNT));

  private final Database db;
  private final RowTable table;
  private final int rows;

  private Budget(Database db, int rows) {
    this.db = db;
    this.table = db.table(SPEC);
    this.rows = rows;
  }

  private static Options options(long bufferBytes, Translation translation) {
    return Options.defaults()
        .experiments(exp -> exp.translation(translation))
        .device(dev -> dev.pageSize(PAGE))
        .bufferBytes(bufferBytes)
        .memory(mem -> mem.timestampBytes(8 << 20))
        .durability(Durability.ASYNC)
        .log(log -> log.maxBytes(32 << 20).bufferBytes(2 << 20).segmentBytes(4 << 20));
  }

  static long status(String name) throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith(name + ":")) {
        return Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
      }
    }
    throw new IOException("no " + name + " in /proc/self/status");
  }

  private interface Body {
    void run(int from, int to, Random r);
  }

  /** Divides the rows among threads, every other one of which is virtual. */
  private void inThreads(Body body) throws InterruptedException {
    AtomicReference<Throwable> failure = new AtomicReference<>();
    List<Thread> threads = new ArrayList<>();
    for (int id = 0; id < THREADS; id++) {
      int from = (int) ((long) rows * id / THREADS);
      int to = (int) ((long) rows * (id + 1) / THREADS);
      Random r = new Random(id);
      Runnable run =
          () -> {
            try {
              body.run(from, to, r);
            } catch (Throwable e) {
              failure.compareAndSet(null, e);
            }
          };
      threads.add(id % 2 == 0 ? Thread.ofPlatform().start(run) : Thread.startVirtualThread(run));
    }
    for (Thread t : threads) {
      t.join();
    }
    if (failure.get() != null) {
      throw new AssertionError(failure.get());
    }
  }

  private void load(int from, int to, Random r) {
    Key key = table.key();
    Row row = table.row();
    byte[] pad = new byte[ROW];
    r.nextBytes(pad);
    for (int at = from; at < to; at += BATCH) {
      int begin = at;
      db.run(
          tx -> {
            for (int n = begin; n < Math.min(to, begin + BATCH); n++) {
              table.insert(tx, key.set((long) n), row.clear().setBytes(PAD, pad));
            }
          });
    }
  }

  private void get(int from, int to, Random r) {
    Key key = table.key();
    Row row = table.row();
    for (int i = from; i < to; i += 2) {
      long n = r.nextInt(rows);
      if (!db.read(tx -> table.get(tx, key.set(n), row))) {
        throw new AssertionError("no row " + n);
      }
    }
  }

  private void update(int from, int to, Random r) {
    Key key = table.key();
    Row row = table.row();
    for (int i = from; i < to; i += 8) {
      long n = from + r.nextInt(to - from);
      db.run(
          tx -> {
            table.getForUpdate(tx, key.set(n), row);
            table.update(tx, row.setLong(COUNT, row.getLong(COUNT) + 1));
          });
    }
  }

  private void scan(int from, int to, Random r) {
    int[] seen = {0};
    db.read(
        tx -> {
          seen[0] = 0;
          Range range =
              Range.of(table.key().set((long) from), true, table.key().set((long) to), false);
          try (RowCursor c = table.scan(tx, range, ScanOrder.ASCENDING)) {
            while (c.next()) {
              seen[0]++;
            }
          }
          return null;
        });
    if (seen[0] != to - from) {
      throw new AssertionError(seen[0] + " rows of " + (to - from));
    }
  }

  private void phase(String name, Body body, PrintStream out) throws Exception {
    AtomicBoolean stop = new AtomicBoolean();
    long[] most = {0, 0};
    Thread sampler =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    while (!stop.get()) {
                      most[0] = Math.max(most[0], status("VmRSS"));
                      most[1] = Math.max(most[1], db.stats().memory().maxBytes());
                      java.util.concurrent.locks.LockSupport.parkNanos(20_000_000);
                    }
                  } catch (IOException e) {
                    throw new java.io.UncheckedIOException(e);
                  }
                });
    inThreads(body);
    stop.set(true);
    sampler.join();
    out.println(name + " " + most[0] + " budget " + most[1]);
  }

  private static void run(
      Path file, long bufferBytes, int times, Translation translation, PrintStream out)
      throws Exception {
    int rows = (int) (bufferBytes * times / PAGE * ROWS_PER_PAGE);
    try (Database db = Database.open(file, options(bufferBytes, translation))) {
      Budget b = new Budget(db, rows);
      b.phase("load", b::load, out);
      b.phase("get", b::get, out);
      b.phase("update", b::update, out);
      b.phase("scan", b::scan, out);
      out.println("file " + Files.size(file));
      out.println("memory " + db.stats().memory());
    }
  }

  public static void main(String[] args) throws Exception {
    Path dir = Path.of(args[0]);
    PrintStream out = System.out;
    Translation kind = Translation.valueOf(args[3]);
    run(dir.resolve("small"), 4 << 20, 8, kind, new PrintStream(PrintStream.nullOutputStream()));
    System.gc();
    out.println("baseline " + status("VmRSS"));
    run(dir.resolve("large"), Long.parseLong(args[1]), Integer.parseInt(args[2]), kind, out);
    out.println("close " + status("VmRSS"));
    out.println("peak " + status("VmHWM"));
    long before = status("VmRSS");
    try (Database db = Database.open(dir.resolve("large"), options(LARGE_BYTES, kind))) {
      out.println("reopened " + (status("VmRSS") - before));
      out.println("buffer " + db.stats().buffer().maxBytes());
    }
  }
}
