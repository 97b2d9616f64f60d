package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.memory.Granules.RefusedException;
import io.fovea.memory.MappingBudget;
import io.fovea.memory.Mem;
import io.fovea.memory.MemoryFiles;
import io.fovea.memory.NativeRegion;
import io.fovea.memory.Threads;
import io.fovea.memory.Waits;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Where keys were seen last: one flat, lossy table for all trees of a database that are declared to
 * be remembered. A point read begins at its place, and waits for memory twice: for the line of this
 * table, and for the lines of the page, all of which are known then. A descent waits at every
 * level.
 *
 * <pre>
 *   2^k sets of one line, 8 ways         set: low bits of the key's hash ({@link KeyHash})
 *
 *   way   63    54  53  52    47 46   38 37        0
 *        | tag 10 |seen| line   | slot  | page id   |     0: none.  tag: high bits of the hash
 *
 *   page of     4 KiB   8 KiB   16 KiB   32 KiB   64 KiB
 *   line        6       7       8        8        8        in which 64th to 256th of the page
 *   slot        9       10      11       12       13
 *   page id     38      36      34       33       32       no place of a page beyond
 * </pre>
 *
 * <p><b>Any way may be anything.</b> What it says goes to {@link HintedLeaf#locate} and nowhere
 * else, which asks the page itself: is it a leaf of this tree, is the key between its fences, and
 * where; all under one version that its caller validates after what was read counts. So
 *
 * <ol>
 *   <li>a way is one aligned long, read and stored as a whole; a store that is lost is a lost hint;
 *   <li>a page id of a way is given to {@code predict}, {@code optimistic} and {@code resident}
 *       only, which take any number; slot and line are clamped;
 *   <li>what is found is the key, in a leaf of that tree (ids of trees are never used twice).
 *       Forbidden: to take the tag for the key; and to answer "absent" from a set without the tag,
 *       or from a slot with another key, without fences under that version;
 *   <li>a table that grows may be read and stored to under either size: a key's set is then the old
 *       one or its copy. A store between the copy and its publication is lost, and that is all;
 *   <li>a page that was evicted, moved, split, merged, freed, or used again by this tree or another
 *       between look and check fails one of: page id in the frame's header, version, tree id,
 *       fences. A page that is not in memory is read by a descent: a place never causes I/O;
 *   <li>after the close the table reads as zeros: no places. After an opening it is empty and fills
 *       by use; nothing of it is in the file.
 * </ol>
 *
 * <p>No version, no epoch, no invalidation, no latch. Keys that are absent have places too: the
 * leaf where they would be, whose fences prove it.
 *
 * <p><b>Growth</b> of a flat table. Memory is reserved for the largest size, so the table never
 * moves. When an eighth of the ways were overwritten with something in them since the last
 * doubling, a thread of its own copies the table behind itself and then publishes the doubled size.
 * Half of the ways belong into the other half then, and a way does not say which. So all lose their
 * mark of being <i>seen</i>, and get it back when a key is looked for there. What a full set learns
 * takes the place of what is not seen, as long as there is that: else a table that has grown would
 * push out what it needs beside what nobody looks for, and knew three keys of five where it has
 * room for all.
 *
 * <p><b>The other directory.</b> The sets may lie in granules that grow one by one, behind a {@link
 * ShortcutDirectory}. Readers do the same arithmetic then, in virtual memory that shows them.
 *
 * <p>Any thread.
 *
 * @since 0.1.0
 */
public final class KeyLocationCache {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /** One line of the processor's cache. */
  static final int SET_SHIFT = 6;

  private static final int WAYS_SHIFT = 3;
  private static final int WAYS = 1 << WAYS_SHIFT;
  private static final int TAG_BITS = 10;
  private static final int TAG_SHIFT = Long.SIZE - TAG_BITS;

  /** Of a way that was learned or looked for since the table has grown. */
  private static final int SEEN_BIT = TAG_SHIFT - 1;

  static final long SEEN = 1L << SEEN_BIT;

  private static final int LINE_BITS_MAX = BTreeNode.LINE_BITS;

  /** The size that a table begins with, in bytes. */
  public static final long BYTES_MIN = 256 << 10;

  /** One in so many ways that are overwritten is counted, for all of them. */
  private static final int SAMPLED = 16;

  /** A table of which one in so many ways was overwritten is too small. */
  private static final int FULL_ONE_IN = 8;

  private static final long STRIPE_BYTES = 256 << 10;

  /** How often granules that are too small are looked for, while there are some: the paper's. */
  private static final long TICK_NANOS = 25_000_000;

  /** The mapper ends when it has found nothing for so many ticks. */
  private static final int IDLE_TICKS = 20;

  /** The memory of a flat table. */
  private final @Nullable NativeRegion region;

  /** The directory of one that is not flat. */
  private final @Nullable ShortcutDirectory shortcut;

  /** What is read. */
  private final MemorySegment table;

  private final int lineShift;
  private final int lineAt;
  private final int slotAt;
  private final long slotMask;
  private final long pidMask;
  private final long setsMax;

  /** How many sets are in use, less one. */
  private volatile long mask;

  private final AtomicLong overwritten = new AtomicLong();
  private final AtomicBoolean growing = new AtomicBoolean();
  private volatile boolean closed;
  private volatile @Nullable Thread grower;

  /**
   * Makes an empty table.
   *
   * @param maxBytes to which size it may grow; rounded down to a power of two, at least {@link
   *     #BYTES_MIN}. Address space until it is needed
   * @param pageSize of the pages, in bytes: 4 KiB to 64 KiB
   * @throws OutOfMemoryError where there is not that much address space
   */
  public KeyLocationCache(long maxBytes, int pageSize) {
    this(Long.highestOneBit(Math.max(BYTES_MIN, maxBytes)), pageSize, null);
  }

  /**
   * Makes an empty table behind a shortcut.
   *
   * @param name of the database, for the log
   * @param maxBytes to which size it may grow; at least {@link #BYTES_MIN}, and at most 64 GiB.
   *     Address space, eight times of it twice, until it is needed
   * @param pageSize of the pages, in bytes: 4 KiB to 64 KiB
   * @param files the calls of the kernel
   * @param budget the mappings that it may use, with others
   * @return the table
   * @throws RefusedException if the kernel does not allow it
   * @throws OutOfMemoryError where there is not that much address space
   */
  public static KeyLocationCache shortcut(
      String name, long maxBytes, int pageSize, MemoryFiles files, MappingBudget budget)
      throws RefusedException {
    ShortcutDirectory directory =
        new ShortcutDirectory(name, Math.max(BYTES_MIN, maxBytes), files, budget);
    return new KeyLocationCache(directory.maxBytes(), pageSize, directory);
  }

  private KeyLocationCache(long bytes, int pageSize, @Nullable ShortcutDirectory shortcut) {
    int pageShift = Integer.numberOfTrailingZeros(pageSize);
    int lineBits = Math.min(LINE_BITS_MAX, pageShift - 6);
    int slotBits = pageShift - 3;
    this.lineShift = LINE_BITS_MAX - lineBits;
    this.lineAt = SEEN_BIT - lineBits;
    this.slotAt = lineAt - slotBits;
    this.slotMask = (1L << slotBits) - 1;
    this.pidMask = (1L << slotAt) - 1;
    this.setsMax = bytes >>> SET_SHIFT;
    this.mask = (BYTES_MIN >>> SET_SHIFT) - 1;
    this.shortcut = shortcut;
    if (shortcut == null) {
      NativeRegion reserved = NativeRegion.reserve(bytes, true, "table of places");
      this.region = reserved;
      this.table = reserved.segment();
    } else {
      this.region = null;
      this.table = shortcut.area();
    }
  }

  /**
   * Looks for a key, beginning where it was seen last: at its place, else from the root.
   *
   * @param tree the key's tree
   * @param hash {@link KeyHash} of the key
   * @param key native memory with the key
   * @param off its offset
   * @param len its length
   * @param p out: as {@link BTree#find}
   * @param bytes how long the record is, about
   * @return whether its place was known and right; if not, {@link #learn} is worth calling when
   *     what was found is valid
   */
  public boolean find(
      BTree tree, long hash, MemorySegment key, long off, int len, Position p, int bytes) {
    point(hash, p);
    int known = arrive(tree, key, off, len, p, bytes);
    if (known < 0) {
      tree.find(key, off, len, p);
    }
    return known > 0;
  }

  /**
   * Puts what is remembered of a key into a position; false, and nothing in it, if that is nothing.
   */
  private boolean point(long hash, Position p) {
    long way = look(hash);
    if (way == 0) {
      p.clear();
      return false;
    }
    p.frame = -1;
    p.version = BufferPool.RESTART;
    p.pid = way & pidMask;
    p.slot = (int) (way >>> slotAt & slotMask);
    p.found = true;
    p.line = (int) ((way & SEEN - 1) >>> lineAt) << lineShift;
    return true;
  }

  /**
   * A place as a hint for {@link BTree#locate}.
   *
   * @param tree the key's tree
   * @param hash {@link KeyHash} of the key
   * @param p out: the page, in the frame where it is expected; cleared where nothing is known
   */
  public void guess(BTree tree, long hash, Position p) {
    if (point(hash, p)) {
      p.frame = tree.pool().predict(p.pid);
    }
  }

  /** The way with the key's tag; 0 for none. */
  private long look(long hash) {
    long at = (hash & mask) << SET_SHIFT;
    for (int i = 0; i < WAYS; i++) {
      long way = Mem.peekLongOpaque(table, at + ((long) i * Long.BYTES));
      if ((way ^ hash) >>> TAG_SHIFT == 0 && way != 0) {
        if ((way & SEEN) == 0) {
          Mem.putLongOpaque(table, at + ((long) i * Long.BYTES), way | SEEN);
        }
        return way;
      }
    }
    return 0;
  }

  /**
   * Remembers where a key was found, or would be. A page that is not in its preferred frame, where
   * the next lookup begins, gets its chance to go there: a position in it may have to be looked for
   * again then.
   *
   * @param tree the key's tree
   * @param hash {@link KeyHash} of the key
   * @param p where: as a search or a change of the tree left it. Nothing has to hold any more
   */
  public void learn(BTree tree, long hash, Position p) {
    if (learnHere(tree, hash, p)) {
      tree.pool().maybePromote(p.pid, p.frame);
    }
  }

  /**
   * The same, and no page is moved.
   *
   * @return whether it was a place that can be remembered
   */
  public boolean learnHere(BTree tree, long hash, Position p) {
    long pid = p.pid;
    if (p.frame < 0 || (pid & ~pidMask) != 0 || pid == 0) {
      return false;
    }
    long line = HintedLeaf.line(tree, p) >>> lineShift;
    long tag = hash >>> TAG_SHIFT << TAG_SHIFT;
    long way = tag | SEEN | line << lineAt | (p.slot & slotMask) << slotAt | pid;
    long set = (hash & mask) << SET_SHIFT;
    MemorySegment sets = table;
    if (shortcut != null) {
      set = shortcut.home(set);
      sets = shortcut.view();
    }
    int into = -1;
    int unseen = -1;
    for (int i = 0; i < WAYS; i++) {
      long there = Mem.peekLongOpaque(sets, set + ((long) i * Long.BYTES));
      if (there == 0) {
        into = into < 0 ? i : into;
      } else if ((there ^ hash) >>> TAG_SHIFT == 0) {
        into = i;
        break;
      } else if ((there & SEEN) == 0) {
        unseen = i;
      }
    }
    if (into < 0 && unseen >= 0) {
      into = unseen;
      lose(hash, set);
    } else if (into < 0) {
      // Another one each time: two keys that always took the same way would push each other out
      // for ever, beside ways that nobody looks for any more.
      into = (int) ((hash ^ p.remembered) * 0x9E37_79B9_7F4A_7C15L >>> -WAYS_SHIFT);
      lose(hash, set);
    }
    Mem.putLongOpaque(sets, set + ((long) into * Long.BYTES), way);
    return true;
  }

  // ---------------------------------------------------------------------------------- many keys

  /** Begins to load the set of a key. */
  long touch(long hash) {
    return Mem.peekLong(table, (hash & mask) << SET_SHIFT);
  }

  /**
   * Begins to load what {@link #arrive} will look at.
   *
   * @param p out: what is remembered of the key, unchecked; its page id is 0 where that is nothing
   * @return something of what was loaded
   */
  long approach(BTree tree, long hash, Position p) {
    if (!point(hash, p)) {
      return 0;
    }
    BufferPool pool = tree.pool();
    int frame = pool.predict(p.pid);
    if (frame < 0 || frame >= pool.frames()) {
      return 0;
    }
    long pid = pool.pid(frame);
    if (pid == 0) {
      return 0; // as Lookahead has it of pages without memory
    }
    MemorySegment s = pool.pages();
    long base = pool.base(frame);
    return pid
        + Mem.peekLong(s, base)
        + Mem.peekLong(s, base + BTreeNode.LEAF_SLOTS + (long) p.slot * Long.BYTES)
        + Mem.peekLong(s, base + ((long) p.line << pool.pageShift() - LINE_BITS_MAX))
        + Mem.peekLong(s, base + pool.pageSize() - Long.BYTES);
  }

  /**
   * Looks at the place of a key, where {@link #approach} may have loaded.
   *
   * @param p in: what is remembered, unchecked; out: as {@link BTree#find} where the answer is not
   *     negative
   * @return 1 where all of the place was right, 0 where the page was; -1 where the key is to be
   *     looked for from the root
   */
  int arrive(BTree tree, MemorySegment key, long off, int len, Position p, int bytes) {
    p.remembered++;
    if (p.pid == 0) {
      return -1;
    }
    int line = p.line >>> lineShift;
    int stale = HintedLeaf.locate(tree, key, off, len, p, bytes);
    // A way says less of the line than a position does.
    if (stale == 0 || stale == HintedLeaf.LINE && p.line >>> lineShift == line) {
      p.rememberedRight++;
      return 1;
    }
    return (stale & HintedLeaf.NO_PAGE) == 0 ? 0 : -1;
  }

  // ------------------------------------------------------------------------------------- growth

  /** A way was overwritten that had something in it. */
  private void lose(long hash, long set) {
    // Bits that neither the set nor the tag is made of, as long as the table is small.
    if ((hash >>> 44 & SAMPLED - 1) == 0
        && (shortcut == null ? isFull() : shortcut.lose(set, SAMPLED))
        && !closed
        && growing.compareAndSet(false, true)) {
      grow();
    }
  }

  /** Counts so many ways more, and says whether a flat table is too small. */
  private boolean isFull() {
    return overwritten.addAndGet(SAMPLED) > (mask + 1) * WAYS / FULL_ONE_IN && mask + 1 < setsMax;
  }

  private void grow() {
    boolean begun = false;
    try {
      Runnable work = shortcut == null ? this::copy : this::map;
      // Known before it begins: it may end, and the next one be noted, before this goes on.
      Thread thread = Threads.unstarted("fovea-places", work);
      grower = thread;
      thread.start();
      begun = true;
    } catch (OutOfMemoryError none) {
      // No thread to be had: the table stays as it is until so much was overwritten once more.
      LOG.log(Level.DEBUG, () -> "The table of places could not grow", none);
    } finally {
      if (!begun) {
        overwritten.set(0);
        growing.set(false);
      }
    }
  }

  /** The table behind itself. */
  private void copy() {
    try {
      long bytes = mask + 1 << SET_SHIFT;
      for (long at = 0; at < bytes && !closed; at += STRIPE_BYTES) {
        copyUnseen(table, at, bytes + at, Math.min(STRIPE_BYTES, bytes - at));
      }
      if (!closed) {
        mask = 2 * mask + 1;
      }
    } finally {
      overwritten.set(0);
      growing.set(false);
    }
  }

  /**
   * Copies ways, and takes their mark from both. A way that is learned meanwhile may be lost.
   *
   * @param from where they are
   * @param to where they go
   * @param bytes how many bytes of them
   */
  static void copyUnseen(MemorySegment s, long from, long to, long bytes) {
    for (long at = 0; at < bytes; at += Long.BYTES) {
      long way = Mem.getLongOpaque(s, from + at) & ~SEEN;
      Mem.putLongOpaque(s, from + at, way);
      Mem.putLongOpaque(s, to + at, way);
    }
  }

  /** Splits granules and lets slots show them, as long as there is something to do. */
  private void map() {
    ShortcutDirectory directory = Objects.requireNonNull(shortcut);
    try {
      for (int idle = 0; idle < IDLE_TICKS && !closed; ) {
        if (directory.tick()) {
          // After the mappings: a reader that takes it finds them.
          mask = directory.mask();
          idle = 0;
        } else {
          idle++;
        }
        LockSupport.parkNanos(TICK_NANOS);
      }
    } finally {
      growing.set(false);
    }
  }

  /**
   * The memory that the table has.
   *
   * @return bytes
   */
  public long bytes() {
    if (closed) {
      return 0;
    }
    return shortcut == null ? mask + 1 << SET_SHIFT : shortcut.bytes();
  }

  /**
   * The memory that the table may have.
   *
   * @return bytes
   */
  public long maxBytes() {
    return setsMax << SET_SHIFT;
  }

  /** For tests: what there is, to be overwritten with anything. */
  MemorySegment memory() {
    return table.asSlice(0, mask + 1 << SET_SHIFT);
  }

  /** Whether it is growing just now. */
  boolean isGrowing() {
    return growing.get();
  }

  /** Gives the memory back. Who comes late finds no places. */
  public void close() {
    closed = true;
    Thread thread = grower;
    if (thread != null) {
      LockSupport.unpark(thread);
    }
    Waits.join(thread);
    if (shortcut != null) {
      shortcut.close();
    } else if (region != null) {
      region.release();
    }
  }

  /** Whether a shortcut is its directory. */
  boolean isShortcut() {
    return shortcut != null;
  }
}
