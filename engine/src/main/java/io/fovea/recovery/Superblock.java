package io.fovea.recovery;

import io.fovea.buffer.AllocatorState;
import io.fovea.wal.LogIdentity;
import io.fovea.wal.Watermark;
import java.util.List;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * What a database file says about itself.
 *
 * @param pageSize the size of its pages, in bytes
 * @param id tells one database from another
 * @param sequence counts the writes of a superblock; the higher one of the two is the newer
 * @param state whether the file is complete: {@link #CLEAN}, {@link #IN_USE} or {@link #LOGGED}
 * @param nextTreeId the first id that no tree ever had
 * @param catalogRootPid the root of the catalog tree
 * @param allocator which pages are in use, as of {@link #snapshotLsn}
 * @param createdMillis when it was created, in milliseconds since 1970
 * @param redoLsn where replay begins; 0 where there never was a log
 * @param snapshotLsn allocations and frees that begin before this are in {@link #allocator}
 * @param incarnation how often the log was opened to append to it
 * @param logSegmentBytes the size of the log's segments
 * @param endLsn of a clean file: where the log goes on, above the LSN of every page; 0 where there
 *     never was a log
 * @param durable how far the log was known to be durable when this was written; of a clean file:
 *     its end, and a number that no segment's is higher than
 * @param unlogged how often somebody began to change its pages without a log: such changes move no
 *     page's LSN, so positions of backups from before are worth nothing
 * @param counted which counts of trees the catalog has, of the last close; 0 where those that it
 *     has, if any, do not hold
 * @param changes from where on the log has changes as who follows them needs them, and keeps them;
 *     0 where it does not
 * @param session a random number of the opening that changed the file last, which the segments of
 *     its log have as well; 0 where that is not known, as in files of earlier releases. See {@link
 *     io.fovea.wal.LogIdentity}
 * @param ancestors the sessions before this one whose commits are all in the file or in its log,
 *     the latest first; {@value #ANCESTORS_MAX} at most
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
  /** In use without a log, or left so: its pages may be of different ages. */
  public static final int IN_USE = 0;

  /** Closed after the last change, and complete without a log. */
  public static final int CLEAN = 1;

  /** In use with a log, or left so: complete together with its log. */
  public static final int LOGGED = 2;

  /** How many sessions before the last one a superblock remembers. */
  static final int ANCESTORS_MAX = 64;

  /** The id of the catalog tree. */
  public static final int CATALOG_TREE_ID = 1;

  /** The page of the catalog tree's root. */
  public static final long CATALOG_ROOT_PID = 2;

  /**
   * The version of the file format that this engine writes: 2 has a log, 3 knows how far it was
   * durable, 4 has sections in the catalog's entries.
   */
  public static final int FORMAT_VERSION = 4;

  /** What a new file begins with. */
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

  /** Whether the file was closed after the last change and is complete. */
  public boolean clean() {
    return state == CLEAN;
  }

  /** The same in use, or complete, without a log; where a log would go on stays as it is. */
  public Superblock with(boolean nowClean, int treeId, AllocatorState pages) {
    return with(
        s -> {
          s.state = nowClean ? CLEAN : IN_USE;
          s.nextTreeId = treeId;
          s.allocator = pages;
          if (!nowClean) {
            s.unlogged++;
            s.changes = 0;
            s.follow(LogIdentity.newSession());
          }
        });
  }

  /**
   * The same in use with a log.
   *
   * @param redo where replay begins
   * @param pages which are in use
   * @param snapshot as of when
   * @param treeId the first id that no tree ever had
   * @param log how far its log is durable
   */
  public Superblock logged(
      long redo, AllocatorState pages, long snapshot, int treeId, Watermark log) {
    return with(
        s -> {
          s.state = LOGGED;
          s.nextTreeId = treeId;
          s.allocator = pages;
          s.redoLsn = redo;
          s.snapshotLsn = snapshot;
          s.durable = log;
        });
  }

  /**
   * The same, complete, with where its log ends, and the highest number that a segment may have.
   */
  public Superblock closed(AllocatorState pages, int treeId, long end, long lastSegment) {
    return with(
        s -> {
          s.state = CLEAN;
          s.nextTreeId = treeId;
          s.allocator = pages;
          s.redoLsn = end;
          s.snapshotLsn = end;
          s.endLsn = end;
          s.durable = new Watermark(end, lastSegment);
        });
  }

  /** The same with a log that is opened once more, with segments of some size. */
  public Superblock opened(long newIncarnation, long segmentBytes) {
    return with(
        s -> {
          s.incarnation = newIncarnation;
          s.logSegmentBytes = segmentBytes;
        });
  }

  /** The same, changed from here on by an opening whose log has a segment, durably. */
  public Superblock session(long of) {
    return with(s -> s.follow(of));
  }

  /** The same after the commits of sessions were recovered from the log, the latest last. */
  public Superblock recovered(List<Long> sessions) {
    return with(s -> sessions.forEach(s::follow));
  }

  /** Whether a session is this one, or one before it. */
  public boolean descendsFrom(long of) {
    return of == session || ancestors.contains(of);
  }

  /** The same with what is known of its log. */
  public Superblock durable(Watermark log) {
    return with(s -> s.durable = log);
  }

  /** The same with counts of trees in the catalog, or with 0 without. */
  public Superblock counted(long number) {
    return with(s -> s.counted = number);
  }

  /** The same with a log that keeps changes from a position on, or with 0 none. */
  public Superblock changes(long from) {
    return with(s -> s.changes = from);
  }

  /** The same of a clean file that is another database from here on. */
  public Superblock identified(UUID as) {
    return with(
        s -> {
          s.id = as;
          s.changes = 0;
          s.session = LogIdentity.newSession();
          s.ancestors = List.of();
        });
  }

  Superblock withSequence(long newer) {
    return with(s -> s.sequence = newer);
  }

  private Superblock with(Consumer<Fields> change) {
    Fields fields = new Fields(this);
    change.accept(fields);
    return fields.superblock();
  }

  /** What may be another in the next one. */
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

    /** Another session goes on where this one has ended. */
    private void follow(long next) {
      if (next != session) {
        ancestors =
            Stream.concat(Stream.of(session), ancestors.stream())
                .filter(a -> a != 0 && a != next)
                .limit(ANCESTORS_MAX)
                .toList();
        session = next;
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
