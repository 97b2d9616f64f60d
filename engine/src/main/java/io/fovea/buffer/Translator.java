package io.fovea.buffer;

import io.fovea.config.Translation;
import io.fovea.memory.Hash;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import org.jspecify.annotations.Nullable;

/**
 * Maps page ids to frames: the code common to all translations, and the switch between them.
 *
 * <pre>
 *   predict(pid)     hot; no latch (but LATCHED); a legal frame, perhaps the wrong one
 *   lookup(pid)      cold; no latch; a frame whose header said pid, or -1
 *   lock(bucket) ... find, insert, remove ... unlock(bucket)     exact
 * </pre>
 *
 * <p><b>Rules.</b>
 *
 * <ol>
 *   <li>A page is in at most one frame, and the header of that frame says so. The page id of a
 *       header changes only while the frame is latched exclusively <i>and</i> the bucket of the
 *       page (the old or the new one) is latched. So under the bucket's latch "not resident" is
 *       certain. A frame that receives a page gets a version that it never had.
 *   <li>An entry is a hint, checked against the header and validated by the header's version. So
 *       readers of entries need neither latch nor version: at worst they find nothing, or a frame
 *       with another page.
 *   <li>A frame that is latched and whose header says pid may be receiving the page: other threads
 *       wait for that read instead of reading the page again.
 *   <li>Bucket latches are taken last and held for about ten instructions. Their holders wait for
 *       nothing except, when a page moves, a second bucket of a higher number.
 * </ol>
 *
 * <p>Kinds differ only in speed, so that each can be measured against the next: the ladder of
 * section 6.4 of "Predictive Translation: High-Performance Buffer Management Without the
 * Trade-Offs" (Zinsmeister, Nguyen, Leis, Neumann; SIGMOD 2026).
 *
 * <pre>
 *                       first check            dependent misses of a hit        memory/frame
 *   LATCHED             table, shared latch    bucket, header, page              16 bytes
 *   OPTIMISTIC_CHAINED  table                  bucket, header, page              16
 *   OPTIMISTIC          table                  bucket, page                      32
 *   PREDICTIVE_HASHED   table and prediction   page (bucket adjacent)           32
 *   PREDICTIVE          prediction             page                               0
 *   SWIZZLED            parent, then table     page                              16
 *   VIRTUAL             none                   page, and the MMU's page table     72 a page of the file
 *   DIRECT              none                   page                              76 a page of the file
 * </pre>
 *
 * <p>The kind is final, and each method dispatches to the static method of its kind through one
 * predicted comparison. A JVM with one kind of database never compiles the other cases.
 */
final class Translator {
  static final int PREDICTIVE = Translation.PREDICTIVE.ordinal();
  static final int PREDICTIVE_HASHED = Translation.PREDICTIVE_HASHED.ordinal();
  static final int OPTIMISTIC = Translation.OPTIMISTIC.ordinal();
  static final int OPTIMISTIC_CHAINED = Translation.OPTIMISTIC_CHAINED.ordinal();
  static final int LATCHED = Translation.LATCHED.ordinal();

  /**
   * The limit for walking a chain without a latch, because such a walk may go in circles; chains
   * usually have one link or two.
   */
  static final int STEPS_MAX = 64;

  /**
   * For walks under the bucket's latch: to the end of the chain, so that "not resident" is certain.
   */
  static final int EXACT = Integer.MAX_VALUE;

  final int kind;
  final int frames;
  final MemorySegment headers;

  /** The buckets; the headers themselves if the translation has no table. */
  final MemorySegment table;

  final int buckets;

  /** Whether the frame of a page is its page id. */
  final boolean own;

  final boolean stays;

  private final long magic;

  private final int magicShift;

  interface Promotion {
    int maybePromote(long pid, int frame, int preferred);
  }

  /** Set by {@link #wire}; only PREDICTIVE_HASHED promotes in {@link #predict}. */
  private @Nullable Promotion promoter;

  Translator(Translation translation, int frames, MemorySegment headers, MemorySegment table) {
    this.kind = translation.ordinal();
    this.frames = frames;
    this.headers = headers;
    this.table = table;
    this.own = isOwn(translation);
    this.stays = translation == Translation.DIRECT;
    this.buckets = kind == PREDICTIVE || own ? frames : buckets(frames);
    this.magicShift = 63 - Long.numberOfLeadingZeros(frames) - 2;
    this.magic = magic(frames);
  }

  void wire(Promotion promoter) {
    this.promoter = promoter;
  }

