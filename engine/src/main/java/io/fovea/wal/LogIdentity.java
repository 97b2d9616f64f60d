package io.fovea.wal;

import io.fovea.io.BlockDevice;
import io.fovea.memory.Checksum;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Determines which data file a log belongs to, before any of it is recovered, reused or deleted.
 *
 * <p>The database id is not enough, since a copy of a database has the same id as the original. So
 * each opening that changes a database, with a log or without, is a <b>session</b> with a random
 * number.
 *
 * <pre>
 *   superblock   session     of the last opening that changed the file
 *   segment      session     of the opening that wrote it
 *                previous    session whose records precede those of this one in the log
 *                base        session in the superblock when the opening began
 *   closed mark  segment     no record of a segment up to this number is needed by any data file
 * </pre>
 *
 * <p><b>Rules.</b>
 *
 * <ol>
 *   <li>A new log segment is durable before the superblock names its session. So the log of a file
 *       that was not closed contains a segment of the session that the file names, or a segment
 *       begun by an opening of exactly that state (its base).
 *   <li>From the redo point to the end each session follows the one before it: by its previous
 *       session or by its base. A log that lacks a session, or belongs to a copy that diverged,
 *       breaks this chain.
 *   <li>A closed file needs no log. But a log may hold commits that no other file contains, if its
 *       records belong to a session from which the file does not descend and are not marked closed.
 *       Such a log is not overwritten.
 *   <li>The closed mark is written after the superblock says that the file is closed. A crash may
 *       lose the mark; the log then still matches the session of its data file.
 * </ol>
 *
 * <p>Session 0 means "not known": files of earlier releases are checked by their database id alone.
 *
 * <p>The mark is in the last block of slot 0, after the {@link Watermark}, in the same sector:
 *
 * <pre>
 *   64      72         76     80         96        104
 *   | magic | checksum | zero | database | segment | changes |
 *             of 80 to 111
 * </pre>
 */
public final class LogIdentity {
  private static final long CLOSED_MAGIC = 0x444E_4541_4556_4F46L; // "FOVEAEND"
  private static final int CLOSED = 64;
  private static final int CLOSED_CHECKSUM = CLOSED + 8;
  private static final int CLOSED_DATABASE = CLOSED + 16;
  private static final int CLOSED_SEGMENT = CLOSED + 32;
  private static final int CLOSED_CHANGES = CLOSED + 40;
  private static final int CLOSED_BYTES = 32;
  private static final int CHUNK = 1 << 18;

  private final BlockDevice device;

  /** The segments of all databases, by number, excluding spares. */
  private final List<SegmentScan.Found> segments = new ArrayList<>();

  private long segmentBytes;
  private boolean recognized = true;
  private @Nullable UUID closedDatabase;
  private long closedSegment;
  private long closedChanges;

  private LogIdentity(BlockDevice device) {
    this.device = device;
  }

  public static long newSession() {
    long session;
    do {
      session =
          ThreadLocalRandom.current().nextLong() ^ UUID.randomUUID().getLeastSignificantBits();
    } while (session == 0);
    return session;
  }

  /** Reads the headers of a log. */
  public static LogIdentity of(BlockDevice device) {
    LogIdentity identity = new LogIdentity(device);
    try (Arena arena = Arena.ofShared()) {
      identity.scan(arena.allocate(Group.BLOCK, Group.BLOCK), arena);
    }
    return identity;
  }

  private void scan(MemorySegment block, Arena arena) {
    segmentBytes = SegmentScan.distance(device, block, arena);
    if (segmentBytes == 0) {
      recognized = isZero(0, device.size());
      return;
    }
    for (long at = 0; at < device.size(); at += segmentBytes) {
      device.read(at, block, 0, Group.BLOCK);
      SegmentHeader header = SegmentHeader.parse(block, 0);
      if (header == null || header.segmentBytes() != segmentBytes) {
        recognized &= isZero(at, Math.min(device.size(), at + segmentBytes - Group.BLOCK));
      } else if (header.number() > 0) {
        segments.add(new SegmentScan.Found(header, Math.toIntExact(at / segmentBytes)));
      }
    }
    segments.sort(Comparator.comparingLong(f -> f.header().number()));
    if (device.size() >= segmentBytes) {
      device.read(segmentBytes - Group.BLOCK, block, 0, Group.BLOCK);
      if (Mem.getLong(block, CLOSED) == CLOSED_MAGIC
          && Mem.getInt(block, CLOSED_CHECKSUM) == closedSum(block)) {
        closedDatabase =
            new UUID(Mem.getLong(block, CLOSED_DATABASE), Mem.getLong(block, CLOSED_DATABASE + 8));
        closedSegment = Mem.getLong(block, CLOSED_SEGMENT);
        closedChanges = Mem.getLong(block, CLOSED_CHANGES);
      }
    }
  }

