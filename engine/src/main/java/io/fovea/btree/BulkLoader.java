package io.fovea.btree;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Builds a tree from ascending keys: leaves from left to right, inner nodes as their children are
 * complete.
 *
 * <pre>
 *   level 2             [ S:5                                entries wait here until the node is full,
 *   level 1    [ s:1 s:2 s:3 ] [ s:4                         or the load ends
 *   level 0  (1) (2) (3)  (4)   (5) [ k k k
 * </pre>
 *
 * <ol>
 *   <li>A node takes the next entry if it then stays within the fill factor and the page, with that
 *       entry's key as its high fence and so with the resulting prefix.
 *   <li>Otherwise the leaf is closed. Its high fence is a short separator before that entry if the
 *       leaf's entries fit with the resulting prefix, and otherwise its last key, with which they
 *       fit.
 *   <li>The last node of a level has no high fence, hence no prefix: if its entries do not fit
 *       without a prefix, some of them are closed into a preceding node.
 *   <li>Pages are unreachable until {@link #finish} writes the root. So latches are short, and
 *       {@link #close} without finish can free all pages.
 *   <li>With a log, each page is logged as a STRUCTURE record when it is complete: a leaf when the
 *       next leaf is known, children before their parent, the root last. Until the load is
 *       complete, the logged tree is empty after each record, so keys need no records. The records
 *       give the pages to the tree even if the load fails. So the tree must not be published yet:
 *       if no schema names a tree, recovery frees all pages that ALLOCATE records gave to it,
 *       reachable or not. The session must not end before the load does, since the session keeps
 *       the redo point before those records.
 *   <li>{@linkplain #unlogged Alternatively} only allocations are logged, and each page is written
 *       to the file once, in batches ({@link #flush}), without a double-write copy: until the tree
 *       is published, recovery frees all pages after a crash, torn or not. The root is logged so
 *       that its LSN moves. Before the tree is published, either all pages are in the file and the
 *       redo point is past them, or {@link #logPages} has logged them.
 * </ol>
 *
 * <p>Used by one thread; no other may use the tree meanwhile.
 */
public final class BulkLoader implements AutoCloseable {
  /**
   * The default fill factor. The rest of a page is left for later inserts and longer values, so
   * that few of them split it; InnoDB reserves the same share in sorted index builds.
   */
  public static final double FILL = 15 / 16.0;

  private static final long[] NONE = {};

  private final BTree tree;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final int leafLayout;
  private final int pageSize;
  private final double fill;
  private final LogSession log;

  /** In an unlogged load, all pages except the root, in allocation order; otherwise null. */
  private final @Nullable LongList made;

  private int flushed;

  private final List<Level> levels = new ArrayList<>();

  /** Complete nodes without a parent: at most one per level, briefly. */
  private final Set<Long> detached = new HashSet<>();

  private final KeyBuffer separator;
  private final KeyBuffer a;
  private final KeyBuffer b;
  private final KeyBuffer last;
  private long lastLeaf;
  private long count;

  /**
   * Pages of a long value that no leaf refers to yet; {@link #listed} of them are in {@link #made}.
   */
  private long[] unreferenced = NONE;

  private int listed;
  private boolean finished;

  /** The node of a level that is being filled. */
  private static final class Level {
    final int level;
    final PendingNode pending;
    final KeyBuffer low;
    boolean first = true;

    Level(int level, int keyMax) {
      this.level = level;
      this.pending = new PendingNode(level == 0);
      this.low = new KeyBuffer(keyMax);
    }

    int lowLength() {
      return first ? BTreeNode.NONE : low.length();
    }
  }

  /**
   * Starts a load into an empty tree. With a log, no schema may name the tree yet, and the session
   * must not end before the loader is closed.
   *
   * @param fill the fill factor of pages, greater than 0 and at most 1
   * @throws InvalidUseException if the tree is not empty
   */
  public BulkLoader(BTree tree, double fill, LogSession log) {
    this(tree, fill, log, null);
  }

  /**
   * Starts a load without images in the log. Before the tree is published, the caller ensures that
   * the pages are in the file and the redo point is past them, or calls {@link #logPages}. The
   * session must begin before the tree is created, and end when the tree is published.
   */
  public static BulkLoader unlogged(BTree tree, double fill, LogSession log) {
    return new BulkLoader(tree, fill, log, new LongList());
  }

  private BulkLoader(BTree tree, double fill, LogSession log, @Nullable LongList made) {
    this.tree = tree;
    this.made = made;
    this.log = log;
    this.pool = tree.pool();
    this.pages = pool.pages();
    this.pageSize = pool.pageSize();
    this.fill = Math.max(0.1, Math.min(1, fill));
    int keyMax = tree.maxKeySize();
    this.separator = new KeyBuffer(keyMax + 1);
    this.a = new KeyBuffer(keyMax);
    this.b = new KeyBuffer(keyMax);
    this.last = new KeyBuffer(keyMax);
    levels.add(new Level(0, keyMax));
    int frame = pool.fixShared(tree.rootPid());
    boolean empty;
    try {
      long base = pool.base(frame);
      leafLayout = PageHeader.layout(pages, base);
      empty = BTreeNode.isLeaf(pages, base) && BTreeNode.count(pages, base) == 0;
    } finally {
      pool.releaseShared(frame);
    }
    if (!empty) {
      throw new InvalidUseException("Only an empty tree can be bulk-loaded.");
    }
  }

  /** Returns whether a key equals the last one added. */
  public boolean endsWith(MemorySegment key, long off, int len) {
    return count > 0 && Mem.equal(last.segment(), 0, last.length(), key, off, len);
  }

  /**
   * Adds a key.
   *
   * @throws InvalidUseException if the key is not above the previous one, or after {@link #finish}
   */
  public void add(MemorySegment key, long off, int len, MemorySegment value, long vOff, int vLen) {
    if (finished) {
      throw new InvalidUseException("The bulk load has ended.");
    }
    if (len > tree.maxKeySize()) {
      throw new KeyTooLargeException(len, tree.maxKeySize());
    }
    if (vLen > tree.maxValueSize()) {
      throw new ValueTooLargeException(vLen, tree.maxValueSize());
    }
    if (count > 0 && Mem.compare(last.segment(), 0, last.length(), key, off, len) >= 0) {
      throw new InvalidUseException("Keys of a bulk load must ascend.");
    }
    last.set(key, off, len);
    boolean inline = vLen <= BTreeNode.inlineMax(pageSize);
    int field = inline ? vLen : BTreeNode.OVERFLOW;
    int inlineBytes = BTreeNode.inlineBytes(field);
    Level leaf = levels.get(0);
    int bytes = NodeEditor.leafEntryBytes(0, len, inlineBytes);
    if (!fits(leaf, key, off, len, bytes)) {
      closeLeaf(leaf, leaf.pending.count(), key, off, len);
    }
    long chain = inline ? 0 : writeChain(value, vOff, vLen);
    PendingNode pending = leaf.pending;
    int at = pending.add(key, off, len, field, inlineBytes, 0);
    if (inline) {
      Mem.copy(value, vOff, pending.bytes(), at, vLen);
    } else {
      Mem.putLong(pending.bytes(), at, chain);
      Mem.putLong(pending.bytes(), at + 8, vLen);
      unreferenced = NONE;
      listed = 0;
    }
    count++;
  }

  private long writeChain(MemorySegment value, long vOff, int vLen) {
    // No commit lists these pages, so they belong to the tree at once.
    int type = made == null ? RecordType.STRUCTURE : StructureRecord.NO_IMAGE;
    unreferenced = tree.longValues().write(value, vOff, vLen, type, log);
    while (made != null && listed < unreferenced.length) {
      made.add(unreferenced[listed]);
      listed++;
    }
    return unreferenced[0];
  }

  /** Frees the pages of an unreferenced long value. */
  private void freeUnreferenced() {
    while (unreferenced.length > listed) {
      long pid = unreferenced[listed++];
      TreeDrop.freePage(pool, tree.treeId(), pid, log);
    }
    unreferenced = NONE;
    listed = 0;
  }

  /** Bytes for entries and fences. */
  private int capacity(boolean leaf) {
    return pageSize - BTreeNode.slotsEnd(leaf, 0);
  }

  private static int prefix(Level level, MemorySegment high, long off, int len) {
    return level.first
        ? 0
        : Mem.commonPrefix(level.low.segment(), 0, level.low.length(), high, off, len);
  }

  private static int lowBytes(Level level) {
    return level.first ? 0 : level.low.length();
  }

  /** Returns whether a node has room for one more entry, whose key would be its high fence. */
  private boolean fits(Level level, MemorySegment key, long off, int len, int bytes) {
    boolean leaf = level.level == 0;
    PendingNode pending = level.pending;
    if (pending.count() == 0) {
      return true;
    }
    int prefix = prefix(level, key, off, len);
    int entries = pending.sum(prefix) + bytes - Math.min(prefix, Math.max(0, len - 4));
    int whole = entries + lowBytes(level) + len;
    // An inner node with one child would be legal and useless.
    boolean wanted = whole <= fill * capacity(leaf) || !leaf && pending.count() < 2;
    return wanted && whole <= capacity(leaf);
  }

  // --------------------------------------------------------------------------------------- leaves

  /** Builds a leaf from the first n pending entries; the given key follows them. */
  private void closeLeaf(Level leaf, int n, MemorySegment next, long off, int len) {
    PendingNode pending = leaf.pending;
    a.set(pending.bytes(), pending.keyAt(n - 1), pending.keyLength(n - 1));
    b.set(next, off, len);
    Separators.between(a.segment(), a.length(), b.segment(), b.length(), separator);
    int prefix = prefix(leaf, separator.segment(), 0, separator.length());
    int bytes = pending.sum(0, n, prefix) + lowBytes(leaf) + separator.length();
    if (bytes > capacity(true)) {
      separator.set(a.segment(), 0, a.length());
    }
    long pid = newLeaf(leaf, n, separator.length(), false);
    linkLeaf(pid);
    closed(leaf, pid);
  }

  /**
   * Builds a leaf from the first pending entries; only the last leaf is complete without a sibling.
   */
  private long newLeaf(Level leaf, int n, int highLength, boolean done) {
    long pid = buildLeaf(leaf, n, false, highLength, done);
    detached.add(pid);
    leaf.pending.removeFirst(n);
    return pid;
  }

  private int allocate(int type) {
    log.grant(pageSpace() + AllocatorRecord.ALLOCATE_SPACE);
    int frame = pool.allocate(tree.treeId(), type, log);
    try {
      if (made != null) {
        made.add(pool.pid(frame));
      }
      return frame;
    } catch (RuntimeException | Error e) {
      throw broken(frame, e);
    }
  }

  /**
   * Releases a page after a failure. Pages of an unlogged tree are unreachable and will be freed.
   * After an error the page may be missing from the list of pages, so the pool stops.
   */
  private RuntimeException broken(int frame, Throwable thrown) {
    if (made != null && thrown instanceof RuntimeException) {
      pool.releaseExclusive(frame);
    } else {
      LatchErrorGuard.release(pool, frame, true, thrown);
    }
    return LatchErrorGuard.rethrow(pool, tree.rootPid(), thrown);
  }

  private long pageSpace() {
    return StructureRecord.space(pageSize, 1);
  }

  /** Logs a complete page and releases it. */
  private void done(int frame) {
    boolean image = made == null || pool.pid(frame) == tree.rootPid();
    int type = image ? RecordType.STRUCTURE : StructureRecord.NO_IMAGE;
    StructureRecord.append(pool, log, type, 0, frame, StructureRecord.NONE, StructureRecord.NONE);
    pool.releaseExclusive(frame);
  }

  /** Builds a leaf in a new page or in the root; returns the page. */
  private long buildLeaf(Level leaf, int n, boolean root, int highLength, boolean done) {
    int frame = root ? fixRoot() : allocate(PageHeader.LEAF);
    try {
      long pid = pool.pid(frame);
      fillLeaf(leaf, n, frame, highLength);
      if (done) {
        done(frame);
      } else {
        // Until it is complete, the LSNs of its allocation protect it.
        pool.markDirty(frame);
        pool.releaseExclusive(frame);
      }
      return pid;
    } catch (RuntimeException | Error e) {
      throw broken(frame, e);
    }
  }

  private void fillLeaf(Level leaf, int n, int frame, int highLength) {
    MemorySegment s = pages;
    long base = pool.base(frame);
    init(leaf, base, highLength);
    PageHeader.setLayout(s, base, leafLayout);
    PendingNode pending = leaf.pending;
    MemorySegment from = pending.bytes();
    for (int i = 0; i < n; i++) {
      int field = pending.field(i);
      long at =
          NodeEditor.insertLeaf(
              s, base, pageSize, i, from, pending.keyAt(i), pending.keyLength(i), field);
      Mem.copy(from, pending.valueAt(i), s, at, BTreeNode.inlineBytes(field));
    }
    // Later inserts at the end are recognized as ascending.
    NodeEditor.setRun(s, base, n, n - 1 & 0xFFFF);
    NodeEditor.setPrev(s, base, lastLeaf);
  }

  private void init(Level level, long base, int highLength) {
    NodeEditor.init(
        pages,
        base,
        pageSize,
        level.level,
        level.low.segment(),
        0,
        level.lowLength(),
        separator.segment(),
        0,
        highLength);
  }

  /** Links the previous leaf to the new one, which completes it. */
  private void linkLeaf(long pid) {
    if (lastLeaf != 0) {
      log.grant(pageSpace());
      int frame = pool.fixExclusive(lastLeaf);
      try {
        NodeEditor.setNext(pages, pool.base(frame), pid);
        done(frame);
      } catch (RuntimeException | Error e) {
        throw broken(frame, e);
      }
    }
    lastLeaf = pid;
  }

  // ---------------------------------------------------------------------------------- inner nodes

  /** Adds a complete node to its parent; the separator is in the buffer. */
  private void closed(Level level, long pid) {
    level.first = false;
    level.low.set(separator.segment(), 0, separator.length());
    Level parent = parent(level);
    int length = separator.length();
    int bytes = NodeEditor.innerEntryBytes(0, length);
    if (!fits(parent, separator.segment(), 0, length, bytes)) {
      // The recursion overwrites the separator; level.low keeps it.
      closeInner(parent, parent.pending.count());
    }
    parent.pending.add(level.low.segment(), 0, length, 0, 0, pid);
    detached.remove(pid);
  }

  private Level parent(Level level) {
    if (level.level + 1 == levels.size()) {
      levels.add(new Level(level.level + 1, tree.maxKeySize()));
    }
    return levels.get(level.level + 1);
  }

  /**
   * Builds an inner node from the first n pending children; the last one becomes the upper child.
   */
  private void closeInner(Level level, int n) {
    PendingNode pending = level.pending;
    separator.set(pending.bytes(), pending.keyAt(n - 1), pending.keyLength(n - 1));
    long pid = buildInner(level, n, false, separator.length());
    detached.add(pid);
    pending.removeFirst(n);
    closed(level, pid);
  }

  /** Builds an inner node in a new page or in the root; returns the page. */
  private long buildInner(Level level, int n, boolean root, int highLength) {
    int frame = root ? fixRoot() : allocate(PageHeader.INNER);
    try {
      long pid = pool.pid(frame);
      fillInner(level, n, frame, highLength);
      done(frame);
      return pid;
    } catch (RuntimeException | Error e) {
      throw broken(frame, e);
    }
  }

  private void fillInner(Level level, int n, int frame, int highLength) {
    MemorySegment s = pages;
    long base = pool.base(frame);
    init(level, base, highLength);
    PendingNode pending = level.pending;
    if (n > 1) {
      choosePrefix(pending, n, base);
    }
    for (int i = 0; i < n - 1; i++) {
      NodeEditor.insertInner(
          s,
          base,
          pageSize,
          i,
          pending.bytes(),
          pending.keyAt(i),
          pending.keyLength(i),
          pending.child(i));
    }
    NodeEditor.setChild(s, base, n - 1, pending.child(n - 1));
    NodeEditor.makeHeads(s, base);
    NodeEditor.setRun(s, base, n, n - 2 & 0xFFFF);
  }

  /** Chooses the prefix of a node without a fence, unless the stored prefix would not fit. */
  private void choosePrefix(PendingNode pending, int n, long base) {
    a.set(pending.bytes(), pending.keyAt(0), pending.keyLength(0));
    b.set(pending.bytes(), pending.keyAt(n - 2), pending.keyLength(n - 2));
    NodeEditor.chooseOpenPrefix(pages, base, pageSize, a, b);
    int prefix = BTreeNode.prefix(pages, base);
    if (BTreeNode.isOpen(pages, base)
        && BTreeNode.heap(pages, base) + pending.sum(0, n - 1, prefix) > capacity(false)) {
      NodeEditor.setOpenPrefix(pages, base, pageSize, a.segment(), 0, 0);
    }
  }

  // -------------------------------------------------------------------------------------- finish

  /** Ends the load and makes the tree reachable. Returns the number of keys. */
  public long finish() {
    if (finished) {
      throw new InvalidUseException("The bulk load has ended.");
    }
    Level leaf = levels.get(0);
    while (sumOpen(leaf, 0) > capacity(true)) {
      closeLeafBeforeTail(leaf);
    }
    if (leaf.first) {
      buildLeaf(leaf, leaf.pending.count(), true, BTreeNode.NONE, true);
    } else {
      long pid = newLeaf(leaf, leaf.pending.count(), BTreeNode.NONE, true);
      linkLeaf(pid);
      finishInner(1, pid);
    }
    finished = true;
    return count;
  }

  private int fixRoot() {
    log.grant(pageSpace());
    return pool.fixExclusive(tree.rootPid());
  }

  /**
   * Returns the bytes of a node without a high fence that contains the entries starting at {@code
   * from}.
   */
  private static int sumOpen(Level level, int from) {
    return level.pending.sum(from, level.pending.count(), 0) + lowBytes(level);
  }

  /** Closes all entries except those that fit into the last leaf with any low fence. */
  private void closeLeafBeforeTail(Level leaf) {
    PendingNode pending = leaf.pending;
    int n = pending.count();
    // The largest record takes less than half of a leaf, so at least one stays.
    while (n > 1 && pending.sum(n - 1, pending.count(), 0) <= capacity(true) / 2) {
      n--;
    }
    closeLeaf(leaf, n, pending.bytes(), pending.keyAt(n), pending.keyLength(n));
  }

  /** Adds the last child of a level, which has no separator, and continues up to the root. */
  private void finishInner(int height, long lastChild) {
    Level level = levels.get(height);
    PendingNode pending = level.pending;
    // The last child takes a slot without a key.
    while (pending.count() > 1 && sumOpen(level, 0) + BTreeNode.INNER_STRIDE > capacity(false)) {
      closeInner(level, Math.max(1, pending.count() / 2));
    }
    pending.add(separator.segment(), 0, 0, 0, 0, lastChild);
    detached.remove(lastChild);
    int n = pending.count();
    if (level.first) {
      buildInner(level, n, true, BTreeNode.NONE);
    } else {
      long pid = buildInner(level, n, false, BTreeNode.NONE);
      detached.add(pid);
      pending.removeFirst(n);
      finishInner(height + 1, pid);
    }
  }

  // ------------------------------------------------------------------------- pages without images

  /** Returns the number of pages without images in the log. */
  public int pages() {
    return made == null ? 0 : made.size();
  }

  /** Returns the number of pages that {@link #flush} has yet to write. */
  public int unwritten() {
    return pages() - flushed;
  }

  /**
   * Writes the unlogged pages that will not change any more, which after {@link #finish} is all of
   * them. A sync must follow. May be repeated after a failure.
   */
  public void flush() {
    if (made == null) {
      return;
    }
    int end = made.size();
    long[] pids = new long[end - flushed];
    int n = 0;
    boolean waits = false;
    for (int i = flushed; i < end; i++) {
      // The last leaf still needs its next sibling.
      if (!finished && made.get(i) == lastLeaf) {
        waits = true;
      } else {
        pids[n++] = made.get(i);
      }
    }
    pool.flushFresh(pids, n);
    flushed = end;
    if (waits) {
      made.add(lastLeaf); // listed twice; the second time it is written again or already freed
    }
  }

  /** Logs all pages after {@link #finish}, for small trees where this is cheaper than writing. */
  public void logPages() {
    for (int i = 0; made != null && i < made.size(); i++) {
      log.grant(pageSpace());
      int frame = pool.fixExclusive(made.get(i));
      try {
        StructureRecord.append(
            pool, log, RecordType.STRUCTURE, 0, frame, StructureRecord.NONE, StructureRecord.NONE);
      } finally {
        pool.releaseExclusive(frame);
      }
    }
  }

  /** Frees all pages of an unlogged tree except its root; the tree must not be published. */
  public void freePages() {
    finished = true;
    levels.clear();
    freeUnreferenced();
    LongList all = made;
    if (all != null) {
      for (int i = all.size() - 1; i >= 0; i--) {
        TreeDrop.freePage(pool, tree.treeId(), all.get(i), log);
      }
      all.clear();
      flushed = 0;
    }
  }

  /** Frees all pages of a logged load that was not finished, leaving the tree empty. */
  @Override
  public void close() {
    if (finished || made != null) {
      return;
    }
    finished = true;
    freeUnreferenced();
    PendingNode leaf = levels.get(0).pending;
    for (int i = 0; i < leaf.count(); i++) {
      if (leaf.field(i) == BTreeNode.OVERFLOW) {
        int stub = leaf.valueAt(i);
        TreeDrop.freeChain(
            pool,
            tree.treeId(),
            OverflowChain.stubPid(leaf.bytes(), stub),
            OverflowChain.stubLength(leaf.bytes(), stub),
            log);
      }
    }
    for (long pid : detached) {
      TreeDrop.freeBelow(pool, tree.treeId(), pid, log);
    }
    for (Level level : levels) {
      for (int i = 0; level.level > 0 && i < level.pending.count(); i++) {
        TreeDrop.freeBelow(pool, tree.treeId(), level.pending.child(i), log);
      }
    }
  }
}