  /** May promote a page that was found outside its preferred frame; returns its frame. */
  int maybePromote(long pid, int frame, int preferred) {
    Promotion m = promoter;
    return m == null ? frame : m.maybePromote(pid, frame, preferred);
  }

  /** Returns whether the frame number of each page is its page id. */
  static boolean isOwn(Translation translation) {
    return translation == Translation.VIRTUAL || translation == Translation.DIRECT;
  }

  /** Two buckets per frame, as in the paper: half of them stay empty. */
  static int buckets(int frames) {
    return 2 * frames;
  }

  static int bucketBytes(Translation translation) {
    return switch (translation) {
      case PREDICTIVE, VIRTUAL, DIRECT -> 0;
      case PREDICTIVE_HASHED, OPTIMISTIC -> OptimisticTranslation.BUCKET_BYTES;
      case OPTIMISTIC_CHAINED, SWIZZLED, LATCHED -> ChainedTranslation.BUCKET_BYTES;
    };
  }

  /**
   * M = floor(2^(62+k) / d) + 1 with 2^k &lt;= d &lt; 2^(k+1): then floor(p / d) = p * M /
   * 2^(62+k), rounded down, for all p below 2^61 (Granlund and Montgomery 1994: the error of M is
   * below one, so the product is off by less than p / 2^(62+k) &lt; 1/d). M fits 63 bits, so the
   * signed high half is sufficient.
   */
  private static long magic(int d) {
    int k = 63 - Long.numberOfLeadingZeros(d);
    return BigInteger.ONE
        .shiftLeft(62 + k)
        .divide(BigInteger.valueOf(d))
        .add(BigInteger.ONE)
        .longValueExact();
  }

  /** pid modulo frames by two multiplications; legal for any argument, even a torn one. */
  int remainder(long pid) {
    long p = pid & PageRef.PID_MASK;
    return (int) (p - (Math.multiplyHigh(p, magic) >>> magicShift) * frames);
  }

  /** pid divided by frames: distinguishes the pages with the same preferred frame. */
  int tag(long pid) {
    return (int) (Math.multiplyHigh(pid & PageRef.PID_MASK, magic) >>> magicShift);
  }

  /** Returns a number below n from the high half of a hash, without a division. */
  static int scale(long hash, int n) {
    return (int) ((hash >>> 32) * n >>> 32);
  }

  int predict(long pid) {
    return kind == PREDICTIVE ? remainder(pid) : predictByTable(pid);
  }

  private int predictByTable(long pid) {
    if (own) {
      return VirtualTranslation.frame(this, pid);
    }
    if (kind == PREDICTIVE_HASHED) {
      return HashedTranslation.predict(this, pid);
    }
    if (kind == OPTIMISTIC) {
      return OptimisticTranslation.predict(this, pid);
    }
    return kind == LATCHED
        ? LatchedTranslation.predict(this, pid)
        : ChainedTranslation.predict(this, pid);
  }

  /** Returns the preferred frame of the page, or -1 if the translation has no preferred frames. */
  int preferred(long pid) {
    if (kind == PREDICTIVE) {
      return remainder(pid);
    }
    return kind == PREDICTIVE_HASHED ? HashedTranslation.preferred(this, Hash.spread(pid)) : -1;
  }

  int bucket(long pid) {
    if (kind == PREDICTIVE) {
      return remainder(pid);
    }
    return own ? VirtualTranslation.frame(this, pid) : scale(Hash.spread(pid), buckets);
  }

  int lookup(long pid) {
    if (kind == PREDICTIVE) {
      return PredictiveTranslation.find(this, remainder(pid), pid, STEPS_MAX);
    }
    if (own) {
      return VirtualTranslation.find(this, pid);
    }
    if (kind == PREDICTIVE_HASHED || kind == OPTIMISTIC) {
      return OptimisticTranslation.find(this, bucket(pid), pid, STEPS_MAX);
    }
    return kind == LATCHED
        ? LatchedTranslation.lookup(this, pid)
        : ChainedTranslation.find(this, bucket(pid), pid, STEPS_MAX);
  }

  /** Latches the bucket and searches for the page: -1 means that it is in no frame. */
  int locate(long pid) {
    int bucket = bucket(pid);
    lock(bucket);
    try {
      return find(bucket, pid);
    } finally {
      unlock(bucket);
    }
  }

  /** Searches for the page under its bucket's latch: -1 means that it is in no frame. */
  int find(int bucket, long pid) {
    if (kind == PREDICTIVE) {
      return PredictiveTranslation.find(this, bucket, pid, EXACT);
    }
    if (own) {
      return VirtualTranslation.find(this, pid);
    }
    return kind == PREDICTIVE_HASHED || kind == OPTIMISTIC
        ? OptimisticTranslation.find(this, bucket, pid, EXACT)
        : ChainedTranslation.find(this, bucket, pid, EXACT);
  }

