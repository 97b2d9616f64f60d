package io.fovea.store;

import io.fovea.index.StatementContext;
import io.fovea.memory.Hash;
import io.fovea.memory.Waits;
import io.fovea.txn.TxEngine;

/**
 * The slots of a store: two for each context of a transaction, so that a thread that has a context
 * finds a free slot soon. Any thread.
 */
final class Slots {
  private final StatementContext[] slots;

  Slots(int contexts, TxEngine engine) {
    this.slots = new StatementContext[2 * contexts];
    for (int i = 0; i < slots.length; i++) {
      slots[i] = new StatementContext(i, slots.length, engine.memory());
    }
  }

  /** A free slot for the calling thread. */
  StatementContext claim() {
    int n = slots.length;
    int i = Hash.ofThread(n);
    for (int k = 0; ; k++) {
      if (slots[i].claim()) {
        return slots[i];
      }
      if (++i == n) {
        i = 0;
      }
      if (k >= n) {
        Waits.giveWay(); // a context was given back before its slot: soon
      }
    }
  }

  /** How many transactions of the calling thread are active. */
  int mine() {
    int n = 0;
    for (StatementContext s : slots) {
      if (s.isMine()) {
        n++;
      }
    }
    return n;
  }

  /** From now on operations are refused; those under way go on. */
  void refuse() {
    for (StatementContext s : slots) {
      s.refuse();
    }
  }

  /**
   * Waits for the operations that are under way.
   *
   * @param nanos how long at most
   * @return whether all have ended
   */
  boolean awaitOperations(long nanos) {
    long deadline = System.nanoTime() + nanos;
    for (StatementContext s : slots) {
      while (s.busy()) {
        if (System.nanoTime() > deadline) {
          return false;
        }
        Waits.giveWay();
      }
    }
    return true;
  }
}
