package io.fovea.explorer;

import io.fovea.BufferShare;
import io.fovea.Database;
import io.fovea.Options;
import io.fovea.SimDatabase;
import io.fovea.VerifyReport;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.error.PoolTooSmallException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.error.UncleanShutdownException;
import io.fovea.io.IoOp;
import io.fovea.support.SetClock;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.support.SimStorage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** One database from its creation over several openings, by one seed. */
final class Round {
  final Setup setup;
  final Set<Feature> features;
  final Path scratch;
  final Watchdog watchdog;
  final ExpectedState expected;
  final SetClock clock;
  final Overlaps overlaps = new Overlaps();
  final List<Worker> workers = new ArrayList<>();
  final Map<String, Long> refusals = new TreeMap<>();
  long steps;
  long kills;
  long closes;
  long lives;

  /** The buffer shared with a neighbor; null if none. */
  final @Nullable BufferShare share;

  private final Random random;
  private SimDisk disk;
  private @Nullable Runnable forever;
  private boolean closed;

  /** How the lives ended, for messages. */
  private String ending = "new";

  Round(
      Setup setup, Set<Feature> features, Path scratch, Watchdog watchdog, ExpectedState expected) {
    this.expected = expected;
    this.clock = new SetClock(Math.max(expected.clock(), 1_000_000_000_000L));
    this.setup = setup;
    this.share = setup.share();
    this.features = features;
    this.scratch = scratch;
    this.watchdog = watchdog;
    this.random = new Random(setup.seed() ^ 0x5DEECE66DL);
    this.disk = new SimDisk(setup.seed());
    for (int i = 0; i < setup.workers(); i++) {
      workers.add(new Worker(i, setup.seed()));
    }
  }

  private @Nullable Path file() {
    return setup.place() == Setup.Place.FILE ? scratch.resolve("db") : null;
  }

  private Database open(Options options) {
    return switch (setup.place()) {
      case MEMORY -> Database.inMemory(options);
      case SIMULATED -> SimDatabase.open(new SimStorage(disk), options);
      case FILE -> Database.open(scratch.resolve("db"), options);
    };
  }

  private Database open() throws IOException {
    Options options = setup.options(clock, share);
    while (true) {
      try {
        return open(options);
      } catch (PoolTooSmallException e) {
        options = options.bufferBytes(options.bufferBytes() * 3 / 2);
      } catch (UncleanShutdownException e) {
        if (closed || setup.survivesKills()) {
          throw new Violation("opening after " + (closed ? "a close" : "a kill"), e);
        }
        renew();
      }
    }
  }

  /** Deletes everything of the database. */
  private void renew() throws IOException {
    Copies.delete(scratch);
    java.nio.file.Files.createDirectories(scratch);
    disk = new SimDisk(setup.seed() + lives);
    expected.forget();
  }

  /** Runs at least one life, until the deadline; throws the first failure. */
  void run(long deadline) throws Throwable {
    try {
      boolean brief = random.nextBoolean();
      int n = brief ? 20 : 2 + random.nextInt(5);
      renew();
      closed = true;
      for (int i = 0; i < n && (i == 0 || System.nanoTime() < deadline); i++) {
        live(brief ? 200 : 2_500);
      }
    } finally {
      watchdog.watch(() -> 0, List.of());
      Copies.delete(scratch);
    }
  }

  /**
   * Runs one life in a process that is killed, on the files of its predecessor.
   *
   * @param told called to report that steps were done
   */
  void child(Runnable told) throws Throwable {
    java.nio.file.Files.createDirectories(scratch);
    closed = false;
    forever = told;
    live(0);
  }

