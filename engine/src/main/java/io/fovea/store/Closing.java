package io.fovea.store;

import io.fovea.error.DurabilityLostException;
import io.fovea.io.FileLock;
import io.fovea.memory.AsymmetricFence;
import io.fovea.memory.Waits;
import io.fovea.recovery.FileEnd;
import io.fovea.recovery.SuperblockFile;
import io.fovea.txn.TxEngine;
import io.fovea.wal.LogSession;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * How a store closes.
 *
 * <pre>
 *   {@link #quiesce}    no more begins ─► grace ─► operations refused ─► those under way awaited
 *   {@link #finish}     pages written and synced ─► superblock: clean
 *   {@link #giveBack}   threads end ─► pool ─► transactions ─► files ─► lock
 * </pre>
 *
 * <p>The pages are given back even if writing fails: {@link #giveBack} follows in any case. One
 * thread.
 */
final class Closing {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /** From one look at the transactions that still run to the next. */
  private static final long QUIESCE_NANOS = 200_000;

  /** How long a close looks for free pages at the end of the file. */
  private static final long CUT_NANOS = 500_000_000;

  /** How long an operation that is under way may keep a close waiting. */
  private static final long OPERATION_NANOS = 60_000_000_000L;

  private Closing() {}

  /**
   * Takes all steps in order, whatever some of them throw.
   *
   * @throws RuntimeException what the first throws that fails, whatever that is, with what the
   *     others throw added
   */
  static void all(List<Runnable> steps) {
    Throwable first = null;
    for (Runnable step : steps) {
      try {
        step.run();
      } catch (Throwable t) {
        if (first == null) {
          first = t;
        } else if (first != t) {
          first.addSuppressed(t);
        }
      }
    }
    if (first != null) {
      throw Closing.<RuntimeException>unchecked(first);
    }
  }

  @SuppressWarnings(
      "unchecked") // no step declares an exception; code of applications may throw any
  private static <X extends Throwable> X unchecked(Throwable thrown) throws X {
    throw (X) thrown;
  }

  /**
   * Lets transactions end, then refuses their operations.
   *
   * @return whether no operation is under way any more
   */
  static boolean quiesce(StoreComponents storeComponents, Slots slots, Duration grace) {
    TxEngine engine = storeComponents.engine();
    engine.stopAdmission();
    int own = slots.mine(); // they can't go on while their thread is here
    long deadline = System.nanoTime() + Waits.nanos(grace);
    while (engine.active() > own && System.nanoTime() < deadline) {
      Waits.sleep(QUIESCE_NANOS);
    }
    engine.abortWaits();
    Journal journal = storeComponents.journal();
    if (journal != null) {
      journal.abortWaits();
    }
    slots.refuse();
    engine.refuse(); // also those in the middle of an operation who wait for a page
    // Partner: the light one in Slot.enter. A thread that is in an operation is seen there, and one
    // that has claimed a context is counted; any other one is refused.
    boolean fenced = AsymmetricFence.heavy();
    if (fenced && engine.active() == 0) {
      return true;
    }
    tellAborts(storeComponents, engine);
    return slots.awaitOperations(OPERATION_NANOS) && fenced;
  }

  private static void tellAborts(StoreComponents storeComponents, TxEngine engine) {
    try {
      LOG.log(
          Level.INFO,
          () ->
              "Closing "
                  + storeComponents.name()
                  + ": aborting "
                  + engine.active()
                  + " transactions that still run");
    } catch (Throwable t) {
      // A logger that fails keeps no database open.
    }
  }

  /**
   * Writes everything, and says that the file is complete.
   *
   * @param marked whether the file says that it is in use
   * @param quiet what {@link #quiesce} returned
   * @param hooks of the schema
   * @throws DurabilityLostException if the file can't be marked clean
   */
  static void finish(
      StoreComponents storeComponents, boolean marked, boolean quiet, SchemaHooks hooks) {
    Journal journal = storeComponents.journal();
    SuperblockFile superblocks = storeComponents.superblocks();
    if (superblocks == null || !marked) {
      if (journal != null) {
        journal.leave();
      }
      return;
    }
    Throwable poison = storeComponents.engine().poison();
    if (poison != null) {
      if (journal != null && storeComponents.engine().leftPagesWhole()) {
        journal.persist();
      }
      throw new DurabilityLostException(
          storeComponents.name()
              + " is not marked clean, for a commit had failed halfway"
              + storeComponents.outlook(),
          poison);
    }
    if (!quiet) {
      throw new DurabilityLostException(
          storeComponents.name()
              + " is not marked clean, for an operation of a transaction did not end within "
              + OPERATION_NANOS / 1_000_000_000
              + " s"
              + storeComponents.outlook(),
          null);
    }
    FileEnd end =
        new FileEnd(
            storeComponents.name(),
            storeComponents.pool(),
            superblocks,
            () -> LogSession.NONE,
            CUT_NANOS,
            Long.MAX_VALUE);
    if (journal != null) {
      journal.finish(storeComponents.pool(), storeComponents.treeIds().get(), hooks::saveCounts);
    } else {
      hooks.freeStrays();
      long number = hooks.saveCounts();
      end.cut(() -> false);
      storeComponents.pool().flushAll();
      storeComponents.writeSuperblock(superblocks, true, number);
    }
    end.shrink(true); // what was room ahead of need is not needed now
  }

  /**
   * Gives everything back. What is not written is not written. Each step is taken even if one
   * before it fails: memory may leak then, but the files are free.
   *
   * @param hooks of the schema, whose threads were asked to end
   */
  static void giveBack(StoreComponents storeComponents, SchemaHooks hooks) {
    List<Runnable> steps = new ArrayList<>();
    Journal journal = storeComponents.journal();
    if (journal != null) {
      steps.add(journal::stop);
    }
    steps.add(hooks::join);
    steps.add(storeComponents.pool()::abandon);
    steps.add(storeComponents.engine()::close);
    steps.add(storeComponents.keyLocations()::close);
    TimestampFile timestamps = storeComponents.timestamps();
    if (timestamps != null) {
      steps.add(timestamps::close);
    }
    steps.add(storeComponents.device()::close);
    if (journal != null) {
      steps.add(journal::closeFiles);
    }
    FileLock lock = storeComponents.lock();
    if (lock != null) {
      steps.add(lock::close);
    }
    all(steps);
  }
}
