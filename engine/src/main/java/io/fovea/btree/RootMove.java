package io.fovea.btree;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.memory.LongList;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;

/**
 * Moves the root of a tree to another page, while everything goes on. The rules are those of {@link
 * StructureChange}.
 *
 * <pre>
 *   {@link #lower}     R: what the root has    -&gt;  R: N      N: what the root had
 *             one STRUCTURE record: images of N and R. The tree is one level higher
 *   switch    catalog: the root is R    -&gt;  catalog: the root is N      R is freed
 *             one SCHEMA record of the catalog's change, with R as released; under the latch of R:
 *             {@link #latch} ─► the record is appended ─► {@link #happened}
 * </pre>
 *
 * <p>The first step is the opposite of what a {@link Merger} does with an only child, and leaves a
 * tree like any other: whatever fails behind it, or a crash, leaves just that. An only child that
 * is there already, after such a failure, needs no first step.
 *
 * <p><b>Why nobody loses the way.</b> Which page is the root, is stored under the latch of R, after
 * the record was appended and before R is free.
 *
 * <ul>
 *   <li><i>A descent</i> that has read the version of R before is refused by that version at its
 *       next step. One that reads a version of R's page later looks once more which page is the
 *       root, and finds N ({@link Descent}). It begins anew there.
 *   <li><i>Changes of structure.</i> As a child N is split or merged under the latch of its parent
 *       R, so not while that is held here; and {@link #latch} has seen that N is the only child, so
 *       N has all that the tree has. As a root N is split by who has read that it is the root, thus
 *       later. Who latches a page as the root asks under the latch whether it is. Who comes with
 *       the version of R as of a parent is refused.
 *   <li><i>Changes of records</i> latch leaves, and know nothing of roots.
 *   <li><i>Snapshots</i> begin under the lock of the schema, which the switch holds: the catalog
 *       and the pages of a moment belong together. A snapshot finds R by its own catalog, as it
 *       was: R was copied before it changed, as any page.
 *   <li><i>Who asks for the root to note it in the catalog</i> (drops, renames, loads, transactions
 *       that change the catalog) holds that lock from then until its record is in the log.
 * </ul>
 *
 * <p><b>Recovery.</b> The catalog is replayed first, and says which page is the root. If the SCHEMA
 * record is there, that is N, and R is an orphan until its FREE record is there too. If it is not,
 * that is R, with N below it if the STRUCTURE record is there; else N is an orphan.
 *
 * <p>One thread, under the lock of the schema.
 *
 * @since 0.1.0
 */
public final class RootMove {
  /** What {@link #happened} takes of a grant. */
  public static final long SPACE = AllocatorRecord.FREE_SPACE;

  private final Descent descent;
  private final StructureChange change;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;
  private final int treeId;
  private final long from;
  private long to;

  /** Where the root is latched; -1 while it is not. */
  private int latched = -1;

  /**
   * A move of the root that a tree has now.
   *
   * @param tree the tree
   */
  public RootMove(BTree tree) {
    this.descent = tree.descent();
    this.change = new StructureChange(descent, tree.scratches());
    this.pool = tree.pool();
    this.pages = pool.pages();
    this.pageSize = pool.pageSize();
    this.treeId = tree.treeId();
    this.from = tree.rootPid();
  }

  /**
   * The page that is the root until the move.
   *
   * @return its id
   */
  public long from() {
    return from;
  }

  /**
   * The page that is the root afterwards.
   *
   * @return its id; 0 before {@link #lower} or {@link #findChild}
   */
  public long to() {
    return to;
  }

  /**
   * Looks whether the root has an only child, which can be the root then.
   *
   * @return the child; 0 if it has not
   */
  public long findChild() {
    int frame = pool.fixShared(from);
    try {
      to = onlyChild(pool.base(frame));
      return to;
    } finally {
      pool.releaseShared(frame);
    }
  }

  private long onlyChild(long base) {
    boolean inner =
        BTreeNode.isInner(pages, base)
            && PageHeader.treeId(pages, base) == treeId
            && BTreeNode.count(pages, base) == 0;
    return inner ? BTreeNode.child(pages, base, 0) : 0;
  }

  // ------------------------------------------------------------------------------ the first step

  /**
   * Puts what the root has into another page, which is its only child then.
   *
   * @param spare pages from {@link TreeCompaction#spare}; the last one is taken out if it was used
   * @param log a session that has begun, before the page was allocated
   * @return whether it was done; if not, others were in the way
   */
  public boolean lower(LongList spare, LogSession log) {
    long page = spare.get(spare.size() - 1);
    for (int i = 0; i < StructureChange.TRIES; i++) {
      if (tryLower(page, log)) {
        spare.removeLast();
        to = page;
        return true;
      }
      Pause.after(i);
    }
    return false;
  }

  private boolean tryLower(long page, LogSession log) {
    MemorySegment s = pages;
    log.grant(change.space);
    int fresh = change.resolve(page);
    int root = change.resolve(from);
    if (!change.tryLatch(root, from)) {
      return false;
    }
    boolean both = false;
    boolean changed = false;
    boolean whole = false;
    try {
      both = change.tryLatch(fresh, page);
      if (both) {
        long base = pool.base(root);
        int level = PageHeader.level(s, base);
        NodeCheck.node(s, base, pageSize, level, treeId);
        changed = true;
        change.copyNode(base, pool.base(fresh));
        pool.swizzling().adopt(fresh);
        int none = BTreeNode.NONE;
        NodeEditor.init(s, base, pageSize, level + 1, s, base, none, s, base, none);
        NodeEditor.setChild(s, base, 0, pool.reference(page, fresh, root));
        NodeEditor.makeHeads(s, base);
        whole = true;
        change.append(log, 0, fresh, root, StructureRecord.NONE);
      }
    } catch (Throwable t) {
      if (both) {
        LatchErrorGuard.giveWhole(pool, fresh, whole, changed, t);
      }
      LatchErrorGuard.giveWhole(pool, root, whole, changed, t);
      throw LatchErrorGuard.meaning(pool, from, t);
    }
    if (!both) {
      pool.releaseExclusiveUnchanged(root);
      return false;
    }
    pool.releaseExclusive(fresh);
    pool.releaseExclusive(root);
    return true;
  }

  // ---------------------------------------------------------------------------------- the switch

  /**
   * Latches the root, if it has the only child that is to be the root.
   *
   * @return whether it is latched: then {@link #happened} or {@link #giveUp} follows, and nothing
   *     in between waits
   */
  public boolean latch() {
    for (int i = 0; i < StructureChange.TRIES; i++) {
      int frame = change.resolve(from);
      if (change.tryLatch(frame, from)) {
        latched = frame; // a store: whatever fails from here on, it is given back
        if (change.rootPid() == from && to != 0 && onlyChild(pool.base(frame)) == to) {
          return true;
        }
        giveUp();
        return false;
      }
      Pause.after(i);
    }
    return false;
  }

  /**
   * The record is in the log: the root is another page from here on.
   *
   * @param log the session of the record, with {@link #SPACE} left
   */
  public void happened(LogSession log) {
    descent.moveRoot(to); // before the page is free: partner of Descent.descend
    int frame = latched;
    latched = -1;
    pool.free(frame, log);
  }

  /**
   * The record is not in the log: everything is as it was. Does nothing where nothing is latched.
   */
  public void giveUp() {
    int frame = latched;
    latched = -1;
    if (frame >= 0) {
      pool.releaseExclusiveUnchanged(frame);
    }
  }
}
