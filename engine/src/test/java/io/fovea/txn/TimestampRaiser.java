package io.fovea.txn;

import java.util.SplittableRandom;
import java.util.function.LongUnaryOperator;

/** For tests of other packages: raises timestamps as an eviction would. */
public final class TimestampRaiser {
  private TimestampRaiser() {}

  /** Raises the rts of a commit's locked items; the result restores them before it publishes. */
  public static Runnable raiseReads(TxEngine engine, SlotSet locked, int by) {
    return raise(engine, locked, word -> TidWord.pack(TidWord.wts(word), TidWord.rts(word) + by));
  }

  /** Raises wts and rts of a commit's locked items to its timestamp. */
  public static Runnable raiseToCommit(TxEngine engine, SlotSet locked) {
    long commitTs = 0;
    for (int i = 0; i < locked.size(); i++) {
      commitTs = Math.max(commitTs, TidWord.rts(engine.timestamps().word(locked.get(i))) + 1);
    }
    long ts = commitTs;
    return raise(engine, locked, word -> TidWord.pack(ts, ts));
  }

  private static Runnable raise(TxEngine engine, SlotSet locked, LongUnaryOperator how) {
    TimestampTable table = engine.timestamps().table;
    int n = locked.size();
    int[] slots = new int[n];
    long[] before = new long[n];
    for (int i = 0; i < n; i++) {
      slots[i] = locked.get(i);
      before[i] = table.word(slots[i]);
      table.wordRelease(
          slots[i], TidWord.withLock(how.applyAsLong(TidWord.withoutLock(before[i]))));
    }
    return () -> {
      for (int i = 0; i < n; i++) {
        table.wordRelease(slots[i], before[i]);
      }
    };
  }

  /** Raises some of the unlocked entries, the rts alone or both; returns their number. */
  public static int raiseUnlocked(TxEngine engine, SplittableRandom random) {
    TimestampTable table = engine.timestamps().table;
    int raised = 0;
    for (int slot = 0; slot < table.slots(); slot++) {
      long word = table.word(slot);
      if (TidWord.isLocked(word) || word == 0 || random.nextInt(8) != 0) {
        continue;
      }
      int wts = random.nextInt(4);
      int rts = random.nextInt(4);
      long next = TidWord.pack(TidWord.wts(word) + wts, TidWord.rts(word) + Math.max(wts, rts));
      raised += table.casWord(slot, word, next) ? 1 : 0;
    }
    return raised;
  }
}
