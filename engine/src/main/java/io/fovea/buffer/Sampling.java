package io.fovea.buffer;

import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Visits random frames, and evicts, among the pages not used recently, the one with the lowest
 * credit for uses, weighted by recency.
 *
 * <pre>
 *   statistics of a frame, 8 bytes:  | credit, 32 | time, 32 |      0: not visited yet
 *
 *   visit of a frame:    first visit to this page  credit := a sixteenth      probation
 *                        used                      credit := decayed + 1      usage byte cleared
 *                        not used                  a candidate: decayed credit is its score
 *   decayed:             halved for each {@value #HALF_VISITS} visits that a frame gets on average
 *   time:                total visits per frame: {@value #TICKS} ticks for one visit to every frame
 * </pre>
 *
 * <p>Readers only record whether a page was used since the last visit. There are {@value #SAMPLES}
 * visits per evicted page, so that a page used often gets one unit of credit for every sixteenth of
 * the pool that leaves. A page no longer used loses half of its credit in the time that half of the
 * pool takes to leave.
 *
 * <p><b>Probation.</b> At the first visit the usage byte of a new page only reflects its load, and
 * earns little credit: pages that a scan reads once leave before those used in two intervals, until
 * the credit of the latter has been halved four times.
 *
 * <p><b>Progress.</b> Random visits can miss the only evictable frame for any length of time. After
 * {@value #ATTEMPTS} failed steps the search continues with a clock over all frames.
 *
 * <p><b>Races</b> are harmless, see {@link ReplacementPolicy}: a statistics word is one opaque
 * long, so it is never torn; of two concurrent visits one may be lost.
 *
 * <p>Sources: the credit is the CRF of LRFU (D. Lee et al., "LRFU: A Spectrum of Policies that
 * Subsumes the LRU and LFU Policies", IEEE Trans. Computers 2001). Sampling with statistics in the
 * frame's header: A. Blankstein et al., "Hyperbolic Caching", USENIX ATC 2017; D. Vöhringer and V.
 * Leis, "Write-Aware Timestamp Tracking", PVLDB 2023. For their scores see
 * docs/internals/buffer-pool.md, "Alternatives considered".
 */
final class Sampling implements ReplacementPolicy {
  static final int BYTES = 8;

  static final int SAMPLES = 16;
  static final int TICKS = 16;
  static final int HALF_VISITS = 8;

  static final int ATTEMPTS = 16;

  private static final int HALF_TICKS = HALF_VISITS * TICKS;
  private static final int HALF_SHIFT = Integer.numberOfTrailingZeros(HALF_TICKS);

  /** One use, in fixed point with 16 fractional bits. Decay keeps the sum below 2^7 uses. */
  private static final int USE = 1 << 16;

  private static final int PROBATION = USE / 16;
  private static final int CREDIT_MAX = Integer.MAX_VALUE - USE;

  private final MemorySegment headers;
  private final MemorySegment statistics;
  private final Residency residency;
  private final int maxResidents;
  private final SecondChance clock;

  /** The number of random steps so far: the source of time and of random numbers. */
  private final AtomicLong steps = new AtomicLong();

  /** The average score of recently proposed pages; a racy hint. */
  private volatile int recentScore;

  Sampling(MemorySegment headers, MemorySegment statistics, Residency residency) {
    this.headers = headers;
    this.statistics = statistics;
    this.residency = residency;
    this.maxResidents = residency.maxResidents();
    this.clock = new SecondChance(headers, residency);
  }

  @Override
  public int propose(int attempt, boolean again) {
    if (attempt >= ATTEMPTS) {
      return clock.propose(attempt, again);
    }
    long step = steps.incrementAndGet();
    int now = time(step);
    int best = -1;
    int min = Integer.MAX_VALUE;
    for (int i = 0; i < SAMPLES; i++) {
      int frame = residency.resident(random(step * SAMPLES + i));
      if (frame < 0) {
        continue;
      }
      int credit = again && canLeave(frame) ? 0 : visit(frame, now);
      if (credit < min) {
        best = frame;
        min = credit;
      }
    }
    if (best >= 0) {
      int old = recentScore;
      recentScore = old + (min - old >> 4);
    }
    return best;
  }

  private boolean canLeave(int frame) {
    return FrameHeader.isEvictionCandidate(headers, frame)
        && !FrameHeader.isDirty(headers, frame)
        && !FrameHeader.isWriting(headers, frame);
  }

  /** Ages a frame; returns the score of its page, or the maximum if it must not leave. */
  private int visit(int frame, int now) {
    if (FrameHeader.pid(headers, frame) == 0
        || FrameHeader.isEvictionCandidate(headers, frame)
        || FrameHeader.isWriting(headers, frame)) {
      return Integer.MAX_VALUE;
    }
    long word = word(frame);
    boolean used = FrameHeader.isUsed(headers, frame);
    if (word == 0) {
      setWord(frame, PROBATION, now);
    } else if (used) {
      setWord(frame, Math.min(decayed(word, now), CREDIT_MAX) + USE, now);
    } else {
      return decayed(word, now);
    }
    if (used) {
      FrameHeader.setUsed(headers, frame, false);
    }
    return Integer.MAX_VALUE;
  }

  /** A page whose usage byte was just cleared by a visit is not cold. */
  @Override
  public boolean mayBeDisplaced(int frame) {
    if (FrameHeader.isEvictionCandidate(headers, frame)) {
      return true;
    }
    long word = word(frame);
    return word != 0 && decayed(word, time(steps.get())) <= recentScore;
  }

  @Override
  public void left(int frame) {
    Mem.putLongOpaque(statistics, at(frame), 0);
  }

  @Override
  public void swapped(int a, int b) {
    long word = word(a);
    Mem.putLongOpaque(statistics, at(a), word(b));
    Mem.putLongOpaque(statistics, at(b), word);
  }

  /**
   * The time: {@value #TICKS} ticks for a visit to each frame; wraps around after 2^28 such rounds.
   */
  private int time(long step) {
    return (int) (step * SAMPLES * TICKS / maxResidents);
  }

  /** The finalizer of splitmix64: an order of frames that is the same in each run. */
  private int random(long n) {
    long z = n * 0x9E37_79B9_7F4A_7C15L;
    z = (z ^ z >>> 30) * 0xBF58_476D_1CE4_E5B9L;
    z = (z ^ z >>> 27) * 0x94D0_49BB_1331_11EBL;
    z ^= z >>> 31;
    return (int) ((z >>> 32) * maxResidents >>> 32);
  }

  private long at(int frame) {
    return (long) residency.indexOf(frame) * BYTES;
  }

  private long word(int frame) {
    return Mem.getLongOpaque(statistics, at(frame));
  }

  private void setWord(int frame, int credit, int time) {
    Mem.putLongOpaque(statistics, at(frame), (long) credit << 32 | Integer.toUnsignedLong(time));
  }

  /**
   * The credit now: halved for each half-life, and linear between two halvings, which is within 6 %
   * of the curve.
   */
  static int decayed(long word, int now) {
    int age = Math.max(0, now - (int) word);
    int credit = (int) (word >>> 32) >>> Math.min(31, age >>> HALF_SHIFT);
    int rest = age & HALF_TICKS - 1;
    return credit - (int) ((long) credit * rest >>> HALF_SHIFT + 1);
  }
}
