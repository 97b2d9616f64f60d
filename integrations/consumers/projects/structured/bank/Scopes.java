package bank;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.error.OperationInterruptedException;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.StructuredTaskScope;
import java.util.concurrent.StructuredTaskScope.Joiner;
import java.util.concurrent.StructuredTaskScope.Subtask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Ten thousand clients, as tasks of structured scopes, move money between accounts. In some scopes
 * a task fails, some have a timeout, and the owners of others are interrupted: then the scope's
 * tasks are interrupted wherever they are.
 */
public final class Scopes {
  private static final int SCOPES = 200;
  private static final int TASKS = 50;
  private static final int ACCOUNTS = 100;
  private static final long EACH = 1000;

  private final Database db;
  private final Table<byte[], byte[]> accounts;
  private final Table<byte[], byte[]> receipts;
  private final long seed;

  private final AtomicInteger done = new AtomicInteger();
  private final AtomicInteger notDone = new AtomicInteger();
  private final AtomicInteger cancelledScopes = new AtomicInteger();

  private Scopes(Database db, long seed) {
    this.db = db;
    this.seed = seed;
    this.accounts = db.table(TableSpec.bytes("accounts", 8)).bytes();
    this.receipts = db.table(TableSpec.bytes("receipts", 8)).bytes();
  }

  /**
   * Opens a database, runs the clients, and prints the results.
   *
   * @param args the file, and a seed
   */
  public static void main(String[] args) throws Exception {
    long seed = Long.parseLong(args[1]);
    try (Database db = Database.open(Path.of(args[0]), Options.defaults())) {
      Scopes all = new Scopes(db, seed);
      all.fill();
      all.run();
      for (int i = 0; i < 600 && db.stats().activeTransactions() > 0; i++) {
        LockSupport.parkNanos(50_000_000); // of abandoned stages
      }
      System.out.println("sum " + all.sum());
      System.out.println("active " + db.stats().activeTransactions());
      System.out.println("verify " + (db.verify().ok() ? "ok" : "not ok"));
      System.out.println("successes " + (all.done.get() > 0));
      System.out.println("failures " + (all.notDone.get() > 0));
      System.out.println("cancelled scopes " + (all.cancelledScopes.get() > 0));
    }
  }

  private static byte[] bytes(long value) {
    return ByteBuffer.allocate(8).putLong(value).array();
  }

  private static long number(byte[] value) {
    return ByteBuffer.wrap(value).getLong();
  }

  private void fill() {
    db.run(
        tx -> {
          for (int i = 0; i < ACCOUNTS; i++) {
            accounts.put(tx, bytes(i), bytes(EACH));
          }
        });
  }

  private long sum() {
    return db.read(
        tx -> {
          long sum = 0;
          for (int i = 0; i < ACCOUNTS; i++) {
            sum += number(accounts.get(tx, bytes(i)));
          }
          return sum;
        });
  }

  private boolean transfer(Transaction tx, int client, int from, int to) {
    accounts.put(tx, bytes(from), bytes(number(accounts.get(tx, bytes(from))) - 1));
    accounts.put(tx, bytes(to), bytes(number(accounts.get(tx, bytes(to))) + 1));
    receipts.insert(tx, bytes(client), bytes(1));
    return true;
  }

  private void run() throws InterruptedException {
    List<Thread> owners = new ArrayList<>();
    List<Throwable> wrong = Collections.synchronizedList(new ArrayList<>());
    for (int s = 0; s < SCOPES; s++) {
      int scope = s;
      owners.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      scope(scope, new Random(seed * SCOPES + scope));
                    } catch (Throwable t) {
                      wrong.add(t);
                    }
                  }));
    }
    AtomicBoolean over = new AtomicBoolean();
    Thread other =
        Thread.ofPlatform()
            .start(
                () -> {
                  Random random = new Random(seed);
                  while (!over.get()) {
                    owners.get(random.nextInt(SCOPES)).interrupt();
                    if (sum() != ACCOUNTS * EACH) {
                      wrong.add(new AssertionError("the sum is wrong"));
                    }
                    LockSupport.parkNanos(2_000_000);
                  }
                });
    for (Thread owner : owners) {
      owner.join();
    }
    over.set(true);
    other.join();
    for (Throwable t : wrong) {
      t.printStackTrace();
    }
    if (!wrong.isEmpty()) {
      throw new AssertionError(wrong.size() + " errors, with seed " + seed);
    }
  }

  /** Runs a scope: when it is closed, all of its tasks have ended. */
  private void scope(int scope, Random random) {
    List<Subtask<Boolean>> tasks = new ArrayList<>();
    boolean[] waits = new boolean[TASKS];
    Duration timeout =
        random.nextInt(4) == 0 ? Duration.ofMillis(1 + random.nextInt(50)) : Duration.ofHours(1);
    int failing = random.nextInt(4) == 0 ? random.nextInt(TASKS) : -1;
    try (StructuredTaskScope<Boolean, Void> tree =
        StructuredTaskScope.open(
            Joiner.<Boolean>awaitAllSuccessfulOrThrow(), c -> c.withTimeout(timeout))) {
      for (int i = 0; i < TASKS; i++) {
        int client = scope * TASKS + i;
        int from = random.nextInt(ACCOUNTS);
        int to = (from + 1 + random.nextInt(ACCOUNTS - 1)) % ACCOUNTS;
        boolean fails = i == failing;
        boolean stage = random.nextBoolean();
        waits[i] = stage;
        tasks.add(
            tree.fork(
                () -> {
                  if (fails) {
                    throw new IOException("task fails");
                  }
                  return stage
                      ? served(db.submit(tx -> transfer(tx, client, from, to)).toCompletableFuture())
                      : db.call(tx -> transfer(tx, client, from, to));
                }));
      }
      tree.join();
    } catch (StructuredTaskScope.FailedException | StructuredTaskScope.TimeoutException e) {
      cancelledScopes.incrementAndGet();
    } catch (InterruptedException e) {
      cancelledScopes.incrementAndGet();
    }
    boolean unused = Thread.interrupted(); // clears the scope's interrupt
    for (int i = 0; i < tasks.size(); i++) {
      check(tasks.get(i), scope * TASKS + i, waits[i]);
    }
  }

  private static boolean served(CompletableFuture<Boolean> stage) throws Exception {
    try {
      return stage.get();
    } catch (InterruptedException e) {
      stage.cancel(true); // the transaction may no longer notice it
      throw e;
    }
  }

  /**
   * Checks that a task's answer is true; a task that gave up waiting for a stage has no known
   * outcome.
   */
  private void check(Subtask<Boolean> task, int client, boolean waits) {
    boolean there = isServed(client);
    if (task.state() == Subtask.State.SUCCESS) {
      if (!there) {
        throw new AssertionError("client " + client + " received success without the transfer");
      }
      done.incrementAndGet();
      return;
    }
    if (task.state() == Subtask.State.FAILED
        && !(task.exception() instanceof IOException)
        && !(task.exception() instanceof InterruptedException)
        && !(task.exception() instanceof OperationInterruptedException)) {
      throw new AssertionError(task.exception());
    }
    // An unavailable task was cancelled before it could report its end.
    boolean told = task.state() == Subtask.State.FAILED;
    if (there && told && !waits) {
      throw new AssertionError("client " + client + " received failure despite the transfer");
    }
    notDone.incrementAndGet();
  }

  private boolean isServed(int client) {
    while (true) {
      try {
        return db.read(tx -> receipts.get(tx, bytes(client)) != null);
      } catch (OperationInterruptedException e) {
        boolean unused = Thread.interrupted(); // the owner again
      }
    }
  }
}
