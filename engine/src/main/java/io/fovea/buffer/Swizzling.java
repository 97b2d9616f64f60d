package io.fovea.buffer;

import io.fovea.config.Translation;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * References that are believed: under {@link Translation#SWIZZLED} the frame in a reference from an
 * inner node to a child is no hint but where the child is, as a pointer would be. What has to be
 * done for that when pages come, leave, or change their parents, is here.
 *
 * <pre>
 *   parent, in frame p                              header line of frame c
 *   +--------------------------------+              +---------------------------------+
 *   | ... | c + 1 | page id of C |   | ───────────► | version | C | ... | PARENT = p+1 |
 *   +--------------------------------+  ◄─────────  +---------------------------------+
 *             swizzled; c + 1 = 0: not                PARENT = 0: no reference names c
 *
 *   field    who writes it                                       who reads it
 *   word     {@link #swizzle}, {@link #leave}, changes of structure     descents, believed
 *   PARENT   the same, and {@link #adopt}, {@link #disown}              {@link #leave}
 * </pre>
 *
 * <p>Swizzling and its way back: Graefe, Volos, Kimura, Kuno, Tucek, Lillibridge, Veitch,
 * "In-Memory Performance for Big Data", PVLDB 8(1), 2014. The link to the parent is that of its
 * figure 9. A reference keeps its page id beside the frame, so that unswizzling looks nothing up.
 *
 * <h2>Rules</h2>
 *
 * <ol>
 *   <li><b>S1. A frame in a reference is exact</b>: while the parent's version holds, or while the
 *       parent is latched, the child is in that frame, and PARENT there names the parent. So a
 *       descent compares no page id ({@link BufferPool#optimisticChild}). It reads the child's
 *       version (acquire) after the word and before it validates the parent: as long as the parent
 *       validates, the child had not left when its version was read.
 *   <li><b>S2. To swizzle</b>, the child is latched shared and its header names it, and the parent
 *       is latched shared in the version in which the reference was read. PARENT first, then the
 *       word. Forbidden without the child's latch: the child is found; it leaves; another page
 *       comes into its frame; the word is stored, and that page is believed to be the child.
 *   <li><b>S3. To let a page go</b>, which is latched exclusively: where PARENT names a node, that
 *       is latched exclusively by one attempt, the frame is taken out of its word, and <i>its
 *       version moves on</i>. Forbidden with the version unchanged, as the repair of a hint leaves
 *       it: a reader has the word; the child leaves; another page comes into its frame; the reader
 *       takes that page's version, finds the parent unchanged, and searches a page of somebody
 *       else. Who has taken the child's version before sees that one move. The node does not get
 *       dirty and nothing is logged: the file would get what it has.
 *   <li><b>S4. An inner page with a swizzled child does not leave.</b> Forbidden: the node leaves
 *       with PARENT of its child left behind; the node is loaded again elsewhere, without frames;
 *       the child can't be let go, for nobody finds its word. So swizzling goes down the tree and
 *       unswizzling up. The words are looked through under the exclusive latch, some 100 ns; a
 *       count that is kept would cost every change of structure.
 *   <li><b>S5. PARENT is exact while its node is not latched exclusively</b>, and else a guess to
 *       who lets a page go. Changes of structure say where moved entries are now, by {@link #adopt}
 *       and {@link #reference}, before they give back the first of their latches; a page that is
 *       freed, or begun anew, has no parent, and its children have none ({@link #disown}). Who read
 *       PARENT before a split finds no word in that node, and takes another victim. Forbidden: a
 *       child without PARENT whose word stays, even while the node is latched: it leaves at once,
 *       and the word that names its frame is believed.
 *   <li><b>S6. Parents to children only.</b> Siblings, roots, positions, places, entries of indexes
 *       are guesses, checked as under every kind.
 *   <li><b>S7. Nothing of it is written, and nothing that is read is believed.</b> Copies for the
 *       file and the log have no frames ({@link PageCopy#forgetFrames}); those for snapshots may
 *       have some, of another pool, and a file can be forged: so whatever comes into a frame from a
 *       device or from the log is cleared of them first ({@link #arrived}).
 * </ol>
 *
 * <h2>Each way by which a page leaves its frame, or becomes another</h2>
 *
 * <pre>
 *   victim of a miss, of the writer, of a share       Residency.leave                     leave
 *   read that failed                                  Loader, GroupLoader                 (1)
 *   promoted, demoted, swapped                        PagePromoter                        (2)
 *   freed: merge, drop, cut, move, root that moved    PageAllocator.link                  disown
 *   given out, taken over                             PageAllocator.init                  disown
 *   cut off the end of the file                       FreeListWalk                        (3)
 *   image of the log over it                          PageImages.apply                    disown
 *   split                                             Splitter      reference, adopt of the right
 *   split of the root                                 Splitter      reference, adopt of both
 *   merge                                             Merger        reference, adopt of the left
 *   only child into the root                          Merger        adopt of the root
 *   node moved                                        TreeCompaction   reference, adopt of the new
 *   root lowered                                      RootMove      reference, adopt of the new
 *   children cut out of a parent                      RangeCut      disown of these, reference
 *   nodes of a tree that is dropped                   TreeDrop      forsake, before the first child
 *   built from below                                  BulkLoader                          (4)
 *   part of a long value moved                        ChainMove                           (5)
 *
 *   (1) nobody has seen it: it was latched exclusively since it was entered
 *   (2) the table has no preferred frames, so no page moves
 *   (3) free pages, which have neither parent nor children
 *   (4) references without frames; what was made is freed parents first, whose children then have
 *       none
 *   (5) no reference names the frame of a page that is no node
 * </pre>
 *
 * <p><b>Damage.</b> A page that two nodes name, by a defect or forged, has one PARENT: it is set
 * from 0 alone, so the second node's reference stays without a frame and is checked. And a page is
 * swizzled only where tree and level are a child's: so links never run in a circle, in which no
 * page could leave.
 *
 * <p><b>Latches</b> are taken by trying, child before parent, which is against the order: nobody
 * waits here.
 *
 * <p>Where the kind is another one, all of this does nothing.
 *
 * @since 0.1.0
 */
public final class Swizzling {
  /** Whether references are believed. */
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

  /** Where the references of an inner node end: those of a damaged page within it. */
  private long end(int frame) {
    long base = base(frame);
    long last =
        base
            + PageRef.FIRST
            + (long) Mem.getUnsignedShort(pages, base + PageRef.COUNT) * PageRef.STRIDE;
    return Math.min(last, base + (1L << pageShift) - Long.BYTES);
  }

  /** The child that a word names, if it is swizzled; -1 if not. */
  private int child(long word) {
    int frame = PageRef.frame(word);
    return frame >= 0 && frame < count ? frame : -1;
  }

  // ------------------------------------------------------------------------------------- the hits

  /**
   * Lets a reference name the frame of its child (S2). Nothing is waited for; what is not done now
   * the next descent does.
   *
   * @param parent the frame of the parent
   * @param version in which the reference was read
   * @param at where the reference is
   * @param ref the reference
   * @param frame where its page was a moment ago
   * @return whether it names it
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
        // Under the shared latch nothing moves the version any more.
        if (!Latch.validate(headers, parent, version)
            || !mayBeChild(parent, frame)
            || !FrameHeader.linkParent(headers, frame, parent + 1)) {
          return false;
        }
        // Release: whoever sees the word sees PARENT, without latches too (problem).
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

  // ---------------------------------------------------------------------------------- the way back

  /**
   * Whether a page may leave its frame; then no reference names it any more (S3, S4). Its frame is
   * latched exclusively and stays so. False: nothing has changed, take another one.
   */
  boolean leave(int frame) {
    if (!on) {
      return true;
    }
    if (isInner(frame) && hasSwizzled(frame)) {
      counters.staysForChildren.increment();
      return false;
    }
    int parent = FrameHeader.parent(headers, frame) - 1;
    if (parent < 0) {
      return true;
    }
    if (!Latch.tryExclusive(headers, parent)) {
      counters.staysForParent.increment();
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
    (found ? counters.unswizzled : counters.staysForParent).increment();
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

  /** Takes a frame out of the references of a node; of a damaged one out of several. */
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

  // -------------------------------------------------------------------------- changes of structure

  /**
   * Says that entries have moved into a node: their children have this parent now. All pages of the
   * change are latched exclusively, those where the entries were as well.
   *
   * @param frame the node; or a page that is none, which adopts nobody
   */
  public void adopt(int frame) {
    setParents(frame, frame + 1, false);
  }

  /**
   * Says that the entries of a page go, or are built anew: its children have no parent. The page is
   * latched exclusively. Children that have another parent by now keep it.
   *
   * @param frame the page
   */
  public void disown(int frame) {
    setParents(frame, 0, false);
  }

  /**
   * The same for some children of a node, whose references are taken out before its latch is given
   * back.
   *
   * @param frame the node
   * @param first the first of them, counted from 0
   * @param last the last of them
   */
  public void disown(int frame, int first, int last) {
    for (int i = first; on && i <= last; i++) {
      int child =
          child(Mem.getLong(pages, base(frame) + PageRef.FIRST + (long) i * PageRef.STRIDE));
      if (child >= 0 && FrameHeader.parent(headers, child) == frame + 1) {
        FrameHeader.setParent(headers, child, 0);
      }
    }
  }

  /** Who holds the node's latch may: a child that it is the parent of does not leave meanwhile. */
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
   * Takes the frames out of all references of a page: before its children are freed and the page
   * stays. The caller waits for the page's latch, holds no other, and gives it back with a new
   * version.
   *
   * @param frame of the page, latched exclusively
   */
  public void forsake(int frame) {
    if (on) {
      setParents(frame, 0, true);
    }
  }

  /** Whether references are believed at all. */
  public boolean isOn() {
    return on;
  }

  /** A page is begun anew, or free: it has no parent, and nobody has it as one. */
  void begin(int frame) {
    if (on) {
      disown(frame);
      FrameHeader.setParent(headers, frame, 0);
    }
  }

  /** What has come into an exclusively latched frame names no frames of this pool (S7). */
  void arrived(int frame) {
    if (on) {
      PageRef.clear(pages, base(frame), 1 << pageShift);
    }
  }

  // -------------------------------------------------------------------------------------- checking

  /**
   * Looks whether a node's references are exact (S1).
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

  /**
   * Looks whether a page's parent names it: of a pool at rest.
   *
   * @return what is wrong; null if nothing is
   */
  @Nullable String orphan(int frame) {
    int parent = FrameHeader.parent(headers, frame) - 1;
    if (!on || parent < 0) {
      return null;
    }
    for (long at = base(parent) + PageRef.FIRST, end = isInner(parent) ? end(parent) : 0;
        at <= end;
        at += PageRef.STRIDE) {
      if (PageRef.frame(Mem.getLong(pages, at)) == frame) {
        return null;
      }
    }
    return "the node in frame " + parent + " does not name frame " + frame + ", whose parent it is";
  }
}
