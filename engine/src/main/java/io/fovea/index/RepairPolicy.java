package io.fovea.index;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Decides whether the wrong hints of an index are worth repairing. They are not if they become
 * wrong again before they are used.
 *
 * <pre>
 *   all entries ──┬── 15 of 16 ──► repaired while repairs are on
 *                 └── the probe, 1 of 16 ──► always repaired; its hits and misses are measured
 *   a use of a probe's hint ─► cell of the context ─(32 uses)─► window: uses, hits ─► on or off
 *                              one writer each                  halved at 1024 uses
 *   on  ──(hits fall below 30 %)──► off
 *   off ──(hits rise above 50 %)──► on
 * </pre>
 *
 * <p><b>Why the probe consists of entries and not of lookups.</b> Without repairs nearly all hints
 * become wrong in time, even with few changes, so the hit rate of all lookups does not predict the
 * effect of repairs. The probe behaves as all entries would with repairs, whether these are on or
 * off, for a sixteenth of the cost. A hash of the key selects it, so all threads and runs agree.
 *
 * <p><b>Why 30 and 50.</b> A repair costs about as much as one hit saves: an exclusive latch for a
 * few stores against a descent. So it pays if more than about every third use is a hit. Below that,
 * the paper also finds that repairs do not pay (figure 6b: with more than 60 % wrong pages). The
 * gap between the rates keeps an index at the border from flipping.
 *
 * <p><b>Why uses instead of seconds.</b> The paper suggests windows of ten seconds. The value of a
 * repair depends on the uses between two changes, not on time. A window of uses needs no clock and
 * keeps its state while the index is idle.
 *
 * <p>Two threads write the same cache line only once per 32 uses of probes, or 512 lookups. Cells
 * are written with opaque stores; if there are more contexts than cells, a use may be lost, which
 * only changes the sample.
 *
 * <p>Safe for use by any thread. The idea of adapting is from Otaki et al., PVLDB 18 (11), 2025,
 * section 4.4, which leaves it open.
 */
public final class RepairPolicy {
  /** Repairs are disabled below this hit rate, in percent. */
  static final int OFF_BELOW = 30;

  /** Repairs are enabled above this hit rate, in percent. */
  static final int ON_ABOVE = 50;

  /** The number of probe uses that a cell collects. */
  static final int BATCH = 32;

  /** The number of uses after which the counts of the window are halved. */
  static final int WINDOW = 1024;

  /** The minimum number of uses for a decision. */
  static final int ENOUGH = WINDOW / 4;

  private static final long PROBE_MASK = 15;
  private static final int CELLS = 32;
  private static final int STRIDE = 16;
  private static final long USE = 1L << 32;

  private static final VarHandle CELL = MethodHandles.arrayElementVarHandle(long[].class);
  private static final VarHandle SEEN;

  static {
    try {
      SEEN = MethodHandles.lookup().findVarHandle(RepairPolicy.class, "seen", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /**
   * Uses in the upper half, hits in the lower; one cache line per cell, and one before the first.
   */
  private final long[] cells = new long[(CELLS + 1) * STRIDE];

  @SuppressWarnings("unused") // accessed through SEEN
  private volatile long seen;

  private volatile boolean on = true;

  public RepairPolicy() {}

  /**
   * Returns whether a key's entry belongs to the probe, given a good hash of the key. If so, the
   * uses of its hint must be reported.
   */
  public static boolean probes(long hash) {
    return (hash & PROBE_MASK) == 0;
  }

  /** Returns whether to repair a wrong hint, given a good hash of the record's key. */
  public boolean repairs(long hash) {
    return on || probes(hash);
  }

  public boolean isOn() {
    return on;
  }

  /** Reports a hit or a miss of a hint of the probe. Concurrent callers pass different contexts. */
  public void used(int context, boolean hit) {
    int i = (context % CELLS + 1) * STRIDE;
    long cell = (long) CELL.getOpaque(cells, i) + USE + (hit ? 1 : 0);
    if (cell >>> 32 < BATCH) {
      CELL.setOpaque(cells, i, cell);
      return;
    }
    CELL.setOpaque(cells, i, 0L);
    add(cell);
  }

  private void add(long more) {
    long before;
    long after;
    do {
      before = seen;
      after = before + more;
      if (after >>> 32 >= WINDOW) {
        after = after >>> 33 << 32 | (after & 0xFFFF_FFFFL) >>> 1;
      }
    } while (!SEEN.compareAndSet(this, before, after));
    long uses = after >>> 32;
    long percent = (after & 0xFFFF_FFFFL) * 100;
    if (uses < ENOUGH) {
      return;
    }
    // If two threads decide at once, the later one may have seen less; the next batch corrects it.
    if (percent < OFF_BELOW * uses) {
      set(false);
    } else if (percent > ON_ABOVE * uses) {
      set(true);
    }
  }

  private void set(boolean value) {
    if (on != value) {
      on = value;
    }
  }
}
