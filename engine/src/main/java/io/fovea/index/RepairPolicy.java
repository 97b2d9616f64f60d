package io.fovea.index;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Decides whether wrong hints of an index are worth being put right: not while they go wrong again
 * before they are used.
 *
 * <pre>
 *   all entries ──┬── 15 of 16 ──► repaired while repairs are on
 *                 └── the probe, 1 of 16 ──► always repaired; its hits and misses are the measure
 *
 *   a use of a probe's hint ─► cell of the context ─(32 uses)─► window: uses, hits ─► on or off
 *                              one writer each                  halved at 1024 uses
 *
 *   on  ──(hits fall below 30 %)──► off
 *   off ──(hits rise above 50 %)──► on
 * </pre>
 *
 * <p><b>Why a probe of entries, and not of lookups.</b> Where nothing is repaired, nearly all hints
 * get wrong in time, however calm it has become: then the rate of all lookups says nothing of what
 * repairs would do. The probe is what all entries would be like with repairs, whether they are on
 * or off; so one measure serves for both ways, and what it costs is a sixteenth of the repairs.
 * Which entries are in it is up to a hash of the key, so each thread and each run sees the same.
 *
 * <p><b>Why 30 and 50.</b> A repair costs about as much as it saves once: an exclusive latch for
 * some stores against a descent. So it pays where a hint is right more often than every third time
 * or so; below, the paper sees repairs lose too (figure 6b: with more than 60 % of wrong pages).
 * Between the two rates nothing changes, so that an index at the border does not flip.
 *
 * <p><b>Why uses instead of seconds.</b> The paper suggests windows of ten seconds. What a repair
 * is worth is decided by uses between two changes, not by time; a window of uses needs no clock on
 * the way and does not forget at night what it has learned.
 *
 * <p>No cache line is written by two threads but once in 32 uses of probes, that is once in 512
 * lookups. Cells are written with opaque stores; where there are more contexts than cells a use may
 * be lost, which is one of a sample.
 *
 * <p>Any thread. The idea of adapting: Otaki et al., PVLDB 18 (11), 2025, section 4.4, which leaves
 * it open.
 */
public final class RepairPolicy {
  /** Below this share of hits repairs are switched off; percent. */
  static final int OFF_BELOW = 30;

  /** Above this share of hits repairs are switched on; percent. */
  static final int ON_ABOVE = 50;

  /** Uses of probes that a cell gathers. */
  static final int BATCH = 32;

  /** Uses after which the window's counts are halved. */
  static final int WINDOW = 1024;

  /** Uses without which nothing is decided. */
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

  /** Uses in the upper half, hits in the lower; a line for each, and one before the first. */
  private final long[] cells = new long[(CELLS + 1) * STRIDE];

  @SuppressWarnings("unused") // through SEEN
  private volatile long seen;

  private volatile boolean on = true;

  /** A policy whose repairs are on. */
  public RepairPolicy() {}

  /**
   * Whether a key's entry is one of the probe: then its uses are to be told.
   *
   * @param hash a good hash of the record's key
   */
  public static boolean probes(long hash) {
    return (hash & PROBE_MASK) == 0;
  }

  /**
   * Whether a wrong hint shall be put right.
   *
   * @param hash a good hash of the record's key
   */
  public boolean repairs(long hash) {
    return on || probes(hash);
  }

  /** Whether repairs are on for all entries. */
  public boolean isOn() {
    return on;
  }

  /**
   * Tells that a hint of the probe was used.
   *
   * @param context a number of the caller: no two threads at a time have the same
   * @param hit whether it was right
   */
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
    // Of two threads that decide at the same time the later may have seen less: the next batch
    // decides again.
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