  /** Runs one opening, with a maximum number of steps. */
  private void live(int stepsMax) throws Throwable {
    lives++;
    if (setup.place() == Setup.Place.MEMORY) {
      expected.forget();
    }
    watchdog.phase("opening " + setup);
    SimDisk found = disk.copy();
    Database db;
    try {
      db = open();
    } catch (RuntimeException | Error e) {
      keep(found);
      throw new Violation("opening (" + ending + "): " + e, e);
    }
    Life life = null;
    List<Thread> threads = new ArrayList<>();
    try {
      VerifyReport report = db.verify();
      if (!report.ok()) {
        keep(found);
        throw new Violation("verify after opening (" + ending + "): " + report.problems());
      }
      Life.checkAll(db);
      life = new Life(this, db, file());
      life.checkTruth(closed);
      watchdog.watch(life.steps::get, workers);
      watchdog.phase("running");
      Life l = life;
      Delays.choose(random, setup.delays());
      if (random.nextBoolean()) {
        life.narrow(random, Feature.values().length);
      }
      for (Worker h : workers) {
        threads.add(Thread.ofPlatform().daemon().name("worker-" + h.id).start(() -> l.work(h)));
      }
      boolean faulty = has(Feature.FAULT) && disk(1) && random.nextInt(3) == 0;
      int hoards = has(Feature.MEMORY) && !faulty ? random.nextInt(20) : 0;
      hoards = hoards < 8 ? hoards : 0;
      long wanted = stepsMax / 10 + random.nextInt(Math.max(1, stepsMax));
      long until = System.nanoTime() + (1 + random.nextInt(6)) * 1_000_000_000L;
      boolean begun = false;
      for (long told = 0; forever != null && !life.stop; ) {
        LockSupport.parkNanos(1_000_000);
        for (; life.steps.get() > told; told += 10) {
          forever.run();
        }
      }
      try (MemoryExhauster hoard = new MemoryExhauster()) {
        for (int i = 0, stops = 0; goesOn(life, wanted, until); i++) {
          LockSupport.parkNanos(2_000_000);
          if (setup.delays() > 0 && random.nextInt(50) == 0) {
            stops = i + 10;
            Delays.stop(1 + random.nextInt(150));
          }
          if (i == stops) {
            Delays.stopNoMore(false);
          }
          if (faulty && !begun && life.steps.get() > wanted / 2) {
            begun = true;
            fault(life);
          }
          if (hoards > 0 && life.steps.get() > wanted * hoards / 32) {
            refuse(life, hoard);
          }
        }
        if (hoards % 2 == 0) {
          life.refusing = false;
          hoard.release();
        }
        end(life, threads);
      }
    } finally {
      Delays.stopNoMore(true);
      if (life != null) {
        life.stop = true;
        steps += life.steps.get();
        life.refusals.forEach((k, v) -> refusals.merge(k, v.get(), Long::sum));
      }
      if (db.isOpen()) {
        try {
          db.close();
        } catch (FoveaException e) {
          // the first failure says more
        }
      }
      for (Thread t : threads) {
        t.join();
      }
    }
    Throwable t = life.failure.get();
    if (t != null) {
      throw t;
    }
  }

  private static boolean goesOn(Life life, long wanted, long until) {
    return !life.stop && life.steps.get() < wanted && System.nanoTime() < until;
  }

  /** Keeps the disk with which a life began, for diagnosis. */
  private void keep(SimDisk found) throws IOException {
    if (disk(0)) {
      Path to = Path.of(scratch.getParent() + "-failed-" + setup.seed() + "-" + lives);
      found.save(java.nio.file.Files.createDirectories(to));
    }
  }

  private String faults(Life life) {
    return (life.faults ? " with " + disk.faultsHit() + " faults" : "")
        + (life.refused ? " with memory refused" : "");
  }

  private boolean has(Feature f) {
    return features.contains(f);
  }

  private boolean disk(int unused) {
    return setup.place() == Setup.Place.SIMULATED;
  }

  private void fault(Life life) {
    overlaps.begins(Feature.FAULT, workers);
    life.faults = true;
    IoOp[] kinds = {IoOp.READ, IoOp.WRITE, IoOp.SYNC, IoOp.RESIZE};
    IoOp kind = kinds[random.nextInt(kinds.length)];
    long nth = 1 + random.nextInt(30);
    SimFault f = random.nextInt(4) == 0 ? SimFault.from(nth) : SimFault.once(nth);
    ending += "; " + kind;
    boolean full = kind != IoOp.READ && random.nextBoolean();
    disk.fail(full ? f.of(kind).errno(io.fovea.bindings.Errno.ENOSPC) : f.of(kind));
    overlaps.done.incrementAndGet(Feature.FAULT.ordinal());
  }

  private void refuse(Life life, MemoryExhauster hoard) {
    if (!life.refused) {
      overlaps.begins(Feature.MEMORY, workers);
      overlaps.done.incrementAndGet(Feature.MEMORY.ordinal());
    }
    life.refused = true;
    life.refusing = true;
    hoard.take();
  }

