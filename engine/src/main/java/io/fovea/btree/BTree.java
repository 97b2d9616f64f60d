package io.fovea.btree;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.LeafHints;
import io.fovea.buffer.PageHeader;
import io.fovea.buffer.PageRef;
import io.fovea.error.CorruptionException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * An ordered map of byte strings in pages of the buffer pool.
 *
 * <pre>
 *                 root (page id fixed for ever)
 *                /            |            \
 *          inner            inner           inner         fences: (low, high] of each node,
 *         /  |  \          /  |  \         /  |  \        the node's keys lie within
 *      leaf leaf leaf    ...
 *       &lt;--&gt;  &lt;--&gt;            siblings know each other by hints
 * </pre>
 *
 * <h2>Reading: optimistic lock coupling</h2>
 *
 * <pre>
 *   frame   := guess(root);  version := optimistic(frame, root)
 *   loop    search the node; child := page id beside the separator
 *           childFrame := guessChild(child);  childVersion := optimistic(childFrame, child)
 *           if that fails, or the hint was wrong: validate(frame, version), findChild, again
 *           validate(frame, version), else restart
 *           frame, version := childFrame, childVersion
 * </pre>
 *
 * <ol>
 *   <li>The parent is validated <i>after</i> the child's version was read: at that moment the
 *       parent still named this child, so the version is of the child that belongs to the key.
 *       Without the second half of the sentence: read the child's id, the child is split, read the
 *       child's version, search in the wrong half.
 *   <li>A child id that was not validated goes to {@code guessChild} and {@code optimistic} only,
 *       which take any number; before anything slower the parent is validated.
 *   <li>A restart is a return value. After {@value #RESTARTS} of them the descent latches, shared,
 *       one page at a time; fences, tree id and level take the place of the parent's version. Then
 *       it can only be undone by changes of structure, each of which is the progress of another
 *       thread.
 *   <li>An {@link IndexOutOfBoundsException} is caught around the descent. The version tells
 *       whether the page was torn (restart) or is damaged ({@link CorruptionException}).
 *   <li>Frame, page id and version are locals, the accessors static, nothing is allocated.
 *   <li>The descent and the two searches are each of more than 325 bytecodes, which the JVM never
 *       inlines. That is wanted: every access to memory inlines some fifteen methods of the JDK,
 *       and a compilation has a budget for that, so that three calls a level cost less than what
 *       would not be inlined behind the end of it (measured: 127 ns to 111 ns a descent of three
 *       levels).
 * </ol>
 *
 * <p>Optimistic lock coupling: Leis, Haubenschild, Neumann, IEEE Data Eng. Bull. 42(1), 2019.
 *
 * <h2>Contract</h2>
 *
 * <p>All keys and values that are passed are in native memory. What a read returns holds only if
 * {@link #valid} says so afterwards. Writers latch inside, and one key is never written by two
 * threads at once: the caller sees to that.
 *
 * @since 0.1.0
 */
public final class BTree {
  /** The longest value. */
  public static final long VALUE_BYTES_MAX = 64L << 20;

  private static final long RESTART = BufferPool.RESTART;

  /** Restarts before a descent latches. */
  private static final int RESTARTS = 32;

  /** Latched descents that may end at the wrong node: some seconds' worth. */
  private static final int LATCHED_MAX = 50_000;

  /** No tree is as high as this: 2 children a node would address more pages than there are ids. */
  private static final int DEPTH_MAX = 64;

  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageShift;
  private final int pageSize;
  private final int treeId;
  private final long rootPid;
  private final TreeScratch.Stock scratches;
  private final LeafWriter writer;
  private final TreeShaper shaper;

  private final Queue<OverflowChain.Stray> strays = new ConcurrentLinkedQueue<>();

  /** See {@link #mayHoldLong}. Set before the first chain is written, never cleared by a write. */
  private volatile boolean mayHoldLong;

  /** Where the root was seen last: a guess, checked like any other, where frames are remembered. */
  private int rootFrame;

  private final boolean hinted;

  private BTree(BufferPool pool, int treeId, long rootPid, boolean mayHoldLong) {
    this.mayHoldLong = mayHoldLong;
    this.pool = pool;
    this.pages = pool.pages();
    this.pageShift = pool.pageShift();
    this.pageSize = pool.pageSize();
    this.treeId = treeId;
    this.rootPid = rootPid;
    this.rootFrame = pool.guess(rootPid);
    this.hinted = pool.hinted();
    this.scratches = new TreeScratch.Stock(pageSize, pool.memory());
    this.shaper = new TreeShaper(this);
    this.writer = new LeafWriter(this, shaper);
  }

  /**
   * Makes an empty tree. With a log that is a CREATE_TREE record: the tree belongs to nobody until
   * the record of a change of the schema names it, and what a crash leaves of it before is dropped.
   *
   * @param pool where its pages will be
   * @param treeId the number that its pages carry; never used by another tree of the file
   * @param log a session that has begun
   * @return the tree
   */
  public static BTree create(BufferPool pool, int treeId, LogSession log) {
    return create(pool, treeId, false, log);
  }

  /**
   * Makes an empty tree, as {@link #create(BufferPool, int, LogSession)}.
   *
   * @param pool where its pages will be
   * @param treeId the number that its pages carry; never used by another tree of the file
   * @param endInFrames whether values end with the number of a frame, which is taken out of what is
   *     written: see {@link LeafHints}. All its leaves say so from then on
   * @param log a session that has begun
   * @return the tree
   */
  public static BTree create(BufferPool pool, int treeId, boolean endInFrames, LogSession log) {
    log.grant(rootSpace(pool));
    return initRoot(pool, treeId, 0, endInFrames, log);
  }

  /**
   * Makes an empty tree whose root is a page that exists already and belongs to nobody: the
   * catalog.
   *
   * @param pool where its pages will be
   * @param treeId the number that its pages carry
   * @param rootPid the page
   * @param log a session that has begun
   * @return the tree
   */
  public static BTree createAt(BufferPool pool, int treeId, long rootPid, LogSession log) {
    log.grant(rootSpace(pool));
    return initRoot(pool, treeId, rootPid, false, log);
  }

  /**
   * What {@link #create} and {@link #createAt} take of a grant at most: who begins a session with
   * it is refused at once where the log is full.
   *
   * @param pool where the pages will be
   * @return bytes
   */
  public static long rootSpace(BufferPool pool) {
    return StructureRecord.space(pool.pageSize(), 1) + AllocatorRecord.ALLOCATE_SPACE;
  }

  /** Makes an empty leaf of a page that belongs to nobody; 0: of a new one. */
  private static BTree initRoot(
      BufferPool pool, int treeId, long rootPid, boolean endInFrames, LogSession log) {
    int frame =
        rootPid == 0
            ? pool.allocate(treeId, PageHeader.LEAF, log)
            : pool.allocateAt(rootPid, treeId, PageHeader.LEAF, log);
    boolean whole = false;
    try {
      MemorySegment pages = pool.pages();
      long base = pool.base(frame);
      if (endInFrames) {
        PageHeader.setLayout(pages, base, LeafHints.LAYOUT);
      }
      int none = BTreeNode.NONE;
      NodeEditor.init(pages, base, pool.pageSize(), 0, pages, base, none, pages, base, none);
      // Before the log has it: from then on somebody must know it.
      BTree tree = new BTree(pool, treeId, pool.pid(frame), false);
      whole = true;
      StructureRecord.appendCreate(pool, log, treeId, frame);
      pool.releaseExclusive(frame);
      return tree;
    } catch (RuntimeException | Error e) {
      if (whole) {
        BrokenOff.giveWhole(pool, frame, true, true, e);
      } else {
        pool.free(frame, log);
      }
      throw e;
    }
  }

  /**
   * Opens a tree.
   *
   * @param pool where its pages are
   * @param treeId the number that its pages carry
   * @param rootPid its root
   * @return the tree
   * @throws CorruptionException if the page is no node of this tree
   */
  public static BTree open(BufferPool pool, int treeId, long rootPid) {
    int frame = pool.fixShared(rootPid);
    int type;
    int owner;
    try {
      long base = pool.base(frame);
      type = PageHeader.type(pool.pages(), base);
      owner = PageHeader.treeId(pool.pages(), base);
    } finally {
      pool.releaseShared(frame);
    }
    if (type != PageHeader.LEAF && type != PageHeader.INNER) {
      throw OverflowChain.damaged(pool, rootPid, "type of a root page", PageHeader.INNER, type);
    }
    if (owner != treeId) {
      throw OverflowChain.damaged(pool, rootPid, "tree id of a root page", treeId, owner);
    }
    return new BTree(pool, treeId, rootPid, true);
  }

  /**
   * Says that no value of this tree is longer than so much, and none ever was. Where such values
   * stay in the leaves, {@link #mayHoldLong} is false from here on.
   *
   * @param bytes the longest value that there is and will be
   * @return this
   */
  public BTree valuesUpTo(long bytes) {
    if (bytes <= inlineMax()) {
      mayHoldLong = false;
    }
    return this;
  }

  /**
   * The number that the tree's pages carry.
   *
   * @return the tree's id
   */
  public int treeId() {
    return treeId;
  }

  /**
   * The root: the same page as long as the tree exists.
   *
   * @return its page id
   */
  public long rootPid() {
    return rootPid;
  }

  /**
   * The pool that the tree's pages are in.
   *
   * @return the pool
   */
  public BufferPool pool() {
    return pool;
  }

  /**
   * The longest key.
   *
   * @return bytes: an eighth of a page
   */
  public int maxKeySize() {
    return BTreeNode.keyMax(pageSize);
  }

  /**
   * The longest value; values above a quarter of a page are kept in pages of their own.
   *
   * @return bytes
   */
  public long maxValueSize() {
    return VALUE_BYTES_MAX;
  }

  // --------------------------------------------------------------------------------- point reads

  /**
   * Finds where a key is or would be. Any thread, no latch.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param p out: the leaf, the first slot whose key is not below the key, whether it is the key
   */
  public void find(MemorySegment key, long off, int len, Position p) {
    if (!descend(key, off, len, false, 0, p)) {
      descendAgain(key, off, len, false, 0, p);
    }
  }

  /**
   * Finds where a key is or would be, beginning with what a position remembers: the same slot of
   * the unchanged leaf, else the same leaf if its fences bracket the key, else a descent.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param p in: any position of a tree of this pool, a cleared one included; out: as {@link #find}
   */
  public void locate(MemorySegment key, long off, int len, Position p) {
    if (p.frame < 0) {
      find(key, off, len, p);
      return;
    }
    p.placesTried++;
    if (!locateThere(key, off, len, p)) {
      p.placesStale++;
      find(key, off, len, p);
    }
  }

  private boolean locateThere(MemorySegment key, long off, int len, Position p) {
    long pid = p.pid;
    int frame = p.frame;
    long version = pool.optimistic(frame, pid);
    if (version == RESTART) {
      // The page may have moved home since.
      frame = pool.guess(pid);
      version = pool.optimistic(frame, pid);
      if (version == RESTART) {
        return false;
      }
    }
    try {
      p.pageAccesses++;
      int hint = p.found && version == p.version ? p.slot : -1;
      long base = (long) frame << pageShift;
      int slot = BTreeNode.searchGuessed(pages, base, pageSize, treeId, hint, key, off, len);
      if (slot < 0) {
        return false;
      }
      p.set(frame, version, pid, slot >>> 1, (slot & 1) != 0);
      return pool.validate(frame, version);
    } catch (IndexOutOfBoundsException e) {
      checkTorn(frame, version, pid, key, off, len, e);
      return false;
    }
  }

  /**
   * Whether what was read through a position was of one moment: to be asked after reading.
   *
   * @param p a position that {@link #find} or another method filled
   * @return true if the leaf has not changed since
   */
  public boolean valid(Position p) {
    return pool.validate(p.frame, p.version);
  }

  /**
   * How long the value at a position is. The position was found.
   *
   * @param p the position
   * @return bytes; means nothing unless {@link #valid} afterwards
   */
  public int valueLength(Position p) {
    MemorySegment s = pages;
    long base = (long) p.frame << pageShift;
    try {
      long slot = BTreeNode.leafSlot(s, base, p.slot);
      int field = BTreeNode.field(s, base, pageSize, slot);
      return field != BTreeNode.OVERFLOW
          ? field
          : stubLength(s, BTreeNode.valueAt(base, pageSize, slot));
    } catch (IndexOutOfBoundsException e) {
      checkTorn(p.frame, p.version, p.pid, s, 0, 0, e);
      return 0;
    }
  }

  static long stubPid(MemorySegment s, long at) {
    return Mem.getLong(s, at);
  }

  static int stubLength(MemorySegment s, long at) {
    return (int) Math.max(0, Math.min(VALUE_BYTES_MAX, Mem.getLong(s, at + 8)));
  }

  /**
   * Copies the value at a position, or what there is room for. The position was found.
   *
   * @param p the position
   * @param dst where to; native memory
   * @param dstOff where in it
   * @param cap how many bytes there is room for
   * @return how long the whole value is, or -1: the leaf has changed, find it again. Means nothing
   *     unless {@link #valid} afterwards
   */
  public int copyValue(Position p, MemorySegment dst, long dstOff, int cap) {
    MemorySegment s = pages;
    long base = (long) p.frame << pageShift;
    try {
      long slot = BTreeNode.leafSlot(s, base, p.slot);
      int field = BTreeNode.field(s, base, pageSize, slot);
      if (field == BTreeNode.OVERFLOW) {
        return copyLong(p, BTreeNode.valueAt(base, pageSize, slot), dst, dstOff, cap);
      }
      long at = BTreeNode.valueAt(base, pageSize, slot);
      requireInside(base, at, field);
      Mem.copy(s, at, dst, dstOff, Math.min(field, cap));
      return field;
    } catch (IndexOutOfBoundsException e) {
      checkTorn(p.frame, p.version, p.pid, dst, dstOff, cap, e);
      return -1;
    }
  }

  /** What lies behind the end of a page is another one's. */
  private void requireInside(long base, long at, int bytes) {
    if (at + bytes > base + pageSize) {
      throw new NodeCheck.Damage("end of a value in a leaf", pageSize, at + bytes - base);
    }
  }

  private int copyLong(Position p, long stubAt, MemorySegment dst, long dstOff, int cap) {
    long pid = stubPid(pages, stubAt);
    long said = Mem.getLong(pages, stubAt + 8);
    int length = stubLength(pages, stubAt);
    if (said != length || length <= inlineMax()) {
      throw new NodeCheck.Damage("length of a long value in a leaf", VALUE_BYTES_MAX, said);
    }
    return OverflowChain.read(this, p, pid, length, dst, dstOff, cap) ? length : -1;
  }

  // ------------------------------------------------------------------------------------- descent

  /**
   * Goes down to a level.
   *
   * @param after whether what follows the key is looked for, rather than the key
   * @param level 0 for the leaf
   * @param p out: the node, and in it the first slot whose key is not below the key (whose key is
   *     above it, where {@code after} is set in an inner node); {@code frame} is -1 if the tree is
   *     not that high
   * @return false if a writer interfered: start again
   */
  boolean descend(MemorySegment key, long off, int len, boolean after, int level, Position p) {
    BufferPool pool = this.pool;
    MemorySegment s = pages;
    long pid = rootPid;
    int frame = hinted ? rootFrame : pool.guess(pid);
    long version = pool.optimistic(frame, pid);
    if (version == RESTART) {
      frame = findRoot();
      version = pool.optimistic(frame, pid);
      if (version == RESTART) {
        return false;
      }
    }
    try {
      // The level that the node must have: of the root what it says, then one less each time.
      int expected = BTreeNode.kindLevel(BTreeNode.kind(s, (long) frame << pageShift));
      for (int depth = 1; ; depth++, expected--) {
        long base = (long) frame << pageShift;
        int kind = BTreeNode.kind(s, base);
        int found = BTreeNode.kindLevel(kind);
        if (!BTreeNode.kindInner(kind) || found <= level || found != expected) {
          p.pageAccesses += depth;
          p.childSteps += depth - 1;
          return BTreeNode.kindLeaf(kind) && (level | found | expected) == 0
              ? arrive(key, off, len, p, frame, version, pid)
              : arriveInner(key, off, len, after, level, expected, p, frame, version, pid);
        }
        found = BTreeNode.searchInner(s, base, pageSize, key, off, len);
        long at = BTreeNode.childAt(base, (found >>> 1) + (after ? found & 1 : 0));
        long ref = Mem.peekLong(s, at);
        long child = PageRef.pid(ref);
        int childFrame = pool.guessChild(ref);
        long childVersion = pool.optimistic(childFrame, child);
        if (childVersion == RESTART || pool.isStale(ref, childFrame)) {
          if (!pool.validate(frame, version)) {
            return false;
          }
          requirePage(pid, child);
          childFrame = pool.findChild(frame, version, at, ref, childFrame);
          childVersion = pool.optimistic(childFrame, child);
        }
        if (!pool.validate(frame, version) || childVersion == RESTART || depth > DEPTH_MAX) {
          return stopped(depth, pid);
        }
        frame = childFrame;
        version = childVersion;
        pid = child;
      }
    } catch (IndexOutOfBoundsException e) {
      checkTorn(frame, version, pid, key, off, len, e);
      return false;
    }
  }

  /** Says of a reference that leads nowhere where it stands: it was validated. */
  void requirePage(long pid, long child) {
    if (child <= 1 || child >= pool.pidLimit()) {
      throw OverflowChain.damaged(pool, pid, "a reference to a child", pool.pidLimit(), child);
    }
  }

  /** Puts positions on the root, as unchecked guesses. */
  void beginAt(Position[] places, int n) {
    for (int i = 0; i < n; i++) {
      places[i].set(rootFrame, RESTART, rootPid, 0, false);
    }
  }

  private int findRoot() {
    int frame = pool.findSlow(rootPid);
    rootFrame = frame;
    return frame;
  }

  /** Ends a descent in a leaf. */
  private boolean arrive(
      MemorySegment key, long off, int len, Position p, int frame, long version, long pid) {
    long base = (long) frame << pageShift;
    if (PageHeader.treeId(pages, base) != treeId) {
      return arriveElsewhere(0, 0, p, frame, version, pid);
    }
    int found = BTreeNode.searchLeaf(pages, base, pageSize, key, off, len);
    p.set(frame, version, pid, found >>> 1, (found & 1) != 0);
    return pool.validate(frame, version);
  }

  /**
   * Ends a descent at an inner node of the level that was asked for, or at what it did not expect.
   */
  private boolean arriveInner(
      MemorySegment key,
      long off,
      int len,
      boolean after,
      int level,
      int expected,
      Position p,
      int frame,
      long version,
      long pid) {
    long base = (long) frame << pageShift;
    int kind = BTreeNode.kind(pages, base);
    if (!BTreeNode.kindInner(kind) || BTreeNode.kindLevel(kind) != level || expected != level) {
      return arriveElsewhere(level, expected, p, frame, version, pid);
    }
    int found = BTreeNode.searchInner(pages, base, pageSize, key, off, len);
    p.set(frame, version, pid, (found >>> 1) + (after ? found & 1 : 0), (found & 1) != 0);
    return pool.validate(frame, version);
  }

  /**
   * Either the root is below the level, or the page is not the node that its parent implies, or it
   * was torn. The parent was validated after the version of this page was read: what the page was
   * then, it was as this parent's child, so that no change of structure explains it.
   */
  private boolean arriveElsewhere(
      int level, int expected, Position p, int frame, long version, long pid) {
    long base = (long) frame << pageShift;
    int type = PageHeader.type(pages, base);
    int found = PageHeader.level(pages, base);
    int owner = PageHeader.treeId(pages, base);
    if (!pool.validate(frame, version)) {
      return false;
    }
    if (owner != treeId) {
      throw OverflowChain.damaged(pool, pid, "tree id of a node", treeId, owner);
    }
    if (found != expected) {
      throw OverflowChain.damaged(pool, pid, "level of a node", expected, found);
    }
    int right = found == 0 ? PageHeader.LEAF : PageHeader.INNER;
    if (type != right || pid != rootPid || found >= level) {
      throw OverflowChain.damaged(pool, pid, "type of a node", right, type);
    }
    p.clear();
    return true;
  }

  private boolean stopped(int depth, long pid) {
    if (depth > DEPTH_MAX) {
      throw OverflowChain.damaged(pool, pid, "height of the tree", DEPTH_MAX, depth);
    }
    return false;
  }

  /** What follows the first, failed descent: some more, then one that latches. */
  void descendAgain(MemorySegment key, long off, int len, boolean after, int level, Position p) {
    for (int i = 0; i < RESTARTS; i++) {
      Pause.after(i);
      if (descend(key, off, len, after, level, p)) {
        return;
      }
    }
    for (int i = 0; !descendLatched(key, off, len, after, level, p, false); i++) {
      pauseLatched(i);
    }
  }

  /**
   * Waits after a latched descent that came to a node that should not be there. Somebody has just
   * moved it; if it is never put right, then it is damage.
   */
  private void pauseLatched(int attempt) {
    if (attempt > LATCHED_MAX) {
      throw OverflowChain.damaged(
          pool, rootPid, "fences or levels on the way from the root", LATCHED_MAX, attempt);
    }
    Pause.after(attempt);
  }

  /** As descend, with the retries. */
  void descendTo(MemorySegment key, long off, int len, boolean after, int level, Position p) {
    if (!descend(key, off, len, after, level, p)) {
      descendAgain(key, off, len, after, level, p);
    }
  }

  /**
   * Goes down with one shared latch at a time. Between two of them the tree may change, so each
   * node is checked to be the right one: a node of this tree and level whose fences bracket the
   * key. One that is not, under a parent that has not changed since, is damaged; and so is a root
   * that is not, which never stops being the root.
   *
   * @param keep whether the last latch is kept
   * @return false if the structure changed meanwhile
   */
  private boolean descendLatched(
      MemorySegment key, long off, int len, boolean after, int level, Position p, boolean keep) {
    int[] held = {-1};
    try {
      return descendLatched(key, off, len, after, level, p, keep, held);
    } catch (Throwable t) {
      if (held[0] >= 0) {
        pool.releaseShared(held[0]);
      }
      throw t;
    }
  }

  /** The same; {@code held} says which frame is latched. */
  private boolean descendLatched(
      MemorySegment key,
      long off,
      int len,
      boolean after,
      int level,
      Position p,
      boolean keep,
      int[] held) {
    MemorySegment s = pages;
    long pid = rootPid;
    int expected = -1;
    int parent = -1;
    long parentVersion = 0;
    for (; ; ) {
      int frame = pool.fixShared(pid);
      held[0] = frame;
      p.pageAccesses++;
      long base = pool.base(frame);
      int at = PageHeader.level(s, base);
      boolean right =
          NodeCheck.isNode(s, base, expected < 0 ? at : expected, treeId)
              && BTreeNode.covers(s, base, pageSize, key, off, len, after);
      if (!right) {
        // Asked under the latch of the child: all that while the parent named it.
        boolean damaged = parent < 0 || pool.validate(parent, parentVersion);
        held[0] = -1;
        pool.releaseShared(frame);
        if (damaged) {
          throw OverflowChain.damaged(pool, pid, "level or fences of a node", expected, at);
        }
        return false;
      }
      if (at < level) {
        held[0] = -1;
        pool.releaseShared(frame);
        p.clear();
        return true;
      }
      int found;
      try {
        found =
            at == 0
                ? BTreeNode.searchLeaf(s, base, pageSize, key, off, len)
                : BTreeNode.searchInner(s, base, pageSize, key, off, len);
      } catch (IndexOutOfBoundsException e) {
        throw damagedOffsets(pool, pid, e);
      }
      if (at > 0 && after) {
        found += (found & 1) << 1;
      }
      if (at == level) {
        // Under the latch the version stands still.
        long version = pool.optimistic(frame, pid);
        p.set(frame, version, pid, found >>> 1, (found & 1) != 0);
        held[0] = -1;
        if (!keep) {
          pool.releaseShared(frame);
        }
        return version != RESTART;
      }
      long child = BTreeNode.child(s, base, found >>> 1);
      parent = frame;
      parentVersion = pool.optimistic(frame, pid);
      held[0] = -1;
      pool.releaseShared(frame);
      requirePage(pid, child);
      pid = child;
      expected = at - 1;
    }
  }

  /**
   * As {@link #find}, but the leaf stays latched shared, so that {@link #valid} cannot fail until
   * {@link #releaseShared}: for a reader that writers disturb again and again. While it is held the
   * thread must not wait for anything and must not call other methods of a tree than {@link
   * #valueLength}, {@link #valid} and {@link #copyValue} of a value that is in the leaf.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param p out: as in {@link #find}
   */
  public void findShared(MemorySegment key, long off, int len, Position p) {
    findShared(key, off, len, false, p);
  }

  void findShared(MemorySegment key, long off, int len, boolean after, Position p) {
    for (int i = 0; !descendLatched(key, off, len, after, 0, p, true); i++) {
      pauseLatched(i);
    }
  }

  /**
   * Gives back what {@link #findShared} latched.
   *
   * @param p the position
   */
  public void releaseShared(Position p) {
    pool.releaseShared(p.frame);
  }

  /** Tells a torn page from a damaged one, and both from a caller's mistake. */
  void checkTorn(
      int frame,
      long version,
      long pid,
      MemorySegment outside,
      long off,
      long len,
      IndexOutOfBoundsException e) {
    if (off < 0 || len < 0 || off + len > outside.byteSize()) {
      throw e;
    }
    if (pool.validate(frame, version)) {
      throw damagedOffsets(pool, pid, e);
    }
  }

  static CorruptionException damagedOffsets(
      BufferPool pool, long pid, IndexOutOfBoundsException e) {
    CorruptionException damage =
        e instanceof NodeCheck.Damage d
            ? OverflowChain.damaged(pool, pid, d.getMessage(), d.expected, d.found)
            : OverflowChain.damaged(pool, pid, "offsets in a node", 0, -1);
    damage.initCause(e);
    return damage;
  }

  // ----------------------------------------------------------------------------------- successor

  /**
   * Finds the first key above a key. What it returns was true at one moment: no validation needed.
   *
   * @param key where the key is; native memory; may be the buffer that the answer goes to
   * @param off where it begins
   * @param len how long it is
   * @param p in: a hint, as in {@link #locate}; out: where the successor is
   * @param out out: the successor
   * @return false if there is no key above
   */
  public boolean successor(MemorySegment key, long off, int len, Position p, KeyBuffer out) {
    locate(key, off, len, p);
    for (int i = 0; ; i++) {
      int found = Successor.step(this, p, out);
      if (found == Successor.NEXT_LEAF) {
        found = Successor.beyond(this, p, out);
      }
      if (found == Successor.FOUND) {
        out.publish();
        return true;
      }
      if (found == Successor.NONE) {
        return false;
      }
      Pause.after(i);
      find(key, off, len, p);
    }
  }

  // -------------------------------------------------------------------------------------- writes

  // With a log the record of a change is appended first, and LogSession.position says where it is.
  // Long values come and go by that record, too: their pages are in it. So the methods that write
  // and free chains themselves do that without a log only, and the record's author uses those that
  // leave the chains to him.

  /**
   * Sets the value of a key. With a log only where neither the old nor the new value is long.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param value where the value is; native memory
   * @param vOff where it begins
   * @param vLen how long it is
   * @param p in: a hint, as in {@link #locate}; out: where the key is
   * @param log where the change is logged
   * @return true if the key was absent
   * @throws IllegalStateException if there is a log and a chain would come or go; nothing has
   *     changed
   * @throws KeyTooLargeException if the key is longer than {@link #maxKeySize}
   * @throws ValueTooLargeException if the value is longer than {@link #maxValueSize}
   */
  public boolean upsert(
      MemorySegment key,
      long off,
      int len,
      MemorySegment value,
      long vOff,
      int vLen,
      Position p,
      LogSession log) {
    check(key, off, len, value, vOff, vLen);
    return writer.upsert(key, off, len, value, vOff, vLen, p, log);
  }

  /**
   * Removes a key. With a log only where its value is not long.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param p in: a hint, as in {@link #locate}; out: where the key was
   * @param log where the change is logged
   * @return false if it was absent
   * @throws IllegalStateException if there is a log and a chain would go; nothing has changed
   */
  public boolean delete(MemorySegment key, long off, int len, Position p, LogSession log) {
    check(key, off, len, key, off, 0);
    return writer.delete(key, off, len, false, true, p, log);
  }

  /**
   * Overwrites a part of a value.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param at from which byte of the value on
   * @param bytes where the new bytes are; native memory
   * @param bOff where they begin
   * @param bLen how many they are
   * @param p in: a hint, as in {@link #locate}; out: where the key is
   * @param log where the change is logged
   * @return false if the key is absent or the value too short, or, with a log, long; then nothing
   *     has changed
   */
  public boolean patch(
      MemorySegment key,
      long off,
      int len,
      int at,
      MemorySegment bytes,
      long bOff,
      int bLen,
      Position p,
      LogSession log) {
    check(key, off, len, bytes, bOff, bLen);
    return writer.patch(key, off, len, at, bytes, bOff, bLen, p, log);
  }

  /**
   * Whether values may be in chains of pages of their own. False only where none can be: in a tree
   * that was made since the file was opened and got none yet, and in one whose values are {@link
   * #valuesUpTo short}. A thread that may write a key sees what the key's last writer made true.
   *
   * @return false if {@link #chain} need not be asked
   */
  public boolean mayHoldLong() {
    return mayHoldLong;
  }

  /** A chain is about to be written, or named by a leaf. */
  void noteLong() {
    if (!mayHoldLong) {
      mayHoldLong = true;
    }
  }

  /**
   * The longest value that a leaf holds itself.
   *
   * @return bytes: a quarter of a page
   */
  public int inlineMax() {
    return BTreeNode.inlineMax(pageSize);
  }

  /**
   * Writes a value to a chain of new pages, which no leaf knows yet; logged as CHAIN. If it fails,
   * what was written is free again.
   *
   * @param value where the value is; native memory
   * @param off where it begins
   * @param len how long it is: more than {@link #inlineMax}
   * @param pids gets the pages, in the order of the chain
   * @param log a session that has begun
   * @return the first page
   * @throws ValueTooLargeException if the value is longer than {@link #maxValueSize}
   */
  public long writeChain(MemorySegment value, long off, int len, LongList pids, LogSession log) {
    checkSizes(0, len);
    Objects.checkFromIndexSize(off, len, value.byteSize());
    requireLong(len);
    long[] chain = OverflowChain.write(this, value, off, len, RecordType.CHAIN, log);
    try {
      for (long pid : chain) {
        pids.add(pid);
      }
      return chain[0];
    } catch (Error e) {
      OverflowChain.undo(this, chain, log);
      throw e;
    }
  }

  private void requireLong(int len) {
    if (len <= inlineMax()) {
      throw new IllegalArgumentException("A value of " + len + " bytes belongs into the leaf.");
    }
  }

  /**
   * The chain of a key's value. Nobody else may write the key meanwhile.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param p in: a hint, as in {@link #locate}; out: where the key is
   * @param pids gets the pages, in the order of the chain
   * @return how long the value is, or -1 where the key is absent or its value is in the leaf
   */
  public int chain(MemorySegment key, long off, int len, Position p, LongList pids) {
    MemorySegment s = pages;
    for (int i = 0; ; i++) {
      locate(key, off, len, p);
      long first = 0;
      int length = -1;
      if (p.found) {
        long base = (long) p.frame << pageShift;
        try {
          long slot = BTreeNode.leafSlot(s, base, p.slot);
          if (BTreeNode.field(s, base, pageSize, slot) == BTreeNode.OVERFLOW) {
            long at = BTreeNode.valueAt(base, pageSize, slot);
            first = stubPid(s, at);
            length = stubLength(s, at);
          }
        } catch (IndexOutOfBoundsException e) {
          checkTorn(p.frame, p.version, p.pid, key, off, len, e);
        }
      }
      if (valid(p)) {
        if (length >= 0 && !OverflowChain.collect(pool, treeId, first, length, pids)) {
          throw OverflowChain.damaged(pool, first, "pages of a long value", length, pids.size());
        }
        return length;
      }
      Pause.after(i);
    }
  }

  /**
   * Gives a key a value that is in a chain. Of the old value nothing is freed.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param first the first page of the chain
   * @param length how long the value is: more than {@link #inlineMax}
   * @param p in: a hint, as in {@link #locate}; out: where the key is
   * @param log where the change is logged
   * @return true if the key was absent
   */
  public boolean upsertChain(
      MemorySegment key, long off, int len, long first, int length, Position p, LogSession log) {
    check(key, off, len, key, off, 0);
    requireLong(length);
    noteLong();
    return writer.putStub(key, off, len, first, length, p, log) < 0;
  }

  /**
   * Gives a key a value that fits into the leaf. Of the old value nothing is freed.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param value where the value is; native memory
   * @param vOff where it begins
   * @param vLen how long it is: {@link #inlineMax} at most
   * @param p in: a hint, as in {@link #locate}; out: where the key is
   * @param log where the change is logged
   * @return true if the key was absent
   */
  public boolean upsertInline(
      MemorySegment key,
      long off,
      int len,
      MemorySegment value,
      long vOff,
      int vLen,
      Position p,
      LogSession log) {
    check(key, off, len, value, vOff, vLen);
    if (vLen > inlineMax()) {
      throw new IllegalArgumentException("A value of " + vLen + " bytes is too long for a leaf.");
    }
    return writer.upsertInline(key, off, len, value, vOff, vLen, true, p, log);
  }

  /**
   * Removes a key. Of its value nothing is freed.
   *
   * @param key where the key is; native memory
   * @param off where it begins
   * @param len how long it is
   * @param merge whether a leaf that gets underfull is merged with a neighbour
   * @param p in: a hint, as in {@link #locate}; out: where the key was
   * @param log where the change is logged
   * @return false if it was absent
   */
  public boolean remove(
      MemorySegment key, long off, int len, boolean merge, Position p, LogSession log) {
    check(key, off, len, key, off, 0);
    return writer.delete(key, off, len, true, merge, p, log);
  }

  /**
   * Frees pages of chains that no leaf knows any more, the last first. What can't be freed now is
   * tried again with the next chain: this does not fail.
   *
   * @param pids the pages
   * @param log a session that has begun
   */
  public void freeChain(LongList pids, LogSession log) {
    OverflowChain.free(this, pids, log);
  }

  /**
   * Says no to what the tree could not store, before anything is done for it.
   *
   * @param keyLength how long the key is, in bytes
   * @param valueLength how long the value is, in bytes
   * @throws KeyTooLargeException for a key above {@link #maxKeySize}
   * @throws ValueTooLargeException for a value above {@link #maxValueSize}
   */
  public void checkSizes(int keyLength, int valueLength) {
    if (keyLength > BTreeNode.keyMax(pageSize)) {
      throw new KeyTooLargeException(keyLength, maxKeySize());
    }
    if (valueLength > VALUE_BYTES_MAX) {
      throw new ValueTooLargeException(valueLength, VALUE_BYTES_MAX);
    }
  }

  /**
   * Also that both are where they are said to be: an exception under a latch would leave it taken.
   */
  private void check(
      MemorySegment key, long off, int len, MemorySegment value, long vOff, int vLen) {
    checkSizes(len, vLen);
    Objects.checkFromIndexSize(off, len, key.byteSize());
    Objects.checkFromIndexSize(vOff, vLen, value.byteSize());
  }

  // -------------------------------------------------------------------------------- whole trees

  /**
   * Fills an empty tree with keys that come in ascending order. Nobody else may use the tree until
   * the loader has finished. With a log the tree must be one that no schema names yet: see {@link
   * BulkLoader}.
   *
   * @param fill how full the pages shall be, above 0 up to 1
   * @param log a session that has begun and does not end before the loader is closed
   * @return a loader; one thread
   * @throws InvalidUseException if the tree is not empty
   */
  public BulkLoader bulkLoad(double fill, LogSession log) {
    return new BulkLoader(this, fill, log);
  }

  /**
   * Frees all pages, the root last, and logs that it is done. Nobody else may use the tree, now or
   * later. If this fails, or a crash ends it, {@link #dropRest} goes on. Strays are not among the
   * pages: see {@link #freeStrays}.
   *
   * @param log a session that has begun before the tree was declared dropped
   */
  public void drop(LogSession log) {
    TreeDrop.of(this, log).run();
  }

  /**
   * Whether pages were let go that could not be freed then. Any thread.
   *
   * @return whether {@link #freeStrays} has something to do
   */
  public boolean hasStrays() {
    return !strays.isEmpty();
  }

  /**
   * Frees pages that were let go and could not be freed then, as far as that is possible now. Of a
   * tree that was dropped, too. One thread.
   *
   * @param log a session that has begun, and that nobody else uses
   */
  public void freeStrays(LogSession log) {
    OverflowChain.freeStrays(this, log);
  }

  /**
   * Frees what a drop that did not end has left: {@link #dropRest(BufferPool, int, long, LongList,
   * LogSession)} where the tree has no other pages than those that hang on its root.
   *
   * @param pool where the pages are
   * @param treeId the tree's id
   * @param rootPid its root
   * @param log a session that has begun
   */
  public static void dropRest(BufferPool pool, int treeId, long rootPid, LogSession log) {
    dropRest(pool, treeId, rootPid, new LongList(), log);
  }

  /**
   * Recovery: frees what a crash has left of a tree that is dropped, or that was never published.
   * Pages that are free already, or another tree's, are passed by; so pages that nobody uses must
   * have been reclaimed before.
   *
   * <p>What hangs on the root is not all. Replay leaves out the changes of keys of such a tree, so
   * its leaves may not know chains that commits have published; and the nodes of a bulk load that
   * did not end hang on nothing. But whatever does not hang on the root was allocated in the part
   * of the log that recovery reads: before the redo point every change is in the pages.
   *
   * @param pool where the pages are
   * @param treeId the tree's id
   * @param rootPid its root
   * @param allocated the pages that ALLOCATE records from the redo point on gave to the tree
   * @param log a session that has begun
   * @throws CorruptionException if a page of the tree is damaged
   */
  public static void dropRest(
      BufferPool pool, int treeId, long rootPid, LongList allocated, LogSession log) {
    TreeDrop.rest(pool, treeId, rootPid, log).run();
    for (int i = 0; i < allocated.size(); i++) {
      TreeDrop.freePage(pool, treeId, allocated.get(i), log);
    }
    StructureRecord.appendDropped(log, treeId);
  }

  /**
   * How many levels the tree has: a moment's truth, for reports.
   *
   * @return 1 if the root is a leaf
   */
  public int height() {
    int frame = pool.fixShared(rootPid);
    try {
      return PageHeader.level(pages, pool.base(frame)) + 1;
    } finally {
      pool.releaseShared(frame);
    }
  }

  TreeShaper shaper() {
    return shaper;
  }

  /** Parts of chains that could not be freed: see {@link OverflowChain}. */
  Queue<OverflowChain.Stray> strays() {
    return strays;
  }

  /**
   * The native memory that the tree keeps for changes of its structure, beside the pool. Any
   * thread.
   *
   * @return bytes
   */
  public long scratchBytes() {
    return scratches.bytes();
  }

  TreeScratch.Stock scratches() {
    return scratches;
  }
}