  /**
   * Enters the page and names it in the frame's header; the bucket and the frame are latched.
   *
   * <p>The frame's version advances here, and not only at the release, because the holder may
   * release the latch unchanged. Excluded: (1) A scan copies page q of a frame with version v. q,
   * clean and cold, is evicted for the head of the free list, which its reader does not take, and
   * releases unchanged. q is loaded elsewhere and changed, and the frame validates v. (2) A reader
   * takes the version of the empty frame, reads half of the page that arrives, and validates.
   */
  void insert(int bucket, long pid, int frame) {
    Latch.advance(headers, frame);
    FrameHeader.setPid(headers, frame, pid);
    if (kind == PREDICTIVE) {
      PredictiveTranslation.insert(this, bucket, pid, frame);
    } else if (kind == PREDICTIVE_HASHED || kind == OPTIMISTIC) {
      OptimisticTranslation.insert(this, bucket, pid, frame);
    } else if (!own) {
      ChainedTranslation.insert(this, bucket, frame);
    }
  }

  /** Removes the page and empties the frame's header; the bucket and the frame are latched. */
  void remove(int bucket, long pid, int frame) {
    if (kind == PREDICTIVE) {
      PredictiveTranslation.remove(this, bucket, frame);
    } else if (kind == PREDICTIVE_HASHED || kind == OPTIMISTIC) {
      OptimisticTranslation.remove(this, bucket, frame);
    } else if (!own) {
      ChainedTranslation.remove(this, bucket, frame);
    }
    FrameHeader.setPid(headers, frame, 0);
  }

  /** Latches a bucket, which must be held for only a few instructions. */
  void lock(int bucket) {
    long at = latchAt(bucket);
    int round = 0;
    while (!Mem.casInt(table, at, 0, -1)) {
      // Never sleeps: holders are quick, though they may be descheduled.
      round = Math.min(Backoff.pause(round), Backoff.PARK_FROM - 1);
    }
  }

  void unlock(int bucket) {
    // Release, partner of the CAS in lock: a thread that finds the latch free finds the bucket
    // complete.
    Mem.putIntRelease(table, latchAt(bucket), 0);
  }

  void lockBoth(int a, int b) {
    int first = Math.min(a, b);
    int second = Math.max(a, b);
    lock(first);
    if (a != b) {
      boolean both = false;
      try {
        lock(second);
        both = true;
      } finally {
        if (!both) {
          unlock(first);
        }
      }
    }
  }

  void unlockBoth(int a, int b) {
    unlock(a);
    if (a != b) {
      unlock(b);
    }
  }

  long latchAt(int bucket) {
    if (kind == PREDICTIVE || own) {
      return FrameHeader.at(bucket) + FrameHeader.BUCKET_LATCH;
    }
    return kind == PREDICTIVE_HASHED || kind == OPTIMISTIC
        ? OptimisticTranslation.at(bucket) + OptimisticTranslation.LATCH
        : ChainedTranslation.at(bucket) + ChainedTranslation.LATCH;
  }

  // ----------------------------------------------- chains through the header lines of the frames

  /**
   * Follows a chain.
   *
   * @param link the first frame + 1, 0 for an empty chain
   * @param pid the page
   * @param steps the maximum number of links
   * @return the frame whose header says pid, or -1
   */
  int walk(int link, long pid, int steps) {
    for (; link != 0 && steps > 0; steps--) {
      int frame = link - 1;
      if (FrameHeader.pid(headers, frame) == pid) {
        return frame;
      }
      link = FrameHeader.next(headers, frame);
    }
    return -1;
  }

  /** Adds a frame to the front of the chain whose head is at an offset of the table. */
  void push(long head, int frame) {
    FrameHeader.setNext(headers, frame, Mem.getIntOpaque(table, head));
    Mem.putIntRelease(table, head, frame + 1);
  }

  /** Removes a frame from the chain whose head is at an offset of the table. */
  void unlink(long head, int frame) {
    int link = Mem.getIntOpaque(table, head);
    if (link == frame + 1) {
      Mem.putIntOpaque(table, head, FrameHeader.next(headers, frame));
      return;
    }
    while (link != 0) {
      int before = link - 1;
      link = FrameHeader.next(headers, before);
      if (link == frame + 1) {
        FrameHeader.setNext(headers, before, FrameHeader.next(headers, frame));
        return;
      }
    }
    throw new AssertionError("frame " + frame + " is not in the chain of its page");
  }
}
