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
import java.util.function.IntConsumer;

/**
 * Closes a store.
 *
 * <pre>
 *   {@link #quiesce}      admission stops ─► grace ─► operations refused ─► running ones awaited
 *   {@link #finish}       pages written and synced ─► superblock marked clean
 *   {@link #releaseAll}   threads end ─► pool ─► transactions ─► files ─► lock
 * </pre>
 *
 * <p>{@link #releaseAll} always follows, even if writing fails. Confined to one thread.
 */
final class Closing {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /** The interval between checks for active transactions. */
  private static final long QUIESCE_NANOS = 200_000;

  /** How long a close may spend truncating free pages at the end of the file. */
  private static final long CUT_NANOS = 500_000_000;

  /** How long a close waits for a running operation. */
  private static final long OPERATION_NANOS = 60_000_000_000L;

  private Closing() {}

  /**
   * Runs all steps in order, even if some fail.
   *
   * <p>The steps are one function of the step number rather than a list of functions, because the
   * JVM would generate a class for each function at the first close.
   *
   * @param step receives the numbers from 0 to {@code count - 1}
   * @throws RuntimeException the first failure, of any type, with later failures suppressed
   */
  static void all(int count, IntConsumer step) {
    Throwable first = null;
    for (int i = 0; i < count; i++) {
      try {
        step.accept(i);
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

  @SuppressWarnings("unchecked") // user code may throw any exception
  private static <X extends Throwable> X unchecked(Throwable thrown) throws X {
    throw (X) thrown;
  }

  /**
   * Lets transactions end, then refuses their operations.
   *
   * @return whether all operations have ended
   */
  static boolean quiesce(
      StoreComponents storeComponents, StatementContexts contexts, Duration timeout) {
    TxEngine engine = storeComponents.engine();
    engine.stopAdmission();
    int own =
        contexts
            .countOfCurrentThread(); // the thread's own transactions cannot end while it is here
    long deadline = System.nanoTime() + Waits.nanos(timeout);
    while (engine.active() > own && System.nanoTime() < deadline) {
      Waits.sleep(QUIESCE_NANOS);
    }
    engine.abortWaits();
    Journal journal = storeComponents.journal();
    if (journal != null) {
      journal.abortWaits();
    }
    contexts.refuse();
    engine.refuse(); // including operations that wait for a page
    // Partner: the light fence of StatementContext.enter. A thread within an operation is seen
    // below, and a thread that has claimed a context is counted; any other thread is refused.
    boolean fenced = AsymmetricFence.heavy();
    if (fenced && engine.active() == 0) {
      return true;
    }
    logAborts(storeComponents, engine);
    return contexts.awaitOperations(OPERATION_NANOS) && fenced;
  }

  private static void logAborts(StoreComponents storeComponents, TxEngine engine) {
    try {
      LOG.log(
          Level.INFO,
          () ->
              "Closing "
                  + storeComponents.name()
                  + ": aborting "
                  + engine.active()
                  + " transactions that are still active");
    } catch (Throwable t) {
      // A failing logger must not prevent the close.
    }
  }

  /**
   * Writes everything and marks the file clean.
   *
   * @param marked whether the file is marked as in use
   * @param quiet the result of {@link #quiesce}
   * @throws DurabilityLostException if the file cannot be marked clean
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
      if (journal != null && storeComponents.engine().pagesAreConsistent()) {
        journal.persist();
      }
      throw new DurabilityLostException(
          storeComponents.name()
              + " is not marked clean, because a commit failed halfway"
              + storeComponents.uncleanAdvice(),
          poison);
    }
    if (!quiet) {
      throw new DurabilityLostException(
          storeComponents.name()
              + " is not marked clean, because an operation of a transaction "
              + "did not end within "
              + OPERATION_NANOS / 1_000_000_000
              + " s"
              + storeComponents.uncleanAdvice(),
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
      hooks.freeUnfreedPages();
      long number = hooks.saveCounts();
      end.cut(() -> false);
      storeComponents.pool().flushAll();
      storeComponents.writeSuperblock(superblocks, true, number);
    }
    end.shrink(true); // space allocated ahead is no longer needed
  }

  /**
   * Releases all resources without writing. Every step runs even if an earlier one fails: memory
   * may leak, but the files are released.
   *
   * @param hooks the hooks of the schema, whose threads have been asked to end
   */
  static void releaseAll(StoreComponents storeComponents, SchemaHooks hooks) {
    all(9, step -> releaseAll(storeComponents, hooks, step));
  }

  private static void releaseAll(StoreComponents storeComponents, SchemaHooks hooks, int step) {
    Journal journal = storeComponents.journal();
    TimestampFile timestamps = storeComponents.timestamps();
    FileLock lock = storeComponents.lock();
    switch (step) {
      case 0 -> {
        if (journal != null) {
          journal.stop();
        }
      }
      case 1 -> hooks.join();
      case 2 -> storeComponents.pool().abandon();
      case 3 -> storeComponents.engine().close();
      case 4 -> storeComponents.keyLocations().close();
      case 5 -> {
        if (timestamps != null) {
          timestamps.close();
        }
      }
      case 6 -> storeComponents.device().close();
      case 7 -> {
        if (journal != null) {
          journal.closeFiles();
        }
      }
      default -> {
        if (lock != null) {
          lock.close();
        }
      }
    }
  }
}