  private static int closedSum(MemorySegment block) {
    return Checksum.crc32c(block, CLOSED_DATABASE, CLOSED_BYTES);
  }

  private boolean isZero(long from, long to) {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment chunk = arena.allocate(CHUNK, Group.BLOCK);
      for (long at = from; at < to; at += CHUNK) {
        int length = (int) Math.min(CHUNK, to - at + Group.BLOCK - 1 & -Group.BLOCK);
        device.read(at, chunk, 0, length);
        if (!Mem.isZero(chunk, 0, Math.min(length, to - at))) {
          return false;
        }
      }
      return true;
    }
  }

  // ------------------------------------------------------------------------------ the closed mark

  /**
   * Records that no record of the log is needed any more. The data file is durably closed.
   *
   * @param database the database that the log belongs to
   * @param changes the start of the changes retained by the log; 0 for none
   */
  public static void markClosed(BlockDevice device, UUID database, long changes) {
    LogIdentity log = of(device);
    long distance = log.segmentBytes;
    if (log.segments.isEmpty() || device.size() < distance) {
      return;
    }
    try (Arena arena = Arena.ofShared()) {
      MemorySegment block = arena.allocate(Group.BLOCK, Group.BLOCK);
      device.read(distance - Group.BLOCK, block, 0, Group.BLOCK);
      Mem.putLong(block, CLOSED, CLOSED_MAGIC);
      Mem.putLong(block, CLOSED_CHECKSUM, 0);
      Mem.putLong(block, CLOSED_DATABASE, database.getMostSignificantBits());
      Mem.putLong(block, CLOSED_DATABASE + 8, database.getLeastSignificantBits());
      // Not above the last number, which the next segment may exceed by one. Not below an existing
      // mark: a log that was cut has fewer segments than it was closed with, and an older data file
      // lacks the commits of the removed ones. Later segments get numbers above the mark.
      long last = log.segments.getLast().header().number();
      boolean marked = database.equals(log.closedDatabase);
      Mem.putLong(block, CLOSED_SEGMENT, marked ? Math.max(last, log.closedSegment) : last);
      Mem.putLong(block, CLOSED_CHANGES, changes);
      Mem.putInt(block, CLOSED_CHECKSUM, closedSum(block));
      device.write(distance - Group.BLOCK, block, 0, Group.BLOCK);
    }
  }

  // ------------------------------------------------------------------------------------- answers

  /** Returns the highest segment number that is present, or was when the log was marked closed. */
  public long lastSegment() {
    long last = segments.isEmpty() ? 0 : segments.getLast().header().number();
    return Math.max(last, closedSegment);
  }

  /** Returns whether the log has segments of another database. */
  public boolean isForeign(UUID database) {
    return segments.stream().anyMatch(s -> !s.header().database().equals(database));
  }

  /** Returns the known sessions with records before a position, oldest first. */
  public static List<Long> sessions(BlockDevice device, UUID database, long end) {
    return SegmentScan.of(device, database).segments().stream()
        .filter(found -> found.startLsn() < end)
        .map(found -> found.header().session())
        .filter(session -> session != 0)
        .distinct()
        .toList();
  }

  /**
   * Returns why the log must not be deleted when a database is created, or null if it may be.
   *
   * @return what was found, as the end of a sentence
   */
  public @Nullable String whyNotOnCreation() {
    if (!recognized) {
      return "holds data, but is not a log that this release can read";
    }
    if (closedChanges != 0) {
      return "keeps changes of database " + closedDatabase + " for subscribers";
    }
    SegmentScan.Found needed = needed(null, 0, of -> false);
    return needed == null ? null : "has commits of " + describe(needed);
  }

  /**
   * Returns why the log must not be reused with a closed data file, or null if it may be.
   *
   * @param session the session of the data file; 0 if not known
   * @param descends returns whether the data file contains all commits of a session
   * @return what was found, as the end of a sentence
   */
  public @Nullable String whyNotAfterClose(UUID database, long session, LongPredicate descends) {
    if (segmentBytes == 0 && !recognized) {
      return "holds data, but is not a log that this release can read";
    }
    SegmentScan.Found needed = needed(database, session, descends);
    return needed == null ? null : "has commits of " + describe(needed);
  }

  /**
   * Returns why a data file that was not closed cannot be recovered from the log, or null if the
   * sessions allow it.
   *
   * @param redo the position at which recovery begins
   * @return what was found, as the end of a sentence
   * @throws io.fovea.error.CorruptionException if segments contradict each other
   */
  public @Nullable String whyNotInUse(UUID database, long session, long redo) {
    SegmentScan scan = SegmentScan.of(device, database);
    if (session == 0 || !recognized || scan.cut() > 0) {
      return null; // an earlier release, or damage, which the recovery reports
    }
    List<SegmentScan.Found> all = scan.segments();
    int first = all.size() - 1;
    while (first > 0 && all.get(first).startLsn() > redo) {
      first--;
    }
    if (first < 0 || all.get(first).startLsn() > redo) {
      return null; // recovery reports the missing part
    }
    if (database.equals(closedDatabase) && closedSegment > segments.getLast().header().number()) {
      return "was closed by a later session, and cut: its commits are in another data file";
    }
    boolean found = all.get(first).header().previous() == session;
    for (int i = first; i < all.size(); i++) {
      SegmentHeader header = all.get(i).header();
      found |= header.session() == session || header.base() == session;
      if (i > first && !follows(all, first, i)) {
        return "continues with "
            + describe(all.get(i))
            + ", which does not follow "
            + describe(all.get(i - 1))
            + ": it belongs to a copy or to another point in time, or a part of it is missing";
      }
    }
    return found
        ? null
        : "ends with "
            + describe(all.getLast())
            + ": it belongs to a copy or to another point in time, or it was cut";
  }

  /** Returns whether a segment follows the previous one, skipping segments without records. */
  private static boolean follows(List<SegmentScan.Found> all, int first, int i) {
    SegmentScan.Found next = all.get(i);
    for (int j = i - 1; j >= first; j--) {
      if (follows(all.get(j).header(), next.header())) {
        return true;
      }
      if (all.get(j).startLsn() < next.startLsn()) {
        return false;
      }
    }
    return false;
  }

  private static boolean follows(SegmentHeader before, SegmentHeader next) {
    return next.session() == before.session()
        || next.session() == 0
        || next.previous() == before.session()
        || next.base() == before.session();
  }

  /**
   * Returns a segment with records that a data file lacks, or null.
   *
   * <p>Every segment of a session that the data file descends from is covered, whatever its number:
   * a crash may bring back segments that an unsynced cut had removed.
   */
  private SegmentScan.@Nullable Found needed(
      @Nullable UUID database, long session, LongPredicate descends) {
    long known = 0;
    for (SegmentScan.Found found : segments) {
      SegmentHeader header = found.header();
      if (header.database().equals(database) && (session == 0 || header.session() == session)) {
        known = header.number();
      }
    }
    for (SegmentScan.Found found : segments) {
      SegmentHeader header = found.header();
      boolean closed = header.database().equals(closedDatabase) && header.number() <= closedSegment;
      boolean covered =
          header.database().equals(database)
              && (header.number() <= known || descends.test(header.session()));
      if (!closed && !covered && hasGroup(found)) {
        return found;
      }
    }
    return null;
  }

  private boolean hasGroup(SegmentScan.Found found) {
    SegmentHeader header = found.header();
    try (Arena arena = Arena.ofShared()) {
      MemorySegment chunk = arena.allocate(CHUNK, Group.BLOCK);
      long end = Math.min(found.offset() + segmentBytes - Group.BLOCK, device.size());
      for (long at = found.offset() + Group.BLOCK; at < end; at += CHUNK) {
        int length = (int) Math.min(CHUNK, end - at + Group.BLOCK - 1 & -Group.BLOCK);
        device.read(at, chunk, 0, length);
        for (int off = 0; off < length; off += Group.BLOCK) {
          if (Group.isValid(chunk, off, header.database(), header.incarnation(), header.number())) {
            return true;
          }
        }
      }
      return false;
    }
  }

  private static String describe(SegmentScan.Found found) {
    return "session "
        + describe(found.header().session())
        + " of database "
        + found.header().database();
  }

  /** Returns a session in words. */
  public static String describe(long session) {
    return session == 0 ? "of an earlier release" : String.format(Locale.ROOT, "%016x", session);
  }
}
