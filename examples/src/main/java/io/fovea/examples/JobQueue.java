package io.fovea.examples;

import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.Index;
import io.fovea.Key;
import io.fovea.Options;
import io.fovea.Order;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.Table;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A durable job queue: workers claim jobs for a time, and a job of a worker that dies is claimed
 * again.
 *
 * <p>A job is a record with the time from which it may be claimed, and an index by that time. A
 * claim moves the time into the future: that is the worker's lease. A job that is done is deleted,
 * in the transaction that stores its result. So a job <i>runs</i> at least once, and its result is
 * <i>stored</i> exactly once.
 *
 * <p>Workers claim several jobs at a time: all claims begin at the same end of the index, so each
 * may conflict with the others.
 *
 * <p>Usage: {@code JobQueue FOLDER}
 */
public final class JobQueue {
  private static final int JOBS = 200;
  private static final int WORKERS = 3;
  private static final int CLAIM = 8;
  private static final long LEASE_MILLIS = 300;

  private static final Layout.Builder JOB = Layout.builder();
  private static final Field DUE = JOB.int64("due_millis");
  private static final Field CLAIMS = JOB.int32("claims");
  private static final Field WHAT = JOB.text("what", 100);
  private static final TableSpec JOB_TABLE =
      TableSpec.of("jobs", KeySpec.of(FieldType.INT64), JOB.build())
          .with(IndexSpec.on("by_due", DUE));

  private static final Layout.Builder RESULT = Layout.builder();
  private static final Field TEXT = RESULT.text("text", 100);
  private static final TableSpec RESULT_TABLE =
      TableSpec.of("results", KeySpec.of(FieldType.INT64), RESULT.build());

  /** A claimed job. The number of the claim tells a worker whether it still has the lease. */
  private record Job(long id, int claim, String what) {}

  private final Database db;
  private final Table jobs;
  private final Table results;
  private final Index byDue;

  /** One process writes to a database: a counter in memory is enough. */
  private final AtomicLong lastId;

  private JobQueue(Database db) {
    this.db = db;
    this.jobs = db.table(JOB_TABLE);
    this.results = db.table(RESULT_TABLE);
    this.byDue = jobs.index("by_due");
    this.lastId = new AtomicLong(Math.max(lastId(jobs), lastId(results)));
  }

  public static void main(String[] args) throws Exception {
    Path file = Path.of(args[0]).resolve("jobs.fovea");
    try (Database db = Database.open(file, Options.defaults())) {
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
    Key key = jobs.key().set(lastId.incrementAndGet());
    Row row = jobs.row().setLong(DUE, System.currentTimeMillis()).setText(WHAT, what);
    db.run(tx -> jobs.insert(tx, key, row));
  }

  /** Works until there are no more jobs, and returns how many it has done. */
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
        Thread.sleep(10); // others have claimed all there is
      }
    }
    return done;
  }

  /** Claims the jobs that are due, the oldest first. */
  private List<Job> claim() {
    long now = System.currentTimeMillis();
    Key until = byDue.key().set(now);
    return db.call(
        tx -> {
          List<Job> mine = new ArrayList<>(); // new in each attempt
          try (Cursor c = byDue.scan(tx, Range.atMost(until), Order.ASCENDING)) {
            while (mine.size() < CLAIM && c.next()) {
              Row row = c.row();
              int claim = row.getInt(CLAIMS) + 1;
              mine.add(new Job(c.key().getLong(0), claim, row.getText(WHAT)));
              // The scan does not meet the job again: it is beyond the end of the range now.
              jobs.update(tx, row.setLong(DUE, now + LEASE_MILLIS).setInt(CLAIMS, claim));
            }
          }
          return mine;
        });
  }

  /** Stores a result and deletes the job; false if another worker has claimed it meanwhile. */
  private boolean finish(Job job, String result) {
    Key key = jobs.key().set(job.id());
    Row row = jobs.row();
    Key resultKey = results.key().set(job.id());
    Row resultRow = results.row().setText(TEXT, result);
    return db.call(
        tx -> {
          if (!jobs.getForUpdate(tx, key, row) || row.getInt(CLAIMS) != job.claim()) {
            return false;
          }
          jobs.delete(tx, key);
          results.insert(tx, resultKey, resultRow);
          return true;
        });
  }

  private boolean isEmpty() {
    return lastId(jobs) == 0;
  }

  private long lastId(Table table) {
    return db.read(
        tx -> {
          try (Cursor c = table.scan(tx, Range.all(), Order.DESCENDING)) {
            return c.next() ? c.key().getLong(0) : 0L;
          }
        });
  }
}