  private void end(Life life, List<Thread> threads) throws Exception {
    boolean kill =
        has(Feature.KILL)
            && setup.survivesKills()
            && random.nextInt(3) != 0
            && life.failure.get() == null;
    boolean beside = has(Feature.CLOSE) && random.nextInt(3) != 0;
    if (kill || beside) {
      // At the end threads do only a few kinds of steps, during one of which the life ends.
      Feature last = life.narrow(random, 4).getFirst();
      LockSupport.parkNanos(random.nextInt(100_000_000));
      life.await(last, 100_000_000);
      if (setup.delays() > 0) {
        Delays.stopAtEnd();
      }
      LockSupport.parkNanos(random.nextInt(5_000_000));
    }
    if (kill) {
      kill(life);
    } else if (!beside) {
      watchdog.phase("resting");
      life.stop = true;
      join(threads);
      if (life.failure.get() == null && !life.faults && !life.refused) {
        rest(life);
      }
      close(life);
    } else {
      begins(Feature.CLOSE, life);
      close(life);
      overlaps.done.incrementAndGet(Feature.CLOSE.ordinal());
    }
    Delays.stopNoMore(true);
    life.stop = true;
    watchdog.phase("joining after " + (kill ? "kill" : "close"));
    join(threads);
    if (!life.db.isOpen() && life.state == Life.State.CLOSING) {
      Listeners.check(life);
    }
    disk.heal();
  }

  private void begins(Feature ending, Life life) {
    overlaps.begins(ending, workers);
    if (life.refusing) {
      overlaps.beside(ending, Feature.MEMORY);
    }
  }

  private static void join(List<Thread> threads) throws InterruptedException {
    for (Thread t : threads) {
      t.join();
    }
  }

  /** Checks what is exact only when all threads have ended. */
  private void rest(Life life) {
    Life.checkAll(life.db);
    VerifyReport report = life.db.verify();
    Violation.unless(report.ok(), "verify at rest: " + report.problems());
    Violation.same(Bank.ACCOUNTS, life.bank.table.count(), "count of accounts");
    long n = life.db.<Long, RuntimeException>read(tx -> Ranges.members(life.ranges, tx));
    Violation.same(n, life.ranges.table().count(), "count of ranges");
  }

  private void close(Life life) {
    closes++;
    watchdog.phase("closing");
    life.state = Life.State.CLOSING;
    boolean ok = false;
    try {
      life.db.close();
      ok = true;
    } catch (DurabilityLostException | StorageException | StorageFullException e) {
      if (!life.faults && !(life.refused && e instanceof DurabilityLostException)) {
        throw new Violation("close: " + e + "\n" + watchdog.slow(), e);
      }
    } catch (RuntimeException | Error e) {
      if (!(e instanceof OutOfMemoryError && life.refused)) {
        throw new Violation("close: " + e, e);
      }
    }
    Violation.unless(!life.db.isOpen(), "the database is still open after close");
    closed = ok;
    ending += (ok ? "; closed" : "; close failed") + faults(life);
  }

  private void kill(Life life) {
    kills++;
    begins(Feature.KILL, life);
    watchdog.phase("killing");
    closed = false;
    if (disk(0)) {
      SimDisk after;
      // Read what was acknowledged before copying the disk.
      long[] promised = expected.least(false);
      long issued = expected.sequenceTop();
      SimCrash[] ways = {SimCrash.LOSE_ALL, SimCrash.RANDOM, SimCrash.KEEP_ALL};
      SimCrash way = ways[random.nextInt(ways.length)];
      after = disk.crash(way);
      ending += "; killed, " + way + faults(life);
      life.state = Life.State.KILLED;
      disk.powerOffAt(0);
      try {
        life.db.close();
      } catch (FoveaException e) {
        if (e instanceof io.fovea.error.CorruptionException) {
          throw new Violation("close without power: " + e, e);
        }
      } catch (OutOfMemoryError e) {
        if (!life.refused) {
          throw e;
        }
      }
      Violation.unless(!life.db.isOpen(), "the database is still open after close without power");
      life.stop = true;
      awaitHands();
      expected.promised(promised, issued);
      disk = after;
    } else {
      // Memory is unmapped under its users, so there must be none. KillTest kills a process.
      life.stop = true;
      awaitHands();
      life.state = Life.State.KILLED;
      SimDatabase.abandon(life.db);
      ending += "; abandoned";
    }
    overlaps.done.incrementAndGet(Feature.KILL.ordinal());
  }

  private void awaitHands() {
    for (Worker h : workers) {
      while (h.thread != null) {
        LockSupport.parkNanos(1_000_000);
      }
    }
  }

  /** Returns the requested features that the setup can use. */
  static Set<Feature> suitable(Setup setup, Set<Feature> wanted) {
    Set<Feature> all = EnumSet.copyOf(wanted);
    all.removeIf(f -> !f.suits(setup));
    return all;
  }
}
