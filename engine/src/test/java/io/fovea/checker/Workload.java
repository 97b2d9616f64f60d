package io.fovea.checker;

import io.fovea.Database;
import io.fovea.ScanOrder;
import io.fovea.checker.Txn.Outcome;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.FoveaException;
import io.fovea.error.TransactionAbortedException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BooleanSupplier;

/**
 * Random transactions by many platform and virtual threads, and by two threads that open snapshots
 * and read in them. The keys move from generation to generation, so that lists stay short and there
 * are always new keys.
 */
final class Workload {
  private final Setup setup;
  private final long seed;
  private static final int SNAPSHOT_THREADS = 2;

  private final List<ListClient> clients = new ArrayList<>();
  private final long[] next;

  /** The snapshot threads' transactions, and the next number. */
  private final List<Txn> ofSnapshots = new ArrayList<>();

  private final long[] nextOfSnapshots = new long[SNAPSHOT_THREADS];
  private volatile int working;

  /** Whether the engine is broken on purpose: any exception is ignored and ends the thread. */
  private final boolean broken;

  private volatile boolean stop;
  private volatile boolean crashed;

  Workload(Setup setup, long seed) {
    this.setup = setup;
    this.seed = seed;
    this.next = new long[setup.threads()];
    this.broken = setup.faults().broken();
  }

  /** Makes each thread end its transaction and stop. */
  void stop() {
    stop = true;
  }

