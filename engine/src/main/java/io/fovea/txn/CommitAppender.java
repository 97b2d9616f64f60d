package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.ChainMove;
import io.fovea.btree.Position;
import io.fovea.buffer.PageReservations;
import io.fovea.error.AbortCause;
import io.fovea.error.StorageFullException;
import io.fovea.memory.LongList;
import io.fovea.memory.Waits;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Appends a commit to the log, and writes its long values, which must be in pages before the log
 * refers to them.
 *
 * <pre>
 *   begin()                 reserves pages for splits and log space; before any lock; may wait or
 *                           refuse
 *   stageLong()             writes new long values to chains of new pages; locks are held, nothing
 *                           is latched; turns patches into whole values, for change subscribers
 *   completeReservations()  replaces reserved pages that chains have taken; may refuse
 *   append()                appends the record, in parts if large; the last one commits
 *   release()               frees the pages of the old long values
 *   undo()                  instead of append: frees the pages of the new ones
 * </pre>
 *
 * <b>Parts.</b> A record occupies contiguous log buffer, so a commit larger than {@link
 * TxConfig#commitPartBytes} is appended in parts, each with a grant of its space. The session's
 * slot was set before the first part, so the redo point stays before it; parts without their commit
 * have no effect.
 *
 * <p><b>Long values.</b> A chain never changes: a new value is a new chain, even after a patch. A
 * commit lists the chains that it releases in its records and frees them after it has published, in
 * the same session. If the process dies in between, the record names the chains to free.
 */
final class CommitAppender {
  /**
   * Reserved pages that a context keeps for its next commit: this number, or this many bytes if
   * that is more.
   */
  private static final int KEEP_PAGES = 16;

  private static final int KEEP_BYTES = 256 << 10;

  /** How often a record is checked again while other threads change its leaf. */
  private static final int CHECKS_MAX = 256;

  private final TxLife life;
  private final TxShared shared;
  private final Workspace work;
  private final TxReads reader;
  private final WriteSet writes;
  private final LogSession session;
  private final CountDeltas counts;
  private final OpLeaves leaves;
  private final int partBytes;

  private final boolean wholeValues;

  private final ChainPages adopted = new ChainPages();
  private final ChainPages released = new ChainPages();
  private final LongList pids = new LongList();

  /** First pages and lengths of the entries whose new value is a chain; 0: not a chain. */
  private long[] firsts = new long[0];

  private int[] lengths = new int[0];
  private boolean chains;

  enum Phase {
    /** No commit, and nothing remains of the last one. */
    NONE,

    /** Not committed; any failure undoes it. */
    UNDECIDED,

    /** The record is in the log. A failure stops the engine, which keeps the locks. */
    HAPPENED,

    /** All changes are in the pages, and the locks are released. */
    PUBLISHED,

    /** Resources are being released. If an error interrupts this, the next commit completes it. */
    ENDING
  }

  private Phase phase = Phase.NONE;

  private @Nullable PageReservations reservations;

  private int pages;

  // The end of the current part: the next entry, and its next patch.
  private int entry;
  private int patch;
  private long bytes;

  CommitAppender(
      TxLife life, Workspace work, TxReads reader, LogSession session, CountDeltas counts) {
    this.life = life;
    this.shared = life.shared;
    this.work = work;
    this.reader = reader;
    this.writes = work.writes;
    this.session = session;
    this.counts = counts;
    this.leaves = new OpLeaves(work);
    this.partBytes = Math.max(1024, shared.partBytes());
    this.wholeValues = shared.config.wholeValues() && session.isLogging();
  }

  /** Reserves pages and log space, except for long values, whose space is granted later. */
  void begin() {
    long bound = CommitRecord.HEADER + CommitCounts.CONTEXT_BYTES_MAX;
    BTree last = null;
    for (int e = 0, n = writes.size(); e < n && bound < partBytes; e++) {
      BTree tree = writes.tree(e);
      bound += entryBytes(e) + LeafCode.BYTES_MAX;
      bound += tree == last ? 0 : CommitCounts.TREE_BYTES_MAX;
      last = tree;
    }
    reservePages();
    session.begin(LogSession.space(Math.min(bound, partBytes)));
  }

  // ---------------------------------------------------------------- pages

  /** Reserves pages: a new or longer record may split leaves and their ancestors. */
  private void reservePages() {
    pages = maxPages(false);
    if (pages > 0) {
      PageReservations p = pool();
      reservations = p;
      reserve(p);
      p.requireFrames();
    }
  }

  /**
   * Returns the maximum number of pages that the changes may take; {@code exact} excludes records
   * that do not grow, which requires reading them.
   */
  private int maxPages(boolean exact) {
    int inserts = 0;
    long bytes = 0;
    for (int e = 0, n = writes.size(); e < n; e++) {
      byte kind = writes.kind(e);
      if (kind == WriteSet.INSERT || kind == WriteSet.PUT && !(exact && fitsInPlace(e))) {
        inserts++;
        bytes += entryBytes(e);
      }
    }
    CatalogPart catalog = Commit.changed(work.catalog);
    if (catalog != null) {
      inserts += catalog.inserts();
      bytes += catalog.bytes();
    }
    return inserts == 0 ? 0 : pool().pagesFor(inserts, bytes);
  }

  private PageReservations pool() {
    CatalogPart catalog = Commit.changed(work.catalog);
    return catalog != null ? catalog.pageReservations() : writes.tree(0).pool().pageReservations();
  }

  /** Returns whether an entry's record takes no more space than the one that it replaces. */
  private boolean fitsInPlace(int e) {
    BTree tree = writes.tree(e);
    Position p = work.position;
    work.locationOf(e, p);
    int now = writes.valueLength(e);
    // A concurrent change of the leaf, or its eviction, says nothing about the record.
    for (int attempt = 0; attempt < CHECKS_MAX; attempt++) {
      tree.locate(writes.scratch.segment(), writes.keyOffset(e), writes.keyLength(e), p);
      int old = p.found ? tree.valueLength(p) : -1;
      boolean stub = isLong(e, old);
      if (tree.valid(p)) {
        return old >= 0 && (isLong(e, now) ? stub : !stub && now <= old);
      }
      Waits.spin(attempt);
    }
    return false;
  }

  private void reserve(PageReservations p) {
    if (session.reservedPages() >= pages) {
      return;
    }
    try {
      p.reserve(session, pages);
    } catch (StorageFullException full) {
      // Reclaim pages from idle contexts; active ones return theirs when they end. Then count
      // exactly, so that a commit that needs no space is not refused.
      shared.releaseIdlePages();
      p.reserve(session, maxPages(true));
    }
  }

  /** Completes the reservations under the locks: nothing after the append may lack pages. */
  void completeReservations() {
    if (counts.length() > partBytes / 4) {
      throw life.abort(
          AbortCause.TOO_LARGE,
          "the transaction changes too many tables and indexes for one record of the log: split "
              + "it, or raise LogOptions.bufferBytes");
    }
    PageReservations p = reservations;
    if (p != null) {
      reserve(p);
    }
    released.claim(session);
  }

  void releasePages(boolean all) {
    PageReservations p = reservations;
    if (p != null) {
      pages = 0;
      p.release(session, all ? 0 : Math.max(KEEP_PAGES, KEEP_BYTES / p.pageSize()));
    }
  }

  private long entryBytes(int e) {
    int key = writes.keyLength(e);
    return switch (writes.kind(e)) {
      case WriteSet.INSERT, WriteSet.PUT -> putBytes(e, key);
      case WriteSet.PATCH -> patchesBytes(e, key);
      case WriteSet.DELETE -> CommitRecord.deleteBytes(key);
      case WriteSet.MOVE -> CommitRecord.chainBytes(key);
      default -> 0;
    };
  }

  private int putBytes(int e, int key) {
    int value = writes.valueLength(e);
    return isLong(e, value) ? CommitRecord.chainBytes(key) : CommitRecord.putBytes(key, value);
  }

  private long patchesBytes(int e, int key) {
    long sum = 0;
    for (int p = writes.firstPatch(e); p >= 0; p = writes.nextPatch(p)) {
      sum += CommitRecord.patchBytes(key, writes.patchLength(p));
    }
    return sum;
  }

  private boolean isLong(int e, int valueLength) {
    return valueLength > writes.tree(e).inlineMax();
  }

  // ---------------------------------------------------------------- long values

  boolean isChain(int e) {
    return chains && e < firsts.length && firsts[e] != 0;
  }

  long first(int e) {
    return firsts[e];
  }

  int length(int e) {
    return lengths[e];
  }

  /** Writes the chains of new long values and collects those of old ones, under the locks. */
  void stageLong() {
    for (int e = 0, n = writes.size(); e < n; e++) {
      byte kind = writes.kind(e);
      if (kind == WriteSet.NONE) {
        continue;
      }
      if (kind == WriteSet.MOVE) {
        stageMove(e, Objects.requireNonNull(work.move));
        continue;
      }
      boolean old = writes.existed(e) == WriteSet.PRESENT && writes.tree(e).mayHaveLongValues();
      boolean makes = kind <= WriteSet.PUT && isLong(e, writes.valueLength(e));
      if (old || makes) {
        stage(e, kind, old, makes);
      }
    }
    if (wholeValues) {
      applyPatches();
    }
    CatalogPart catalog = Commit.changed(work.catalog);
    if (catalog != null) {
      catalog.stage(session);
    }
  }

  /**
   * Applies patches to whole values. The locks keep the record, and its length stays the same, so
   * no leaf splits.
   */
  private void applyPatches() {
    for (int e = 0, n = writes.size(); e < n; e++) {
      if (writes.kind(e) == WriteSet.PATCH && !isChain(e)) {
        int length = writes.lengthBefore(e);
        MemorySegment value = shared.memory.take(Math.max(8, length));
        try {
          reader.readUnderLock(e, value, length);
          writes.applyPatches(e, value, 0, length);
          writes.value(e, WriteSet.PUT, value, 0, length);
        } finally {
          shared.memory.release(value);
        }
      }
    }
  }

  private void stage(int e, byte kind, boolean old, boolean makes) {
    BTree tree = writes.tree(e);
    MemorySegment s = writes.scratch.segment();
    int length = -1;
    if (old) {
      Position p = work.position;
      work.locationOf(e, p);
      pids.clear();
      length = tree.chain(s, writes.keyOffset(e), writes.keyLength(e), p, pids);
      if (length >= 0) {
        released.add(tree, pids);
      }
    }
    if (makes) {
      write(e, tree, s, writes.valueOffset(e), writes.valueLength(e));
    } else if (kind == WriteSet.PATCH && length >= 0) {
      MemorySegment value = shared.memory.take(Math.max(8, length));
      try {
        reader.readUnderLock(e, value, length);
        writes.applyPatches(e, value, 0, length);
        write(e, tree, value, 0, length);
      } finally {
        shared.memory.release(value);
      }
    }
  }

  private void stageMove(int e, ChainMove move) {
    BTree tree = writes.tree(e);
    pids.clear();
    long first = move.first(session);
    pids.add(first);
    try {
      move.taken();
      adopted.add(tree, pids);
    } catch (Error error) {
      if (!move.hasSpare(first)) {
        tree.freeChain(pids, session);
      }
      throw error;
    }
    adopted(e, first, move.length());
    pids.clear();
    pids.add(move.previousFirst());
    released.add(tree, pids);
  }

  private void write(int e, BTree tree, MemorySegment value, long offset, int length) {
    pids.clear();
    long first = tree.writeChain(value, offset, length, pids, session);
    try {
      adopted.add(tree, pids);
    } catch (Error error) {
      tree.freeChain(pids, session); // no other thread knows it
      throw error;
    }
    adopted(e, first, length);
  }

  private void adopted(int e, long first, int length) {
    if (firsts.length < writes.size()) {
      long[] longer = Arrays.copyOf(firsts, Math.max(64, writes.size()));
      lengths = Arrays.copyOf(lengths, longer.length);
      firsts = longer; // last: its length is what is checked
    }
    chains = true;
    firsts[e] = first;
    lengths[e] = length;
  }

  void undo() {
    try {
      adopted.free(session);
    } finally {
      CatalogPart catalog = Commit.changed(work.catalog);
      if (catalog != null) {
        catalog.undo(session);
      }
    }
  }

  void release() {
    released.free(session);
    CatalogPart catalog = Commit.changed(work.catalog);
    if (catalog != null) {
      catalog.release(session);
    }
  }

  void clear() {
    phase = Phase.ENDING;
    adopted.clear();
    released.clear();
    if (chains) {
      Arrays.fill(firsts, 0);
      chains = false;
    }
  }

  // ---------------------------------------------------------------- the record

  /**
   * Appends the commit and returns the LSN of its end; 0 without a log. The session is then
   * positioned for the page changes. If this throws, the transaction is not committed.
   */
  long append() {
    if (!session.isLogging()) {
      phase = Phase.HAPPENED;
      return 0;
    }
    entry = 0;
    patch = -1;
    CatalogPart catalog = Commit.changed(work.catalog);
    long id = catalog == null ? 0 : catalog.append(session, partBytes);
    boolean apart = 8L * (adopted.size() + released.size()) > partBytes / 4 * 3;
    if (apart) {
      id = appendPages(id, CommitRecord.ADOPT, adopted);
      id = appendPages(id, CommitRecord.RELEASE, released);
    }
    int adopts = apart ? 0 : adopted.size();
    int releases = apart ? 0 : released.size();
    for (boolean last = false; !last; ) {
      int fromEntry = entry;
      int fromPatch = patch;
      int ops = measure();
      last = entry == writes.size();
      boolean from = last && needsFrom();
      if (from) {
        ops++;
        bytes += CommitRecord.fromBytes();
      }
      long body =
          last
              ? CommitRecord.HEADER + bytes + 8L * (adopts + releases) + counts.length()
              : CommitRecord.PART_HEADER + bytes;
      session.grant(LogSession.space(body));
      life.health.requireLog();
      long at = session.reserve(last ? RecordType.COMMIT : RecordType.COMMIT_PART, (int) body);
      boolean put = false;
      try {
        putRecord(at, last, from, id, ops, fromEntry, fromPatch, adopts, releases);
        put = true;
      } finally {
        if (!put) {
          session.cancel();
        }
      }
      if (last) {
        phase = Phase.HAPPENED; // before the log completes the record: later failures can't undo it
      }
      session.complete();
      if (id == 0) {
        id = session.recordStart();
      }
    }
    session.position(id, session.recordEnd());
    return session.recordEnd();
  }

  /**
   * Appends page ids in separate parts. {@code id} and the result are the LSN where the commit
   * begins; {@code id} is 0 in its first part.
   */
  private long appendPages(long id, int kind, ChainPages all) {
    long begin = id;
    int max = (partBytes - CommitRecord.PART_HEADER - CommitRecord.pagesBytes(0)) / 8;
    for (int from = 0, end; from < all.size(); from = end) {
      end = Math.min(all.size(), from + max);
      int body = CommitRecord.PART_HEADER + CommitRecord.pagesBytes(end - from);
      session.grant(LogSession.space(body));
      life.health.requireLog();
      long at = session.reserve(RecordType.COMMIT_PART, body);
      // Only stores to memory from here on, so the record is completed.
      MemorySegment to = session.buffer();
      long pages = CommitRecord.partHeader(to, at, begin, 1);
      all.put(to, CommitRecord.pages(to, pages, kind, end - from), from, end);
      session.complete();
      if (begin == 0) {
        begin = session.recordStart();
      }
    }
    return begin;
  }

  private boolean needsFrom() {
    return wholeValues && adopted.size() > 0;
  }

  boolean isLogged() {
    return phase == Phase.HAPPENED || phase == Phase.PUBLISHED;
  }

  Phase phase() {
    return phase;
  }

  void begun() {
    phase = Phase.UNDECIDED;
  }

  void published() {
    phase = Phase.PUBLISHED;
  }

  void endPhase() {
    phase = Phase.NONE;
  }

  /** Advances by as many operations as fit into a part, at least one; returns their number. */
  private int measure() {
    int ops = 0;
    bytes = 0;
    leaves.begin();
    int size = writes.size();
    while (entry < size) {
      int key = writes.keyLength(entry);
      int next = -1;
      int need;
      switch (writes.kind(entry)) {
        case WriteSet.INSERT, WriteSet.PUT -> need = putBytes(entry, key);
        case WriteSet.PATCH -> {
          if (isChain(entry)) {
            need = CommitRecord.chainBytes(key);
          } else {
            int p = patch >= 0 ? patch : writes.firstPatch(entry);
            need = CommitRecord.patchBytes(key, writes.patchLength(p));
            next = writes.nextPatch(p);
          }
        }
        case WriteSet.DELETE -> need = CommitRecord.deleteBytes(key);
        case WriteSet.MOVE -> need = CommitRecord.chainBytes(key);
        default -> {
          entry++;
          continue;
        }
      }
      need += leaves.bytes(entry);
      if (ops > 0 && bytes + need > partBytes) {
        break;
      }
      bytes += need;
      ops++;
      patch = next;
      if (next < 0) {
        entry++;
      }
    }
    return ops;
  }

  private void putRecord(
      long body,
      boolean last,
      boolean from,
      long id,
      int ops,
      int fromEntry,
      int fromPatch,
      int adopts,
      int releases) {
    MemorySegment to = session.buffer();
    long at =
        last
            ? CommitRecord.header(to, body, id, ops, adopts, releases, counts.length())
            : CommitRecord.partHeader(to, body, id, ops);
    int p = fromPatch;
    int left = ops;
    leaves.begin();
    if (from) {
      at = CommitRecord.from(to, at, session.beginLsn());
      left--;
    }
    for (int e = fromEntry; left > 0; e++) {
      byte kind = writes.kind(e);
      if (kind == WriteSet.NONE) {
        continue;
      }
      if (kind == WriteSet.PATCH && !isChain(e)) {
        if (p < 0) {
          p = writes.firstPatch(e);
        }
        for (; p >= 0 && left > 0; p = writes.nextPatch(p), left--) {
          at = leaves.put(to, at, putPatch(to, at, e, p), e);
        }
        p = -1;
      } else {
        at = leaves.put(to, at, putOne(to, at, e, kind), e);
        left--;
      }
    }
    if (last) {
      at = adopted.put(to, at, 0, adopts);
      at = released.put(to, at, 0, releases);
      counts.put(to, at);
    }
  }

  private long putOne(MemorySegment to, long at, int e, byte kind) {
    MemorySegment s = writes.scratch.segment();
    int tree = writes.tree(e).treeId();
    int keyOffset = writes.keyOffset(e);
    int keyLength = writes.keyLength(e);
    if (kind == WriteSet.MOVE) {
      return CommitRecord.moved(to, at, tree, s, keyOffset, keyLength, firsts[e], lengths[e]);
    }
    if (isChain(e)) {
      return CommitRecord.chain(to, at, tree, s, keyOffset, keyLength, firsts[e], lengths[e]);
    }
    if (kind == WriteSet.DELETE) {
      return CommitRecord.delete(to, at, tree, s, keyOffset, keyLength);
    }
    return CommitRecord.put(
        to, at, tree, s, keyOffset, keyLength, s, writes.valueOffset(e), writes.valueLength(e));
  }

  private long putPatch(MemorySegment to, long at, int e, int p) {
    MemorySegment s = writes.scratch.segment();
    return CommitRecord.patch(
        to,
        at,
        writes.tree(e).treeId(),
        s,
        writes.keyOffset(e),
        writes.keyLength(e),
        writes.patchAt(p),
        s,
        p + WriteSet.PATCH_HEADER,
        writes.patchLength(p));
  }
}
