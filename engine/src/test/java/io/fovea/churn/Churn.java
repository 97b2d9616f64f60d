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
 * Runs all kinds of work for a given time, and reports which resources it holds after the first
 * part and at the end. {@link ChurnTest} starts it.
 *
 * <p>Usage: {@code Churn DIRECTORY SECONDS FIRST_SECONDS SEED [ACTIVITY,ACTIVITY,...]}.
 *
 * <pre>
 *   first KIND=N ...        counts by kind in the first part
 *   early NAME=N ...        ResourceUsage after it
 *   all KIND=N ...          counts by kind in total
 *   late NAME=N ...         ResourceUsage at the end
 *   grown CLASS BYTES       what has grown most on the heap between the two
 *   verified N              the number of records at the end, all verified
 * </pre>
 */
final class Churn {
  private static final int WORKERS = 4;

  /** After this many operations a worker's thread ends and is replaced. */
  private static final int ACTIVITIES_OF_A_THREAD = 20;

  /** The minimum count of each kind before the first measurement, and again after it. */
  private static final int LEAST_TIMES = 3;

  /** Held strongly, since a collected logger loses its level. */
  private static final Logger QUIET = Logger.getLogger("io.fovea");

  private final Database db;
  private final Path dir;
  private final long seed;
  private final List<Activity> deck = new ArrayList<>();
  private final Set<Activity> activities;
  private final AtomicLongArray done = new AtomicLongArray(Activity.values().length);
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

  /** Operations hold the read lock; the holder of the write lock runs alone. */
  private final ReentrantReadWriteLock moving = new ReentrantReadWriteLock(true);

  private volatile boolean stop;

  private Churn(Database db, Path dir, long seed, Set<Activity> activities) {
    this.db = db;
    this.dir = dir;
    this.seed = seed;
    this.activities = activities;
    for (Activity d : activities) {
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
    Set<Activity> activities = EnumSet.allOf(Activity.class);
    if (args.length > 4) {
      activities = EnumSet.noneOf(Activity.class);
      for (String name : args[4].split(",", -1)) {
        activities.add(Activity.valueOf(name));
      }
    }
    Files.createDirectories(dir);
    PrintStream out = System.out;
    long records;
    try (Database db = Database.open(dir.resolve("churn.fovea"), Activities.options())) {
      Activities.prepare(db, WORKERS);
      records = new Churn(db, dir, seed, activities).run(out, seconds, first);
    }
    // Reopen the database and verify that it is the same.
    try (Database db = Database.open(dir.resolve("churn.fovea"), Activities.options())) {
      VerifyReport report = db.verify();
      if (!report.ok() || report.records() != records) {
        throw new AssertionError("after reopening, " + records + " records expected: " + report);
      }
    }
    out.println("verified " + records);
    System.exit(0);
  }

  private long run(PrintStream out, long seconds, long first) throws Exception {
    List<Thread> workers = new ArrayList<>();
    for (int i = 0; i < WORKERS; i++) {
      int worker = i;
      // Each starts successive threads.
      workers.add(Thread.ofPlatform().name("churn-" + i).start(() -> generations(worker)));
    }
    long began = System.nanoTime();
    while (failure.get() == null
        && (System.nanoTime() - began < TimeUnit.SECONDS.toNanos(first)
            || !eachWasDone(new long[done.length()]))) {
      TimeUnit.MILLISECONDS.sleep(100);
    }
    largest();
    ResourceUsage early = look(out, "first", "early");
    long[] before = new long[done.length()];
    Arrays.setAll(before, done::get);
    while (failure.get() == null
        && (System.nanoTime() - began < TimeUnit.SECONDS.toNanos(seconds)
            || !eachWasDone(before))) {
      TimeUnit.MILLISECONDS.sleep(100);
    }
    ResourceUsage late = look(out, "all", "late");
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
      ResourceUsage.dump(dump);
    }
    VerifyReport report = db.verify();
    if (!report.ok()) {
      throw new AssertionError(report.toString());
    }
    return report.records();
  }

  /** Waits without a limit; the test has a timeout. */
  private boolean eachWasDone(long[] before) {
    for (Activity d : activities) {
      if (done.get(d.ordinal()) - before[d.ordinal()] < LEAST_TIMES) {
        return false;
      }
    }
    return true;
  }

  /** Stops all operations, and makes each context as large as it can become. */
  private void largest() throws Exception {
    moving.writeLock().lock();
    try {
      Activities.largest(db);
    } finally {
      moving.writeLock().unlock();
    }
  }

  /** Stops all operations, and measures. */
  private ResourceUsage look(PrintStream out, String counts, String usage) throws Exception {
    moving.writeLock().lock();
    try {
      Activities.settle(db);
      // Twice: the second one may trim the log to which the first one's superblock refers.
      db.checkpoint();
      db.checkpoint();
      StringBuilder line = new StringBuilder(counts);
      for (Activity d : activities) {
        line.append(' ').append(d).append('=').append(done.get(d.ordinal()));
      }
      out.println(line);
      ResourceUsage v = ResourceUsage.take(db, dir);
      out.println(usage + " " + v.line());
      ResourceUsage.descriptors().keySet().forEach(d -> out.println(usage + "Descriptor " + d));
      out.flush();
      return v;
    } finally {
      moving.writeLock().unlock();
    }
  }

  private void generations(int worker) {
    Random r = new Random(seed * 17 + worker);
    Activities mine = new Activities(db, dir, worker, seed);
    while (!stop && failure.get() == null) {
      Thread t =
          Thread.ofPlatform()
              .name("churn-" + worker + "-worker")
              .start(
                  () -> {
                    for (int i = 0; i < ACTIVITIES_OF_A_THREAD && !stop; i++) {
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

  private void one(Activities mine, Activity activity) {
    moving.readLock().lock();
    try {
      if (failure.get() == null) {
        mine.run(activity);
        done.incrementAndGet(activity.ordinal());
      }
    } catch (Throwable e) {
      failure.compareAndSet(null, new AssertionError(activity + " failed", e));
    } finally {
      moving.readLock().unlock();
    }
  }
}
