package io.fovea.recovery;

import io.fovea.buffer.AllocatorState;
import io.fovea.wal.LogIdentity;
import io.fovea.wal.Watermark;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * The description of a database file.
 *
 * @param pageSize the size of its pages, in bytes
 * @param id identifies the database
 * @param sequence counts the writes of a superblock; the higher one of the two is the newer
 * @param state whether the file is complete: {@link #CLEAN}, {@link #IN_USE} or {@link #LOGGED}
 * @param nextTreeId the first id that no tree ever had
 * @param catalogRootPid the root of the catalog tree
 * @param allocator which pages are in use at {@link #snapshotLsn}
 * @param createdMillis when it was created, in milliseconds since 1970
 * @param redoLsn where replay begins; 0 if there never was a log
 * @param snapshotLsn allocations and frees that begin before this are in {@link #allocator}
 * @param incarnation how often the log was opened for appending
 * @param logSegmentBytes the size of the log's segments
 * @param endLsn for a clean file: where the log continues, above the LSN of every page; 0 if there
 *     never was a log
 * @param withDurable how far the log was known to be durable when this was written; for a clean
 *     file: its end, and an upper limit for segment numbers
 * @param unlogged how often changes of pages without a log began: such changes move no page's LSN,
 *     so earlier backup positions are invalid
 * @param withCounts the number of the counts in the catalog, from the last close; 0 if they are
 *     missing or invalid
 * @param withChangesFrom the start of the changes that the log retains for subscribers; 0 for none
 * @param withSession a random number of the opening that changed the file last, also in the
 *     segments of its log; 0 if not known, as in files of earlier releases. See {@link
 *     io.fovea.wal.LogIdentity}
 * @param ancestors the sessions before this one whose commits are all in the file or in its log,
 *     latest first; {@value #ANCESTORS_MAX} at most
 */
public record Superblock(
    int pageSize,
    UUID id,
    long sequence,
    int state,
    int nextTreeId,
    long catalogRootPid,
    AllocatorState allocator,
    long createdMillis,
    long redoLsn,
    long snapshotLsn,
    long incarnation,
    long logSegmentBytes,
    long endLsn,
    Watermark durable,
    long unlogged,
    long counted,
    long changes,
    long session,
    List<Long> ancestors) {
  /** In use without a log, or left in that state: its pages may be of different ages. */
  public static final int IN_USE = 0;

  /** Closed after the last change, and complete without a log. */
  public static final int CLEAN = 1;

  /** In use with a log, or left in that state: complete together with its log. */
  public static final int LOGGED = 2;

  /** The maximum number of earlier sessions in a superblock. */
  static final int ANCESTORS_MAX = 64;

  public static final int CATALOG_TREE_ID = 1;

  /** The page of the catalog tree's root. */
  public static final long CATALOG_ROOT_PID = 2;

  /**
   * The version of the file format that this engine writes: 2 added the log, 3 its durable
   * position, 4 extension fields in the catalog's entries.
   */
  public static final int FORMAT_VERSION = 4;

  public static Superblock ofNew(int pageSize) {
    return new Superblock(
        pageSize,
        UUID.randomUUID(),
        0,
        IN_USE,
        CATALOG_TREE_ID + 1,
        CATALOG_ROOT_PID,
        AllocatorState.EMPTY,
        System.currentTimeMillis(),
        0,
        0,
        0,
        0,
        0,
        Watermark.NONE,
        0,
        0,
        0,
        LogIdentity.newSession(),
        List.of());
  }

  /** Returns whether the file was closed after the last change and is complete. */
  public boolean isClean() {
    return state == CLEAN;
  }

  /** Returns a copy that is in use, or complete, without a log; the log's end stays the same. */
  public Superblock with(boolean nowClean, int treeId, AllocatorState pages) {
    Fields fields = new Fields(this);
    fields.state = nowClean ? CLEAN : IN_USE;
    fields.nextTreeId = treeId;
    fields.allocator = pages;
    if (!nowClean) {
      fields.unlogged++;
      fields.changes = 0;
      fields.follow(LogIdentity.newSession());
    }
    return fields.superblock();
  }

  /**
   * Returns a copy that is in use with a log.
   *
   * @param redo where replay begins
   * @param pages the pages in use
   * @param snapshot the position that {@code pages} refers to
   * @param treeId the first id that no tree ever had
   * @param log how far its log is durable
   */
  public Superblock logged(
      long redo, AllocatorState pages, long snapshot, int treeId, Watermark log) {
    Fields fields = new Fields(this);
    fields.state = LOGGED;
    fields.nextTreeId = treeId;
    fields.allocator = pages;
    fields.redoLsn = redo;
    fields.snapshotLsn = snapshot;
    fields.durable = log;
    return fields.superblock();
  }

  /** Returns a complete copy with the end of its log and the highest possible segment number. */
  public Superblock closed(AllocatorState pages, int treeId, long end, long lastSegment) {
    Fields fields = new Fields(this);
    fields.state = CLEAN;
    fields.nextTreeId = treeId;
    fields.allocator = pages;
    fields.redoLsn = end;
    fields.snapshotLsn = end;
    fields.endLsn = end;
    fields.durable = new Watermark(end, lastSegment);
    return fields.superblock();
  }

  /** Returns a copy whose log was opened once more, with a segment size. */
  public Superblock opened(long newIncarnation, long segmentBytes) {
    Fields fields = new Fields(this);
    fields.incarnation = newIncarnation;
    fields.logSegmentBytes = segmentBytes;
    return fields.superblock();
  }

  /**
   * Returns a copy for an opening that changes the file and whose log durably contains a segment.
   */
  public Superblock withSession(long of) {
    Fields fields = new Fields(this);
    fields.follow(of);
    return fields.superblock();
  }

  /** Returns a copy with the commits of sessions recovered from the log, oldest first. */
  public Superblock withRecoveredSessions(List<Long> sessions) {
    Fields fields = new Fields(this);
    sessions.forEach(fields::follow);
    return fields.superblock();
  }

  /** Returns whether a session is this one or an earlier one. */
  public boolean descendsFrom(long of) {
    return of == session || ancestors.contains(of);
  }

  /** Returns a copy with the durable position of its log. */
  public Superblock withDurable(Watermark log) {
    Fields fields = new Fields(this);
    fields.durable = log;
    return fields.superblock();
  }

  /** Returns a copy with the number of the counts in the catalog, 0 for none. */
  public Superblock withCounts(long number) {
    Fields fields = new Fields(this);
    fields.counted = number;
    return fields.superblock();
  }

  /** Returns a copy with the start of the changes retained by the log, 0 for none. */
  public Superblock withChangesFrom(long from) {
    Fields fields = new Fields(this);
    fields.changes = from;
    return fields.superblock();
  }

  /** Returns a copy of a clean file's superblock that belongs to a new database. */
  public Superblock withNewIdentity(UUID as) {
    Fields fields = new Fields(this);
    fields.id = as;
    fields.changes = 0;
    fields.session = LogIdentity.newSession();
    fields.ancestors = List.of();
    return fields.superblock();
  }

  Superblock withSequence(long newer) {
    Fields fields = new Fields(this);
    fields.sequence = newer;
    return fields.superblock();
  }

  /** The fields that may change from one superblock to the next. */
  private static final class Fields {
    private final Superblock before;
    private UUID id;
    private long sequence;
    private int state;
    private int nextTreeId;
    private AllocatorState allocator;
    private long redoLsn;
    private long snapshotLsn;
    private long incarnation;
    private long logSegmentBytes;
    private long endLsn;
    private Watermark durable;
    private long unlogged;
    private long counted;
    private long changes;
    private long session;
    private List<Long> ancestors;

    Fields(Superblock of) {
      before = of;
      id = of.id;
      sequence = of.sequence;
      state = of.state;
      nextTreeId = of.nextTreeId;
      allocator = of.allocator;
      redoLsn = of.redoLsn;
      snapshotLsn = of.snapshotLsn;
      incarnation = of.incarnation;
      logSegmentBytes = of.logSegmentBytes;
      endLsn = of.endLsn;
      durable = of.durable;
      unlogged = of.unlogged;
      counted = of.counted;
      changes = of.changes;
      session = of.session;
      ancestors = of.ancestors;
    }

    /** Makes a session the successor of the current one. */
    private void follow(long next) {
      if (next != session) {
        List<Long> all = new ArrayList<>();
        addAncestor(all, session, next);
        for (long ancestor : ancestors) {
          addAncestor(all, ancestor, next);
        }
        ancestors = List.copyOf(all);
        session = next;
      }
    }

    private static void addAncestor(List<Long> all, long ancestor, long next) {
      if (ancestor != 0 && ancestor != next && all.size() < ANCESTORS_MAX) {
        all.add(ancestor);
      }
    }

    Superblock superblock() {
      return new Superblock(
          before.pageSize,
          id,
          sequence,
          state,
          nextTreeId,
          before.catalogRootPid,
          allocator,
          before.createdMillis,
          redoLsn,
          snapshotLsn,
          incarnation,
          logSegmentBytes,
          endLsn,
          durable,
          unlogged,
          counted,
          changes,
          session,
          ancestors);
    }
  }
}
