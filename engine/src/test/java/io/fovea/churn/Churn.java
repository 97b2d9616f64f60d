package io.fovea.churn;

import io.fovea.Database;
import io.fovea.VerifyReport;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Does everything, for a time, and says what it holds: after the first part of the time, and at the
 * end. {@link ChurnTest} starts it.
 *
 * <p>Usage: {@code Churn DIRECTORY SECONDS FIRST_SECONDS SEED [DEED,DEED,...]}.
 *
 * <pre>
 *   first KIND=N ...        how often each deed was done in the first part
 *   early NAME=N ...        Vitals after it
 *   all KIND=N ...          how often each deed was done in all
 *   late NAME=N ...         Vitals at the end
 *   grown CLASS BYTES       what has grown most on the heap between the two
 *   verified N              records of the database at the end, all of them right
 * </pre>
 */
final class Churn {
  private static final int WORKERS = 4;

  /** After so many deeds a worker's thread ends, and another takes its place. */
  private static final int DEEDS_OF_A_THREAD = 20;

  /**
   * How often each deed is done at least before the first look, so that what is made once is made,
   * and again after it.
   */
  private static final int LEAST_TIMES = 3;

  /** Kept, for it would forget its level. */
  private static final Logger QUIET = Logger.getLogger("io.fovea");

  private final Database db;
  private final Path dir;
  private final long seed;
  private final List<Deed> deck = new ArrayList<>();
  private final Set<Deed> deeds;
  private final AtomicLongArray done = new AtomicLongArray(Deed.values().length);
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

  /** A deed is done under the read lock; under the write lock all stand still. */
  private final ReentrantReadWriteLock moving = new ReentrantReadWriteLock(true);

  private volatile boolean stop;

  private Churn(Database db, Path dir, long seed, Set<Deed> deeds) {
    this.db = db;
    this.dir = dir;
    this.seed = seed;
    this.deeds = deeds;
    for (Deed d : deeds) {
      for (int i = 0; i < d.weight; i++) {
        deck.add(d);
      }
    }
  }

  public static void main(String[] args) throws Exception {
    QUIET.setLevel(Level.SEVERE);
    Path dir = Path.of(args[0]);
    long seconds = Long.parseLong(args[1]);
    long first = Long.parseLong(args[2]);
    long seed = Long.parseLong(args[3]);
    Set<Deed> deeds = EnumSet.allOf(Deed.class);
    if (args.length > 4) {
      deeds = EnumSet.noneOf(Deed.class);
      for (String name : args[4].split(",", -1)) {
        deeds.add(Deed.valueOf(name));
      }
    }
    Files.createDirectories(dir);
    PrintStream out = System.out;
    long records;
    try (Database db = Database.open(dir.resolve("churn.fovea"), Deeds.options())) {
      Deeds.prepare(db, WORKERS);
      records = new Churn(db, dir, seed, deeds).run(out, seconds, first);
    }
    // What was closed is opened once more: the same is there.
    try (Database db = Database.open(dir.resolve("churn.fovea"), Deeds.options())) {
      VerifyReport report = db.verify();
      if (!report.ok() || report.records() != records) {
        throw new AssertionError("opened again, " + records + " records expected: " + report);
      }
    }
    out.println("verified " + records);
    System.exit(0);
  }

  private long run(PrintStream out, long seconds, long first) throws Exception {
    List<Thread> workers = new ArrayList<>();
    for (int i = 0; i < WORKERS; i++) {
      int worker = i;
      // Each runs threads that come and go, one after the other.
      workers.add(Thread.ofPlatform().name("churn-" + i).start(() -> generations(worker)));
    }
    long began = System.nanoTime();
    while (failure.get() == null
        && (System.nanoTime() - began < TimeUnit.SECONDS.toNanos(first)
            || !eachWasDone(new long[done.length()]))) {
      TimeUnit.MILLISECONDS.sleep(100);
    }
    largest();
    Vitals early = look(out, "first", "early");
    long[] before = new long[done.length()];
    Arrays.setAll(before, done::get);
    while (failure.get() == null
        && (System.nanoTime() - began < TimeUnit.SECONDS.toNanos(seconds)
            || !eachWasDone(before))) {
      TimeUnit.MILLISECONDS.sleep(100);
    }
    Vitals late = look(out, "all", "late");
    stop = true;
    for (Thread t : workers) {
      t.join();
    }
    Throwable t = failure.get();
    if (t != null) {
      throw new AssertionError("seed " + seed, t);
    }
    late.grownSince(early).forEach(line -> out.println("grown " + line));
    out.flush();
    String dump = System.getProperty("churn.dump");
    if (dump != null) {
      Vitals.dump(dump);
    }
    VerifyReport report = db.verify();
    if (!report.ok()) {
      throw new AssertionError(report.toString());
    }
    return report.records();
  }

  /** However slow the machine: the time limit of the test is the only one. */
  private boolean eachWasDone(long[] before) {
    for (Deed d : deeds) {
      if (done.get(d.ordinal()) - before[d.ordinal()] < LEAST_TIMES) {
        return false;
      }
    }
    return true;
  }

  /** All stand still, and each context does what makes it as large as it ever gets. */
  private void largest() throws Exception {
    moving.writeLock().lock();
    try {
      Deeds.largest(db);
    } finally {
      moving.writeLock().unlock();
    }
  }

  /** All stand still, and what is there is looked at. */
  private Vitals look(PrintStream out, String counts, String vitals) throws Exception {
    moving.writeLock().lock();
    try {
      Deeds.settle(db);
      // Two: the first one's superblock names the log that the second one may let go.
      db.checkpoint();
      db.checkpoint();
      StringBuilder line = new StringBuilder(counts);
      for (Deed d : deeds) {
        line.append(' ').append(d).append('=').append(done.get(d.ordinal()));
      }
      out.println(line);
      Vitals v = Vitals.take(db, dir);
      out.println(vitals + " " + v.line());
      Vitals.descriptors().keySet().forEach(d -> out.println(vitals + "Descriptor " + d));
      out.flush();
      return v;
    } finally {
      moving.writeLock().unlock();
    }
  }

  private void generations(int worker) {
    Random r = new Random(seed * 17 + worker);
    Deeds mine = new Deeds(db, dir, worker, seed);
    while (!stop && failure.get() == null) {
      Thread t =
          Thread.ofPlatform()
              .name("churn-" + worker + "-hand")
              .start(
                  () -> {
                    for (int i = 0; i < DEEDS_OF_A_THREAD && !stop; i++) {
                      one(mine, deck.get(r.nextInt(deck.size())));
                    }
                  });
      try {
        t.join();
      } catch (InterruptedException e) {
        failure.compareAndSet(null, e);
      }
    }
  }

  private void one(Deeds mine, Deed deed) {
    moving.readLock().lock();
    try {
      if (failure.get() == null) {
        mine.run(deed);
        done.incrementAndGet(deed.ordinal());
      }
    } catch (Throwable e) {
      failure.compareAndSet(null, new AssertionError(deed + " failed", e));
    } finally {
      moving.readLock().unlock();
    }
  }
}
