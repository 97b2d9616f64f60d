package io.fovea.txn;

/** For tests: the locks of an engine that has no transactions. */
public final class TestLocks {
  private TestLocks() {}

  /** Describes what is still locked or claimed; empty if nothing is. */
  public static String held(TxEngine engine) {
    StringBuilder held = new StringBuilder();
    if (engine.active() > 0) {
      held.append(" contexts: ").append(engine.active());
    }
    Timestamps timestamps = engine.timestamps();
    TimestampTable table = timestamps.table;
    for (int slot = 0; slot < table.slots(); slot++) {
      if (table.stampAcquire(slot) < 0 && TidWord.isLocked(table.word(slot))) {
        held.append(" item ").append(Long.toHexString(table.item(slot)));
      }
    }
    for (int column = 0; column < table.columns(); column++) {
      if (table.version(column) < 0) {
        held.append(" column ").append(column);
      }
    }
    ProtocolMemory memory = engine.shared.protocolMemory;
    if (memory.locks != null && memory.locks.held() > 0) {
      held.append(" locked slots: ").append(memory.locks.held());
    }
    if (memory.history != null && memory.history.locked()) {
      held.append(" the critical section");
    }
    return held.toString();
  }

  /** Returns the number of update locks held. */
  public static int updateLocks(TxEngine engine) {
    return engine.shared.updateLocks.held();
  }
}
