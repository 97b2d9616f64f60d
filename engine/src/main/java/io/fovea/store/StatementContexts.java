package io.fovea.store;

import io.fovea.index.StatementContext;
import io.fovea.memory.Hash;
import io.fovea.memory.Waits;
import io.fovea.txn.TxEngine;

/**
 * The statement contexts of a store: two for each transaction context, so that a free slot is found
 * quickly. Thread-safe.
 */
final class StatementContexts {
  private final StatementContext[] contexts;

  StatementContexts(int transactions, TxEngine engine) {
    this.contexts = new StatementContext[2 * transactions];
    for (int i = 0; i < contexts.length; i++) {
      contexts[i] = new StatementContext(i, contexts.length, engine.memory());
    }
  }

  /** Claims a free statement context for the calling thread. */
  StatementContext claim() {
    int n = contexts.length;
    int i = Hash.ofThread(n);
    for (int k = 0; ; k++) {
      if (contexts[i].claim()) {
        return contexts[i];
      }
      if (++i == n) {
        i = 0;
      }
      if (k >= n) {
        // A transaction context was released before its statement context: retry.
        Waits.yieldThread();
      }
    }
  }

  /** Returns the number of active transactions of the calling thread. */
  int countOfCurrentThread() {
    int n = 0;
    for (StatementContext s : contexts) {
      if (s.isOwnedByCurrentThread()) {
        n++;
      }
    }
    return n;
  }

  /** Refuses new operations; running ones continue. */
  void refuse() {
    for (StatementContext s : contexts) {
      s.refuse();
    }
  }

  /**
   * Waits for running operations to end.
   *
   * @param nanos the time limit
   * @return whether all have ended
   */
  boolean awaitOperations(long nanos) {
    long deadline = System.nanoTime() + nanos;
    for (StatementContext s : contexts) {
      while (s.busy()) {
        if (System.nanoTime() > deadline) {
          return false;
        }
        Waits.yieldThread();
      }
    }
    return true;
  }
}
