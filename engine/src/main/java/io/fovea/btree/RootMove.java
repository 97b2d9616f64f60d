package io.fovea.btree;

import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.memory.LongList;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;

/**
 * Moves the root of a tree to another page, concurrently with all other operations. {@link
 * StructureChange} has the rules.
 *
 * <pre>
 *   {@link #lower}     R: content              -&gt;  R: N      N: content
 *             one STRUCTURE record: images of N and R. The tree is one level higher
 *   switch    catalog: the root is R    -&gt;  catalog: the root is N      R is freed
 *             one SCHEMA record of the catalog's change, with R as released; under the latch of R:
 *             {@link #latch} ─► the record is appended ─► {@link #publish}
 * </pre>
 *
 * <p>The first step is the reverse of what {@link Merger} does with an only child, and leaves an
 * ordinary tree, which is also the state after a later failure or crash. If the root already has an
 * only child, the first step is not needed.
 *
 * <p><b>Correctness.</b> The new root id is stored under the latch of R, after the record was
 * appended and before R is freed.
 *
 * <ul>
 *   <li><i>Descents.</i> A descent that read the version of R before the switch fails at its next
 *       validation. A descent that reads the version of R's page later reads the root id again,
 *       finds N and restarts ({@link Descent}).
 *   <li><i>Structure changes.</i> As a child, N is split or merged under the latch of its parent R,
 *       which is held here, and {@link #latch} has checked that N is the only child and so contains
 *       the whole tree. As a root, N is split only by threads that have read the new root id. A
 *       thread that latches the root checks under the latch that it is still the root. A thread
 *       that upgrades R as a parent fails.
 *   <li><i>Record changes</i> latch only leaves.
 *   <li><i>Snapshots</i> begin under the schema lock, which the switch holds, so catalog and pages
 *       match. A snapshot finds R through its own catalog; R was copied before it changed, like any
 *       page.
 *   <li><i>Operations that store the root id in the catalog</i> (drops, renames, loads,
 *       transactions that change the catalog) hold that lock until their record is in the log.
 * </ul>
 *
 * <p><b>Recovery.</b> The catalog is replayed first and names the root. With the SCHEMA record the
 * root is N, and R is an orphan until its FREE record. Without it the root is R, whose child is N
 * if the STRUCTURE record is in the log; otherwise N is an orphan.
 *
 * <p>Used by one thread, under the schema lock.
 */
public final class RootMove {
  /** The log space that {@link #publish} uses. */
  public static final long SPACE = AllocatorRecord.FREE_SPACE;

  private final Descent descent;
  private final StructureChange change;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;
  private final int treeId;
  private final long from;
  private long to;

  /** The frame of the latched root; -1 if not latched. */
  private int latched = -1;

  /** Prepares to move the current root of a tree. */
  public RootMove(BTree tree) {
    this.descent = tree.descent();
    this.change = new StructureChange(descent, tree.scratches());
    this.pool = tree.pool();
    this.pages = pool.pages();
    this.pageSize = pool.pageSize();
    this.treeId = tree.treeId();
    this.from = tree.rootPid();
  }

  /** Returns the page that is the root before the move. */
  public long from() {
    return from;
  }

  /**
   * Returns the page that is the root after the move; 0 before {@link #lower} or {@link
   * #findChild}.
   */
  public long to() {
    return to;
  }

  /** Looks for an only child of the root, which can become the root. Returns the child, or 0. */
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
   * Moves the content of the root to the last page of the spare list, which becomes its only child.
   * The session must have begun before that page was allocated. Returns false if other threads kept
   * interfering.
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
    boolean complete = false;
    try {
      both = change.tryLatch(fresh, page);
      if (both) {
        long base = pool.base(root);
        int level = PageHeader.level(s, base);
        NodeCheck.node(s, base, pageSize, level, treeId);
        changed = true;
        change.copyNode(base, pool.base(fresh));
        pool.swizzling().setParent(fresh);
        int none = BTreeNode.NONE;
        NodeEditor.init(s, base, pageSize, level + 1, s, base, none, s, base, none);
        NodeEditor.setChild(s, base, 0, pool.reference(page, fresh, root));
        NodeEditor.makeHeads(s, base);
        complete = true;
        change.append(log, 0, fresh, root, StructureRecord.NONE);
      }
    } catch (Throwable t) {
      if (both) {
        LatchErrorGuard.releaseWhole(pool, fresh, complete, changed, t);
      }
      LatchErrorGuard.releaseWhole(pool, root, complete, changed, t);
      throw LatchErrorGuard.rethrow(pool, from, t);
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
   * Latches the root if it has the only child that is to become the root. If true, {@link #publish}
   * or {@link #cancel} must follow, without waiting in between.
   */
  public boolean latch() {
    for (int i = 0; i < StructureChange.TRIES; i++) {
      int frame = change.resolve(from);
      if (change.tryLatch(frame, from)) {
        latched = frame; // stored first, so that the latch is released whatever fails later
        if (change.rootPid() == from && to != 0 && onlyChild(pool.base(frame)) == to) {
          return true;
        }
        cancel();
        return false;
      }
      Pause.after(i);
    }
    return false;
  }

  /**
   * Publishes the new root, after its record is in the log, and frees the old page. The record's
   * session has {@link #SPACE} left.
   */
  public void publish(LogSession log) {
    descent.moveRoot(to); // before the page is freed; partner of the second read in Descent.descend
    int frame = latched;
    latched = -1;
    pool.free(frame, log);
  }

  /**
   * Releases the root unchanged, without a record in the log. Does nothing if it is not latched.
   */
  public void cancel() {
    int frame = latched;
    latched = -1;
    if (frame >= 0) {
      pool.releaseExclusiveUnchanged(frame);
    }
  }
}