  /**
   * Runs transactions.
   *
   * @param each the maximum number per thread
   * @param enough polled to stop early
   * @throws AssertionError for an exception other than an abort
   */
  History run(Database db, int each, BooleanSupplier enough) {
    stop = false;
    ListClient.create(db);
    clients.clear();
    Queue<Throwable> failed = new ConcurrentLinkedQueue<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < setup.threads(); i++) {
      ListClient client = new ListClient(db, i, next[i], setup.pad());
      client.pessimistic(setup.pessimistic());
      clients.add(client);
      SplittableRandom random = new SplittableRandom(seed * 1_000_003 + i * 31 + next[i]);
      Runnable body =
          () -> {
            try {
              work(db, client, random, each, enough);
            } catch (Throwable t) {
              failed.add(t);
              stop = true;
            }
          };
      threads.add(i % 2 == 0 ? Thread.ofPlatform().start(body) : Thread.startVirtualThread(body));
    }
    ofSnapshots.clear();
    working = threads.size();
    for (int i = 0; i < SNAPSHOT_THREADS; i++) {
      int number = i;
      SplittableRandom random = new SplittableRandom(seed * 1_000_033 + i + nextOfSnapshots[i]);
      threads.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      snapshots(db, number, random);
                    } catch (Throwable t) {
                      failed.add(t);
                      stop = true;
                    }
                  }));
    }
    try {
      for (Thread t : threads) {
        t.join();
        working--;
      }
    } catch (InterruptedException e) {
      stop = true;
      throw new AssertionError(e);
    }
    List<Txn> all = new ArrayList<>();
    for (int i = 0; i < clients.size(); i++) {
      all.addAll(clients.get(i).done());
      next[i] = clients.get(i).next();
    }
    all.addAll(ofSnapshots);
    Throwable first = failed.peek();
    if (first != null) {
      throw new AssertionError(setup + ", seed " + seed + ": " + first, first);
    }
    return new History(all);
  }

  private void work(
      Database db, ListClient client, SplittableRandom random, int each, BooleanSupplier enough) {
    for (int n = 0; n < each && !stop; n++) {
      setup.installWrongLocations(db, random);
      if (n % 16 == 0 && enough.getAsBoolean()) {
        return;
      }
      try {
        transaction(client, random);
      } catch (TransactionAbortedException e) {
        // A failed transaction may have seen a mixture of two states.
        client.rollback();
      } catch (DuplicateKeyException e) {
        // Each insert follows a read of the absent key: no serial order has both.
        if (client.commit() == Outcome.OK && !broken) {
          throw new AssertionError("committed although it had not found the key: " + e, e);
        }
      } catch (ListClient.Impossible e) {
        // Two answers from different states: the commit must detect this.
        if (broken) {
          client.rollback();
        } else if (client.commit() == Outcome.OK) {
          throw new AssertionError("committed although it " + e.getMessage(), e);
        }
      } catch (DatabaseClosedException e) {
        client.rollback();
        return;
      } catch (FoveaException e) {
        client.rollback();
        if (crashed) {
          return;
        }
        if (!broken) {
          throw e;
        }
      } catch (RuntimeException | AssertionError e) {
        if (!broken) {
          throw e;
        }
        client.rollback();
        return;
      }
    }
  }

  /** Opens snapshots and runs some transactions in each, as long as others work. */
  private void snapshots(Database db, int number, SplittableRandom random) {
    while (working > 0 && !stop) {
      long opened = System.nanoTime();
      long since = ListExpiry.clock(db).millis();
      try (Database then = db.snapshot()) {
        long until = ListExpiry.clock(db).millis();
        int process = ListClient.PROCESSES - 2 - number;
        ListClient c = new ListClient(then, process, nextOfSnapshots[number], 0);
        int generation = 1 + (int) (clients.getFirst().next() / setup.generation());
        for (int n = 1 + random.nextInt(4); n > 0; n--) {
          Thread.sleep(random.nextInt(8));
          c.beginInSnapshot(opened, since, until);
          for (int looks = 1 + random.nextInt(8); looks > 0; looks--) {
            look(c, random, Math.max(0, generation - 1 - random.nextInt(3)));
          }
          c.commit();
        }
        nextOfSnapshots[number] = c.next();
        synchronized (ofSnapshots) {
          ofSnapshots.addAll(c.done());
        }
      } catch (InterruptedException e) {
        return;
      } catch (FoveaException e) {
        if (!crashed && !broken && !stop) {
          throw e;
        }
        return;
      } catch (RuntimeException | AssertionError e) {
        if (!broken) {
          throw e;
        }
        return;
      }
    }
  }

  /** Returns whether a transaction ran in a snapshot. */
  static boolean isOfSnapshot(Txn txn) {
    int process = txn.process;
    return process <= ListClient.PROCESSES - 2
        && process > ListClient.PROCESSES - 2 - SNAPSHOT_THREADS;
  }

  /** Expects failures from now on: the disk is about to fail. */
  void crash() {
    crashed = true;
  }

  /** Expects no failures any more. */
  void recovered() {
    crashed = false;
  }

  private void transaction(ListClient c, SplittableRandom random) {
    int generation = (int) (c.next() / setup.generation());
    if (random.nextInt(16) == 0) {
      generation = random.nextInt(generation + 1);
    }
    if (random.nextInt(12) == 0) {
      c.ending().pass(1 + random.nextInt(3));
    }
    boolean readOnly = random.nextInt(6) == 0;
    boolean cuts = !readOnly && c.cutsRanges() && random.nextInt(4) == 0;
    c.begin(readOnly);
    for (int n = 1 + random.nextInt(readOnly ? 3 : 4); n > 0; n--) {
      if (readOnly || cuts) {
        look(c, random, generation);
      } else {
        step(c, random, generation);
      }
      if (random.nextInt(3) == 0) {
        Thread.yield();
      }
    }
    if (cuts) {
      c.deleteRange(Keys.list(generation, 3 * random.nextInt(Keys.SLOTS / 3) + 1));
    }
    if (random.nextInt(24) == 0) {
      c.rollback();
    } else if (c.commit() == Outcome.INFO) {
      stop = true;
    }
  }

  /** Changes tables, rarely, since each catalog change stops all others briefly. */
  private static boolean changesTables(ListClient c, SplittableRandom random, int generation) {
    if (random.nextInt(160) > 0) {
      return false;
    }
    long key = table(random, generation);
    switch (random.nextInt(6)) {
      case 0, 1, 2 -> c.tables().append(key);
      case 3 -> c.tables().drop(key);
      default -> {
        long other = table(random, Math.max(0, generation - random.nextInt(2)));
        if (other != key) {
          c.tables().rename(key, other);
        }
      }
    }
    return true;
  }

  private static boolean looksAtEnds(ListClient c, SplittableRandom random, int generation) {
    switch (random.nextInt(16)) {
      case 0 -> c.ending().readLives(ending(random, generation));
      case 1 -> c.ending().read(ending(random, generation));
      case 2 -> c.ending().scan(generation);
      default -> {
        return false;
      }
    }
    return true;
  }

  private static long ending(SplittableRandom random, int generation) {
    return Keys.ending(generation, random.nextInt(Keys.ENDING));
  }

  private static long table(SplittableRandom random, int generation) {
    return Keys.table(generation, random.nextInt(Keys.TABLES));
  }

  private static boolean looksAtTables(ListClient c, SplittableRandom random, int generation) {
    switch (random.nextInt(20)) {
      case 0 -> {
        long key = table(random, generation);
        if (!c.tables().read(key).present()) {
          c.read(Keys.grave(key)); // identifies the absence
        }
      }
      case 1 -> c.tables().readByHandle(random.nextInt(8));
      default -> {
        return false;
      }
    }
    return true;
  }

  private static void step(ListClient c, SplittableRandom random, int generation) {
    if (changesTables(c, random, generation)) {
      return;
    }
    if (random.nextInt(8) == 0) {
      c.ending().append(ending(random, generation));
      return;
    }
    long key = key(random, generation);
    switch (random.nextInt(10)) {
      case 0, 1, 2, 3, 4 -> c.append(key, random.nextBoolean());
      case 5, 6 -> {
        if (Keys.isImmortal(key)) {
          c.append(key);
        } else if (key % 3 == 1 && random.nextBoolean()) {
          c.deleteRange(key);
        } else {
          c.delete(key);
        }
      }
      default -> look(c, random, generation);
    }
  }

  private static void look(ListClient c, SplittableRandom random, int generation) {
    if (looksAtTables(c, random, generation) || looksAtEnds(c, random, generation)) {
      return;
    }
    ScanOrder order = random.nextBoolean() ? ScanOrder.ASCENDING : ScanOrder.DESCENDING;
    switch (random.nextInt(8)) {
      case 0, 1 -> c.read(key(random, generation));
      case 2, 3 -> {
        int from = random.nextInt(Keys.SLOTS);
        int to = from + random.nextInt(Keys.SLOTS - from);
        long low = Keys.list(generation, from);
        long high = Keys.list(generation, to);
        switch (random.nextInt(4)) {
          case 0 -> c.hop(low, high, order, random);
          case 1 -> c.nearest(low, high, order);
          default -> c.scan(low, high, order);
        }
        if (random.nextInt(3) == 0) {
          c.scan(Keys.grave(low), Keys.grave(high), order);
        }
      }
      case 4 -> c.group(generation, random.nextInt(Keys.GROUPS), order);
      case 5, 6 -> {
        long key = key(random, generation);
        int group = random.nextInt(Keys.GROUPS);
        for (int n = 0; n < Keys.GROUPS && !c.lookup(key, group).present(); n++) {
          group = (group + 1) % Keys.GROUPS;
        }
      }
      default -> {
        long key = key(random, generation);
        if (!c.read(key).present() && !Keys.isImmortal(key)) {
          c.read(Keys.grave(key));
        }
      }
    }
  }

  /** Returns low slots more often, so that some keys are hot. */
  private static long key(SplittableRandom random, int generation) {
    int slot = Math.min(random.nextInt(Keys.SLOTS), random.nextInt(Keys.SLOTS));
    return Keys.list(generation, slot);
  }

  /** Reads everything after a crash, alone. */
  static Txn readAllAfterCrash(Database db, int process, long number) {
    Txn t = readAll(db, process, number);
    t.barrier = true;
    return t;
  }

  /** Reads everything; only sweeps run concurrently, which may force a restart. */
  static Txn readAll(Database db, int process, long number) {
    while (true) {
      try {
        return readAllOnce(db, process, number);
      } catch (TransactionAbortedException e) {
        Thread.yield();
      }
    }
  }

  private static Txn readAllOnce(Database db, int process, long number) {
    ListClient c = new ListClient(db, process, number, 0);
    try {
      Txn t = c.begin(true);
      c.scan(0, Integer.MAX_VALUE, ScanOrder.ASCENDING);
      c.ending()
          .readAll(
              c.scan(Keys.grave(0), Keys.grave(Integer.MAX_VALUE), ScanOrder.ASCENDING).keySet());
      c.tables().readAll();
      c.commit();
      return t;
    } finally {
      c.rollback(); // closes an aborted transaction
    }
  }
}
