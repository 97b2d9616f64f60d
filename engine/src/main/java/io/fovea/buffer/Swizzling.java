package io.fovea.buffer;

import io.fovea.config.Translation;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Trusted references: under {@link Translation#SWIZZLED} the frame in a reference from an inner
 * node to a child is exact, like a pointer. This class maintains that when pages arrive, leave, or
 * change their parents.
 *
 * <pre>
 *   parent, in frame p                              header line of frame c
 *   +--------------------------------+              +---------------------------------+
 *   | ... | c + 1 | page id of C |   | ───────────► | version | C | ... | PARENT = p+1 |
 *   +--------------------------------+  ◄─────────  +---------------------------------+
 *             swizzled; c + 1 = 0: not                PARENT = 0: no reference names c
 *
 *   field    written by                               read by
 *   word     {@link #swizzle}, {@link #leave}, structure changes        descents, trusted
 *   PARENT   the same, and {@link #setParent}, {@link #clearParents}    {@link #leave}
 * </pre>
 *
 * <p>Source: Graefe, Volos, Kimura, Kuno, Tucek, Lillibridge, Veitch, "In-Memory Performance for
 * Big Data", PVLDB 8(1), 2014. The link to the parent is that of its figure 9. A reference keeps
 * its page id next to the frame, so that unswizzling needs no lookup.
 *
 * <h2>Rules</h2>
 *
 * <ol>
 *   <li><b>S1. A frame in a reference is exact</b>: while the parent's version holds, or while the
 *       parent is latched, the child is in that frame, and PARENT there names the parent. So a
 *       descent compares no page id ({@link BufferPool#optimisticChild}). It reads the child's
 *       version (acquire) after the word and before it validates the parent: if the parent
 *       validates, the child was still there when its version was read.
 *   <li><b>S2. To swizzle</b>, the child is latched shared and its header names it, and the parent
 *       is latched shared in the version in which the reference was read. PARENT is stored before
 *       the word. Excluded by the child's latch: the child is found and leaves, another page gets
 *       its frame, the word is stored, and that page is taken for the child.
 *   <li><b>S3. To evict a page</b>, which is latched exclusively: if PARENT names a node, that node
 *       is latched exclusively in a single attempt, the frame is cleared in its word, and <i>its
 *       version advances</i>, unlike in a hint repair. Excluded: a reader has the word; the child
 *       leaves; another page gets its frame; the reader takes that page's version, finds the parent
 *       unchanged, and searches the wrong page. A reader that took the child's version earlier sees
 *       it change. The node does not become dirty and nothing is logged: the file would stay equal.
 *   <li><b>S4. An inner page with a swizzled child does not leave.</b> Excluded: the node leaves,
 *       but PARENT of its child stays; the node is loaded again elsewhere, without frames; the
 *       child can't be evicted, because its word is never found. So swizzling goes down the tree
 *       and unswizzling up. The words are scanned under the exclusive latch; a counter would cost
 *       every structure change.
 *   <li><b>S5. PARENT is exact while its node is not latched exclusively</b>, and otherwise a hint
 *       to evictors. Structure changes record the new parents of moved entries, by {@link
 *       #setParent} and {@link #reference}, before they release the first of their latches; a page
 *       that is freed or initialized has no parent, and neither do its children ({@link
 *       #clearParents}). A thread that read PARENT before a split finds no word in that node, and
 *       takes another victim. Excluded: a child without PARENT whose word stays, even while the
 *       node is latched: it could leave, and the word that names its frame would be trusted.
 *   <li><b>S6. Parents to children only.</b> Siblings, roots, cursor positions, key locations and
 *       entries of indexes are hints, checked as under every kind.
 *   <li><b>S7. Frames are never written, and frames from outside are never trusted.</b> Copies for
 *       the file and the log contain no frames ({@link PageCopy#clearFrameHints}). Copies for
 *       snapshots may contain frames of another pool, and a file can be forged, so frames are
 *       cleared in every page that arrives from a device or from the log ({@link #arrived}).
 * </ol>
 *
 * <h2>Ways in which a page leaves its frame, or becomes another</h2>
 *
 * <pre>
 *   victim of a miss, of the writer, of a share       Residency.leave                  leave
 *   read that failed                                  Loader, GroupLoader              (1)
 *   promoted, demoted, swapped                        PagePromoter                     (2)
 *   freed: merge, drop, cut, move, root that moved    PageAllocator.link               clearParents
 *   allocated, taken over                             PageAllocator.init               clearParents
 *   cut off the end of the file                       FreeListWalk                     (3)
 *   image of the log over it                          PageImages.apply                 clearParents
 *
 *   split                             Splitter         reference, setParent of the right node
 *   split of the root                 Splitter         reference, setParent of both nodes
 *   merge                             Merger           reference, setParent of the left node
 *   only child into the root          Merger           setParent of the root
 *   node moved                        TreeCompaction   reference, setParent of the new node
 *   root lowered                      RootMove         reference, setParent of the new node
 *   children cut out of a parent      RangeCut         clearParents of these, reference
 *   nodes of a tree that is dropped   TreeDrop         clearReferences, before the first child
 *   bulk load                         BulkLoader       (4)
 *   part of a long value moved        ChainMove        (5)
 *
 *   (1) no thread has seen it: it was latched exclusively since it was entered
 *   (2) the table has no preferred frames, so no page moves
 *   (3) free pages, which have neither parent nor children
 *   (4) references without frames; on failure pages are freed parents first, whose children then
 *       have none
 *   (5) no reference names the frame of a page that is no node
 * </pre>
 *
 * <p><b>Damage.</b> A page that two nodes name, because of a defect or a forgery, has one PARENT:
 * it is set only from 0, so the second node's reference stays without a frame and is checked. A
 * page is swizzled only if its tree and level are those of a child, so links never form a cycle, in
 * which no page could leave.
 *
 * <p><b>Latches</b> are only tried, because latching a child before its parent violates the latch
 * order. Under other translations this class does nothing.
 *
 * @since 0.1.0
 */
public final class Swizzling {
  final boolean on;

  private final MemorySegment pages;
  private final MemorySegment headers;
  private final Counters counters;
  private final int count;
  private final int pageShift;

  Swizzling(Frames frames, PoolConfig config) {
    this(
        frames.pages,
        frames.headers,
        frames.counters,
        frames.count,
        frames.pageShift,
        config.translation() == Translation.SWIZZLED
            && config.frameHints()
            && frames.count <= PageRef.FRAMES_MAX);
  }

  Swizzling(
      MemorySegment pages,
      MemorySegment headers,
      Counters counters,
      int count,
      int pageShift,
      boolean on) {
    this.pages = pages;
    this.headers = headers;
    this.counters = counters;
    this.count = count;
    this.pageShift = pageShift;
    this.on = on;
  }

  private long base(int frame) {
    return (long) frame << pageShift;
  }

  private boolean isInner(int frame) {
    return PageHeader.type(pages, base(frame)) == PageHeader.INNER;
  }

  /** Returns the last reference of an inner node; within the page even if the node is damaged. */
  private long end(int frame) {
    long base = base(frame);
    long last =
        base
            + PageRef.FIRST
            + (long) Mem.getUnsignedShort(pages, base + PageRef.COUNT) * PageRef.STRIDE;
    return Math.min(last, base + (1L << pageShift) - Long.BYTES);
  }

  /** Returns the frame of the child that a word names, if it is swizzled; otherwise -1. */
  private int child(long word) {
    int frame = PageRef.frame(word);
    return frame >= 0 && frame < count ? frame : -1;
  }

  // -------------------------------------------------------------------------------- swizzling

  /**
   * Stores the frame of a child in its reference (S2). Does not wait; after a failure, the next
   * descent tries again.
   *
   * @param parent the frame of the parent
   * @param version the version in which the reference was read
   * @param at the offset of the reference
   * @param ref the reference
   * @param frame the frame in which the child was found
   * @return whether the reference names it
   */
  boolean swizzle(int parent, long version, long at, long ref, int frame) {
    if (!Latch.tryShared(headers, frame)) {
      return false;
    }
    try {
      if (FrameHeader.pid(headers, frame) != PageRef.pid(ref)
          || !Latch.tryShared(headers, parent)) {
        return false;
      }
      try {
        // Under the shared latch the version stays.
        if (!Latch.validate(headers, parent, version)
            || !mayBeChild(parent, frame)
            || !FrameHeader.linkParent(headers, frame, parent + 1)) {
          return false;
        }
        // Release: a thread that sees the word sees PARENT, even without latches (problem).
        Mem.putLongRelease(pages, at, PageRef.of(ref, frame + 1));
        return true;
      } finally {
        Latch.releaseShared(headers, parent);
      }
    } finally {
      Latch.releaseShared(headers, frame);
    }
  }

  private boolean mayBeChild(int parent, int frame) {
    long above = base(parent);
    long below = base(frame);
    int level = PageHeader.level(pages, above) - 1;
    return PageHeader.level(pages, below) == level
        && PageHeader.type(pages, below) == (level == 0 ? PageHeader.LEAF : PageHeader.INNER)
        && PageHeader.treeId(pages, below) == PageHeader.treeId(pages, above);
  }

  /** See {@link BufferPool#reference}: both are latched exclusively. */
  long reference(long pid, int frame, int parent) {
    FrameHeader.setParent(headers, frame, parent + 1);
    return PageRef.of(pid, frame + 1);
  }

  // ------------------------------------------------------------------------------ unswizzling

  /**
   * Returns whether a page may leave its frame; if so, no reference names it any more (S3, S4). Its
   * frame is latched exclusively and stays so. If false, nothing has changed, and the caller
   * chooses another victim.
   */
  boolean leave(int frame) {
    if (!on) {
      return true;
    }
    if (isInner(frame) && hasSwizzled(frame)) {
      counters.retainedForChildren.increment();
      return false;
    }
    int parent = FrameHeader.parent(headers, frame) - 1;
    if (parent < 0) {
      return true;
    }
    if (!Latch.tryExclusive(headers, parent)) {
      counters.retainedForParent.increment();
      return false;
    }
    boolean found = false;
    try {
      found = isInner(parent) && unswizzle(parent, frame);
      if (found) {
        FrameHeader.setParent(headers, frame, 0);
      }
    } finally {
      if (found) {
        Latch.releaseExclusive(headers, parent);
      } else {
        Latch.releaseExclusiveUnchanged(headers, parent);
      }
    }
    (found ? counters.unswizzled : counters.retainedForParent).increment();
    return found;
  }

  private boolean hasSwizzled(int frame) {
    for (long at = base(frame) + PageRef.FIRST, end = end(frame); at <= end; at += PageRef.STRIDE) {
      if (PageRef.hint(Mem.getLong(pages, at)) != 0) {
        return true;
      }
    }
    return false;
  }

  /**
   * Clears a frame in the references of a node; a damaged node may contain the frame several times.
   */
  private boolean unswizzle(int parent, int frame) {
    boolean found = false;
    for (long at = base(parent) + PageRef.FIRST, end = end(parent);
        at <= end;
        at += PageRef.STRIDE) {
      long word = Mem.getLong(pages, at);
      if (PageRef.frame(word) == frame) {
        Mem.putLongOpaque(pages, at, PageRef.pid(word));
        found = true;
      }
    }
    return found;
  }

  // ------------------------------------------------------------------------ structure changes

  /**
   * Records that entries have moved into a node, which is now the parent of their children. All
   * pages of the change are latched exclusively, including the pages that the entries came from.
   *
   * @param frame the node; a page that is not a node adopts no children
   */
  public void setParent(int frame) {
    setParents(frame, frame + 1, false);
  }

  /**
   * Records that the entries of a page are removed or rebuilt: its children have no parent. The
   * page is latched exclusively. Children that already have another parent keep it.
   *
   * @param frame the page
   */
  public void clearParents(int frame) {
    setParents(frame, 0, false);
  }

  /**
   * Records that some children of a node have no parent, because their references are removed
   * before its latch is released.
   *
   * @param frame the node
   * @param first the index of the first child, from 0
   * @param last the index of the last child
   */
  public void clearParents(int frame, int first, int last) {
    for (int i = first; on && i <= last; i++) {
      int child =
          child(Mem.getLong(pages, base(frame) + PageRef.FIRST + (long) i * PageRef.STRIDE));
      if (child >= 0 && FrameHeader.parent(headers, child) == frame + 1) {
        FrameHeader.setParent(headers, child, 0);
      }
    }
  }

  /** The caller holds the node's latch, so a child whose parent it is does not leave. */
  private void setParents(int frame, int parent, boolean clear) {
    if (!on || !isInner(frame)) {
      return;
    }
    for (long at = base(frame) + PageRef.FIRST, end = end(frame); at <= end; at += PageRef.STRIDE) {
      long word = Mem.getLong(pages, at);
      int child = child(word);
      if (child >= 0 && (parent != 0 || FrameHeader.parent(headers, child) == frame + 1)) {
        FrameHeader.setParent(headers, child, parent);
      }
      if (clear) {
        Mem.putLongOpaque(pages, at, PageRef.pid(word));
      }
    }
  }

  /**
   * Clears the frames in all references of a page that stays while its children are freed. The
   * caller waits for the page's latch, holds no other, and releases it with a new version.
   *
   * @param frame the frame of the page, latched exclusively
   */
  public void clearReferences(int frame) {
    if (on) {
      setParents(frame, 0, true);
    }
  }

  /** Returns whether references are trusted at all. */
  public boolean isOn() {
    return on;
  }

  /** Records that a page was initialized or freed: it has no parent, and is not one. */
  void begin(int frame) {
    if (on) {
      clearParents(frame);
      FrameHeader.setParent(headers, frame, 0);
    }
  }

  /** Clears the frames in a page that arrived in an exclusively latched frame (S7). */
  void arrived(int frame) {
    if (on) {
      PageRef.clear(pages, base(frame), 1 << pageShift);
    }
  }

  // -------------------------------------------------------------------------------------- checking

  /**
   * Checks that a node's references are exact (S1).
   *
   * @param frame the node's frame, latched
   * @return what is wrong with one of them; null if nothing is
   */
  public @Nullable String problem(int frame) {
    if (!on || !isInner(frame)) {
      return null;
    }
    for (long at = base(frame) + PageRef.FIRST, end = end(frame); at <= end; at += PageRef.STRIDE) {
      long word = Mem.getLongAcquire(pages, at);
      int child = PageRef.frame(word);
      if (child >= count) {
        return "a reference names frame " + child + " of " + count;
      }
      if (child >= 0 && FrameHeader.pid(headers, child) != PageRef.pid(word)) {
        return "a reference to page "
            + PageRef.pid(word)
            + " names frame "
            + child
            + ", which has page "
            + FrameHeader.pid(headers, child);
      }
      if (child >= 0 && FrameHeader.parent(headers, child) != frame + 1) {
        return "the page in frame "
            + child
            + " has its parent in frame "
            + (FrameHeader.parent(headers, child) - 1)
            + ", not in "
            + frame;
      }
    }
    return null;
  }
}
