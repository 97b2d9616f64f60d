package io.fovea.examples;

import io.fovea.Database;
import io.fovea.Index;
import io.fovea.IndexCursor;
import io.fovea.ObjectSpec;
import io.fovea.ScanOrder;
import io.fovea.Sequence;
import io.fovea.Table;
import io.fovea.schema.Id;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * A durable job queue. Workers claim jobs for a limited time, and a job of a worker that dies is
 * claimed again.
 *
 * <p>A job has a time from which it may be claimed, and an index by that time. A claim moves the
 * time into the future: this is the worker's lease. A finished job is deleted by the transaction
 * that stores its result. So a job <i>runs</i> at least once, and its result is <i>stored</i>
 * exactly once.
 *
 * <p>Workers claim several jobs at a time, because all claims begin at the same end of the index
 * and may conflict.
 *
 * <p>Usage: {@code JobQueue FOLDER}
 */
public final class JobQueue {
  private static final int JOBS = 200;
  private static final int WORKERS = 3;
  private static final int CLAIM = 8;
  private static final Duration LEASE = Duration.ofMillis(300);

  /**
   * A job. The number of its claims tells a worker whether it still has the lease.
   *
   * @param due the time from which it may be claimed
   */
  record Job(@Id long id, Instant due, int claims, String what) {
    Job claimedUntil(Instant end) {
      return new Job(id, end, claims + 1, what);
    }
  }

  record Result(@Id long id, String text) {}

  private static final ObjectSpec<Long, Job> JOB_TABLE =
      ObjectSpec.of("jobs", Long.class, Job.class).index("byDue", "due");
  private static final ObjectSpec<Long, Result> RESULT_TABLE =
      ObjectSpec.of("results", Long.class, Result.class);

  private final Database db;
  private final Table<Long, Job> jobs;
  private final Table<Long, Result> results;
  private final Index<Instant, Long, Job> byDue;

  /** Never returns the same number twice, even after a crash. */
  private final Sequence ids;

  private JobQueue(Database db) {
    this.db = db;
    this.jobs = db.table(JOB_TABLE);
    this.results = db.table(RESULT_TABLE);
    this.byDue = jobs.index("byDue", Instant.class);
    this.ids = db.sequence("jobs");
  }

  public static void main(String[] args) throws Exception {
    Path file = Path.of(args[0]).resolve("jobs.fovea");
    try (Database db = Database.open(file)) {
      JobQueue queue = new JobQueue(db);
      for (int i = 0; i < JOBS; i++) {
        queue.add("job " + i);
      }
      List<Job> lost = queue.claim(); // by a worker that dies now
      System.out.println("claimed by a worker that died: " + lost.size());
      List<Future<Integer>> done = new ArrayList<>();
      try (ExecutorService workers = Executors.newVirtualThreadPerTaskExecutor()) {
        for (int i = 0; i < WORKERS; i++) {
          done.add(workers.submit(queue::work));
        }
      }
      int sum = 0;
      for (Future<Integer> each : done) {
        sum += each.get();
      }
      System.out.println("done: " + sum);
      System.out.println("late: " + (queue.finish(lost.get(0), "too late") ? "stored" : "refused"));
    }
  }

  private void add(String what) {
    Job job = new Job(ids.next(), Instant.now(), 0, what);
    db.run(tx -> jobs.insert(tx, job));
  }

  /** Works until there are no more jobs; returns how many it has finished. */
  private int work() throws InterruptedException {
    int done = 0;
    while (!isEmpty()) {
      List<Job> mine = claim();
      for (Job job : mine) {
        String result = job.what().toUpperCase(); // the work: outside of any transaction
        if (finish(job, result)) {
          done++;
        }
      }
      if (mine.isEmpty()) {
        Thread.sleep(10); // other workers have claimed all remaining jobs
      }
    }
    return done;
  }

  /** Claims the jobs that are due, oldest first. */
  private List<Job> claim() {
    Instant now = Instant.now();
    return db.call(
        tx -> {
          List<Job> mine = new ArrayList<>(); // new in each attempt
          try (IndexCursor<Instant, Long, Job> c = byDue.scan(tx, null, now, ScanOrder.ASCENDING)) {
            while (mine.size() < CLAIM && c.next()) {
              Job claimed = c.value().claimedUntil(now.plus(LEASE));
              mine.add(claimed);
              // The scan does not meet the job again: it is now beyond the end of the range.
              jobs.put(tx, claimed);
            }
          }
          return mine;
        });
  }

  /** Stores a result and deletes the job; false if another worker has claimed it meanwhile. */
  private boolean finish(Job job, String text) {
    return db.call(
        tx -> {
          Job there = jobs.getForUpdate(tx, job.id());
          if (there == null || there.claims() != job.claims()) {
            return false;
          }
          jobs.delete(tx, job.id());
          results.insert(tx, new Result(job.id(), text));
          return true;
        });
  }

  private boolean isEmpty() {
    return db.read(tx -> jobs.first(tx) == null);
  }
}
