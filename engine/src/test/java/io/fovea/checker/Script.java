package io.fovea.checker;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fovea.Database;
import io.fovea.ScanOrder;
import io.fovea.SimDatabase;
import io.fovea.checker.Txn.Outcome;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.support.SimDisk;
import io.fovea.txn.FaultInjection;
import io.fovea.txn.SlotSet;
import io.fovea.txn.TxEngine;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Transactions whose steps run in a given order. Each has its own thread and does one step at a
 * time, for which the script waits. An aborted transaction skips its remaining steps.
 */
final class Script implements AutoCloseable {
  private static final long SECONDS_MAX = 60;

  private final Setup setup;
  private final Random random = new Random(1);
  private final Database db;
  private final List<Actor> actors = new ArrayList<>();
  private final List<Database> snapshots = new ArrayList<>();

  private FaultInjection.@Nullable Stage stage;
  private @Nullable Actor whose;
  private int after;
  private @Nullable Consumer<SlotSet> then;

  Script(Setup setup) {
    this.setup = setup;
    EngineLog.silence();
    FaultInjection.Probe asked = setup.faults().probe();
    FaultInjection.Probe mine =
        (at, locked) -> {
          asked.at(at, locked);
          reached(at, locked);
        };
    db = setup.faults(setup.faults().with(mine)).open(new SimDisk(1));
    ListClient.create(db);
  }

  /** Called by a commit's thread at a stage. */
  private void reached(FaultInjection.Stage at, SlotSet locked) {
    Consumer<SlotSet> todo = then;
    if (todo != null
        && at == stage
        && whose != null
        && Thread.currentThread() == whose.thread
        && after-- == 0) {
      then = null;
      todo.accept(locked);
    }
  }

  /**
   * Runs an action when an actor's next commit reaches a stage.
   *
   * @param times the number of arrivals at the stage to let pass first
   */
  void during(FaultInjection.Stage at, int times, Actor actor, Consumer<SlotSet> what) {
    stage = at;
    after = times;
    whose = actor;
    then = what;
  }

  /** Returns whether the action in the middle of the commit has run. */
  boolean interrupted() {
    return then == null;
  }

  TxEngine engine() {
    return SimDatabase.engine(db);
  }

  /** Begins a transaction in a new thread. */
  Actor begin() {
    return begin(false);
  }

  Actor begin(boolean readOnly) {
    Actor a = new Actor(actors.size(), db);
    actors.add(a);
    a.step(() -> a.client.begin(readOnly));
    return a;
  }

  /** Begins a transaction in a snapshot taken now. */
  Actor snapshot() {
    long opened = System.nanoTime();
    long since = ListExpiry.clock(db).millis();
    Database then = db.snapshot();
    snapshots.add(then);
    Actor a = new Actor(actors.size(), then);
    actors.add(a);
    a.step(() -> a.client.beginInSnapshot(opened, since, ListExpiry.clock(db).millis()));
    return a;
  }

  /** Runs a transaction that appends to keys, and commits. */
  void seed(long... keys) {
    Actor a = begin();
    a.counted = false;
    for (long key : keys) {
      a.append(key);
    }
    assertEquals(Outcome.OK, a.commit());
  }

  /**
   * Returns the outcomes of the transactions except seeds, in the order of their begins: {@code c}
   * for committed, {@code a} for aborted, {@code r} for rolled back by the script or still running.
   */
  String outcomes() {
    StringBuilder all = new StringBuilder();
    for (Actor a : actors) {
      if (a.counted) {
        all.append(a.committed() ? 'c' : a.aborted || a.refused ? 'a' : 'r');
      }
    }
    return all.toString();
  }

  /**
   * Returns the history with a final read of everything; rolls back transactions that are still
   * running.
   */
  History history() {
    List<Txn> all = new ArrayList<>();
    for (Actor a : actors) {
      a.rollback();
      all.addAll(a.client.done());
    }
    all.add(Workload.readAll(db, ListClient.PROCESSES - 1, 1));
    return new History(all);
  }

  @Override
  public void close() {
    for (Actor a : actors) {
      a.rollback();
      a.executor.shutdownNow();
    }
    snapshots.forEach(Database::close);
    db.close();
  }

  /** One transaction and its thread. */
  final class Actor {
    private final ExecutorService executor = Executors.newSingleThreadExecutor();
    private final ListClient client;
    private final Thread thread;
    private boolean aborted;
    private boolean refused;
    private boolean counted = true;
    private @Nullable Outcome outcome;

    private Actor(int number, Database in) {
      client = new ListClient(in, number, 1, 20);
      thread = await(Thread::currentThread);
    }

    /** Does a step; returns null if the transaction has ended or ends during the step. */
    private <R> @Nullable R step(Callable<R> what) {
      if (aborted || outcome != null) {
        return null;
      }
      return await(
          () -> {
            setup.installWrongLocations(db, random);
            try {
              return what.call();
            } catch (TransactionAbortedException
                | DuplicateKeyException
                | ListClient.Impossible e) {
              aborted = true;
              client.rollback();
              return null;
            }
          });
    }

    private <R> R await(Callable<R> what) {
      Future<R> f = executor.submit(what);
      try {
        return f.get(SECONDS_MAX, TimeUnit.SECONDS);
      } catch (ExecutionException e) {
        throw new AssertionError(e.getCause());
      } catch (TimeoutException | InterruptedException e) {
        throw new AssertionError("a step did not finish", e);
      }
    }

    void read(long... keys) {
      for (long key : keys) {
        step(() -> client.read(key));
      }
    }

    void append(long... keys) {
      for (long key : keys) {
        append(key);
      }
    }

    /** Returns the element that it appended; 0 if it was aborted. */
    long append(long key) {
      State after = step(() -> client.append(key));
      return after == null ? 0 : after.last();
    }

    /** Begins lists of graves without reading them. */
    void beginLists(long... keys) {
      for (long key : keys) {
        step(() -> client.beginList(key));
      }
    }

    void lookup(long key, int group) {
      step(() -> client.lookup(key, group));
    }

    /** Scans an interval in descending order; runs an action after some records. */
    void scanDown(long low, long high, int passed, Runnable between) {
      step(() -> client.scan(low, high, ScanOrder.DESCENDING, passed, between));
    }

    void delete(long key) {
      step(() -> client.delete(key));
    }

    /** Returns what it found; nothing if it was aborted. */
    Map<Long, State> scan(long low, long high) {
      Map<Long, State> found = step(() -> client.scan(low, high, ScanOrder.ASCENDING));
      return found == null ? Map.of() : found;
    }

    Map<Long, State> group(int generation, int group) {
      Map<Long, State> found = step(() -> client.group(generation, group, ScanOrder.DESCENDING));
      return found == null ? Map.of() : found;
    }

    Outcome commit() {
      if (!aborted && outcome == null) {
        outcome = await(client::commit);
        refused = outcome != Outcome.OK;
      }
      return outcome == null ? Outcome.FAIL : outcome;
    }

    void rollback() {
      if (!aborted && outcome == null) {
        outcome = Outcome.FAIL;
        await(
            () -> {
              client.rollback();
              return outcome;
            });
      }
    }

    boolean committed() {
      return outcome == Outcome.OK;
    }
  }
}
