package io.fovea.wal;

import io.fovea.error.CorruptionException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.UUID;

/**
 * Reads a log from a position to its end. Used by one thread.
 *
 * <pre>
 *   segments by number    │ 5: from 4096 │ 6: from 70000 │ 7: from 70000 │ 9: from 91000
 *   fromLsn 80000  ───────────────────────────────────────►│ group │ group │ ... until 91000 ─►│
 * </pre>
 *
 * <p><b>A segment ends where the next one begins.</b> Anything beyond that in its slot is torn or
 * stale and does not count. A segment without records was left by an opening that appended nothing.
 *
 * <p><b>End or damage?</b> The writer begins a segment only when everything before it is durable,
 * and each group names the position that was durable when it was assembled. So invalid bytes at X
 * are damage if anything valid says that more than X was durable: a later segment, a later group of
 * this segment, a group in a slot whose header is damaged, or a {@link Watermark}. They are also
 * damage if the file was cut, since nothing is known about the rest. Otherwise X is the end: that
 * group was torn and was never acknowledged.
 *
 * <p><b>After a gap.</b> Several groups are in flight at a time ({@link InFlightGroups}), so after
 * X there may be whole groups that prove no more than X. They were never acknowledged either, since
 * the durable position does not pass a missing group. They are never read, now or later: a group is
 * read only if it starts exactly where the last record ended, and records appended after an opening
 * go to a new segment, which begins at or before X and hides the rest of this slot.
 *
 * <p>A file that was cut is read as far as possible and then rejected by an exception that names
 * the missing part, as far as it is known.
 *
 * <p>All lengths are checked against the rest of the group, the segment and the file before they
 * are used.
 *
 * <p>Records of type {@link RecordType#VOID} are returned too.
 */
public final class LogReader implements AutoCloseable {
  private final BlockDevice device;
  private final UUID database;
  private final long fromLsn;
  private final SegmentScan scan;
  private final Watermark watermark;
  private final long fileBytes;
  private final List<SegmentScan.Found> segments;
  private final ReadWindow window;

  private int index;
  private long offset;
  private long segmentEnd;
  private long limit;
  private long groupEnd;
  private boolean ended;

  private long start;
  private long end;
  private long body;
  private int bodyLength;
  private int type;

  private LogReader(
      BlockDevice device,
      UUID database,
      long fromLsn,
      Watermark known,
      SegmentScan scan,
      int index) {
    this.device = device;
    this.database = database;
    this.fromLsn = fromLsn;
    this.scan = scan;
    this.watermark = known.max(scan.watermark());
    this.fileBytes = device.size();
    this.segments = scan.segments();
    this.window = new ReadWindow(device);
    enter(index);
  }

  /**
   * Opens a log for reading, without information from outside the log.
   *
   * @param device the file
   * @param database the database that the log must belong to
   * @param fromLsn the first record
   * @throws CorruptionException if the log does not reach back that far
   */
  public static LogReader open(BlockDevice device, UUID database, long fromLsn) {
    return open(device, database, fromLsn, Watermark.NONE);
  }

  /**
   * Opens a log for reading.
   *
   * @param device the file
   * @param database the database that the log must belong to
   * @param fromLsn the first record
   * @param known how far the log was durable: an end before that is damage
   * @throws CorruptionException if the log does not reach back that far
   */
  public static LogReader open(BlockDevice device, UUID database, long fromLsn, Watermark known) {
    SegmentScan scan = SegmentScan.of(device, database);
    int first = scan.segments().size() - 1;
    while (first >= 0 && scan.segments().get(first).startLsn() > fromLsn) {
      first--;
    }
    if (first < 0) {
      boolean none = scan.segments().isEmpty();
      throw new CorruptionException(
          none
              ? "log: it has no segment of this database"
                  + (scan.foreign() ? ", but of another; it is needed" : "; it is needed")
                  + " from position "
                  + fromLsn
              : "log: its first segment, which begins at position "
                  + scan.segments().getFirst().startLsn()
                  + ", is too late: records are needed from position "
                  + fromLsn,
          -1,
          -1,
          fromLsn,
          none ? 0 : scan.segments().getFirst().startLsn());
    }
    return new LogReader(device, database, fromLsn, known, scan, first);
  }

  private void enter(int segment) {
    SegmentScan.Found found = segments.get(segment);
    index = segment;
    offset = found.offset() + Group.BLOCK;
    segmentEnd = groupsEnd(found.slot());
    limit = segment + 1 < segments.size() ? segments.get(segment + 1).startLsn() : Long.MAX_VALUE;
    end = found.startLsn();
    groupEnd = end;
    payload = 0;
    proven = end; // a segment begins when everything before it is durable
    provenByNext = -1;
  }

  /** Returns the end of the groups of a slot: its last block, or the end of the file. */
  private long groupsEnd(int slot) {
    return Math.min((slot + 1) * scan.segmentBytes() - Group.BLOCK, scan.end(slot, fileBytes));
  }

  /**
   * Advances to the next record.
   *
   * @return false at the end of the valid records
   * @throws CorruptionException if there is damage below the durable position
   */
  public boolean next() {
    while (!ended) {
      if (end == limit) {
        enter(index + 1);
      } else if (end < groupEnd) {
        if (!record()) {
          stop(fileOffset(), groupEndOffset());
        } else if (start >= fromLsn) {
          return true;
        }
      } else if (!group()) {
        stop(offset, offset + Group.BLOCK);
      }
    }
    return false;
  }

  private long groupOffset;

  /** The result of {@link #provenByNext()}; negative if not computed for this group. */
  private long provenByNext = -1;

  private int payload;

  /** The size of the group's header. */
  private int headerBytes;

  /** The durable position according to the groups of this segment so far. */
  private long proven;

  /** Returns the file offset of the record at {@link #end}. */
  private long fileOffset() {
    return groupOffset + headerBytes + (end - (groupEnd - payload));
  }

  private long groupEndOffset() {
    return groupOffset + Group.fileBytes(headerBytes, payload);
  }

  private boolean group() {
    if (offset + Group.BLOCK > segmentEnd) {
      return false;
    }
    long at = window.at(offset, Group.HEADER, segmentEnd);
    MemorySegment memory = window.memory();
    SegmentHeader header = segments.get(index).header();
    if (!Group.isValid(memory, at, database, header.incarnation(), header.number())
        || Group.start(memory, at) != end) {
      return false;
    }
    int bytes = Group.payload(memory, at);
    int before = Group.header(memory, at);
    if (bytes <= 0
        || (bytes & 7) != 0
        || bytes > Group.PAYLOAD_MAX
        || bytes > segmentEnd - offset - before) {
      return false;
    }
    groupOffset = offset;
    headerBytes = before;
    payload = bytes;
    groupEnd = end + bytes;
    proven = Math.max(proven, Group.proven(memory, at));
    offset += Group.fileBytes(before, bytes);
    provenByNext = -1;
    if (groupEnd <= fromLsn && groupEnd <= limit) {
      end = groupEnd; // none of its records was requested
    }
    return true;
  }

  private boolean record() {
    long left = Math.min(groupEnd, limit) - end;
    long fileAt = fileOffset();
    long readEnd = groupEndOffset();
    long at = window.at(fileAt, Record.WORD, readAhead(readEnd));
    long word = Mem.getLong(window.memory(), at);
    int length = Record.length(word);
    if (length != Record.WORD && length < Record.HEADER
        || length > left
        || Record.aligned(length) > left) {
      return false;
    }
    at = window.at(fileAt, length, readAhead(readEnd));
    MemorySegment memory = window.memory();
    long incarnation = segments.get(index).header().incarnation();
    if (Record.sum(window.sums(), at, end, incarnation, length) != Record.checksum(word)) {
      return false;
    }
    start = end;
    end += Record.aligned(length);
    boolean empty = length == Record.WORD;
    type = empty ? RecordType.VOID : Mem.getUnsignedByte(memory, at + Record.TYPE);
    body = at + Math.min(length, Record.HEADER);
    bodyLength = Math.max(0, length - Record.HEADER);
    return true;
  }

  private long readAhead(long atLeast) {
    return Math.max(atLeast, segmentEnd);
  }

  /** Decides whether invalid bytes at {@link #end} are the end or damage. */
  private void stop(long badOffset, long nextGroup) {
    long bad = end;
    if (limit != Long.MAX_VALUE) {
      throw damage(badOffset, "which segment " + nextNumber() + " says is valid up to", limit);
    }
    SegmentScan.Found current = segments.get(index);
    long later = laterGroup(nextGroup, segmentEnd, current.header().number(), bad, badOffset);
    if (later >= 0) {
      throw damage(badOffset, "before the durable group at file offset " + later + " at", later);
    }
    for (int slot : scan.unreadable()) {
      long at = slot * scan.segmentBytes();
      later = laterGroup(at + Group.BLOCK, groupsEnd(slot), -1, bad, badOffset);
      if (later >= 0) {
        throw new CorruptionException(
            "log: header of a segment with durable groups, the first at file offset " + later,
            -1,
            at,
            bad,
            0);
      }
    }
    if (bad < fromLsn) {
      throw damage(badOffset, "but records are needed from position", fromLsn);
    }
    if (scan.cut() > 0) {
      throw cut(bad, nextGroup);
    }
    if (bad < watermark.lsn()) {
      throw missing(bad, badOffset);
    }
    if (scan.lastFound() < watermark.segment()) {
      throw new CorruptionException(
          "log: segment "
              + watermark.segment()
              + " is missing; the log ends at position "
              + bad
              + ", and acknowledged commits after that are lost. Last segment",
          -1,
          -1,
          watermark.segment(),
          scan.lastFound());
    }
    start = bad;
    ended = true;
  }

  private CorruptionException missing(long bad, long badOffset) {
    return new CorruptionException(
        "log: it ends at position "
            + bad
            + " but was durable up to position "
            + watermark.lsn()
            + ": the acknowledged commits in between are missing. End",
        -1,
        badOffset,
        watermark.lsn(),
        bad);
  }

  private CorruptionException cut(long bad, long nextGroup) {
    int slot = Math.toIntExact(fileBytes / scan.segmentBytes());
    long whole = (slot + 1) * scan.segmentBytes();
    boolean endsBefore =
        segments.get(index).slot() != slot || Math.min(nextGroup, whole - Group.BLOCK) <= fileBytes;
    String missing;
    if (bad < watermark.lsn()) {
      missing =
          "it was durable up to position "
              + watermark.lsn()
              + ", and the acknowledged commits in between are missing";
    } else if (endsBefore) {
      missing = "it ends there, before the cut, and nothing is known to be missing";
    } else {
      missing = "what followed is missing";
    }
    return new CorruptionException(
        "log: its file was cut inside a segment, of which it has "
            + scan.cut()
            + " of "
            + scan.segmentBytes()
            + " bytes. The rest is valid up to position "
            + bad
            + ": "
            + missing
            + ". Length",
        -1,
        fileBytes,
        whole,
        fileBytes);
  }

  private long nextNumber() {
    return segments.get(index + 1).header().number();
  }

  private CorruptionException damage(long badOffset, String why, long number) {
    return new CorruptionException(
        "log record at position " + end + ", " + why + " " + number, -1, badOffset, number, end);
  }

  /**
   * Returns the offset of a valid group that says the log was durable beyond a position, or -1.
   * With -1 as the number, for segments with damaged headers, a group that proves the position
   * itself is enough.
   *
   * @param number the number of its segment, or -1 for any
   */
  private long laterGroup(long from, long to, long number, long proven, long badOffset) {
    long incarnation = segments.get(index).header().incarnation();
    for (long at = from & -Group.BLOCK; at + Group.BLOCK <= to; at += Group.BLOCK) {
      long off = window.at(at, Group.HEADER, to);
      MemorySegment memory = window.memory();
      boolean valid =
          number < 0
              ? Group.isValid(memory, off, database) && Group.proven(memory, off) >= proven
              : Group.isValid(memory, off, database, incarnation, number)
                  && Group.proven(memory, off) > proven;
      if (valid) {
        return at;
      }
    }
    return -1;
  }

  // ------------------------------------------------------------------------------------ records

  /** Returns the type of the record. */
  public int type() {
    return type;
  }

  public long start() {
    return start;
  }

  /** Returns the end of the record; after {@link #next} returned false, the end of the log. */
  public long end() {
    return end;
  }

  /** Returns the memory that holds the body, valid until the next call. */
  public MemorySegment segment() {
    return window.memory();
  }

  /** Returns the offset of the body in {@link #segment}. */
  public long body() {
    return body;
  }

  public int bodyLength() {
    return bodyLength;
  }

  /**
   * Returns the position up to which the records read are proven to be on stable storage, by the
   * groups entered so far or by a watermark. The last groups remain unproven until {@link Log#open}
   * has rewritten them. Until then, pages with changes beyond this position must not be written.
   */
  public long provenLsn() {
    return limit != Long.MAX_VALUE
        ? groupEnd // of an earlier segment
        : Math.max(proven, Math.min(groupEnd, watermark.lsn()));
  }

  /**
   * Returns {@link #provenLsn} after reading the headers of the next groups if necessary: a few
   * reads, once per group. If the result is less than the end of a record, nothing in the log
   * proves that record or any after it.
   */
  public long provenByNext() {
    if (provenByNext < 0) {
      provenByNext = provenLsn() < groupEnd ? lookAhead(provenLsn()) : provenLsn();
    }
    return provenByNext;
  }

  /**
   * Returns the durable position that the following groups prove, up to the end of this one. Reads
   * at most as many groups as were in flight together.
   */
  private long lookAhead(long known) {
    SegmentHeader segment = segments.get(index).header();
    long next = offset;
    long at = groupEnd;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment block = arena.allocate(Group.BLOCK, Group.BLOCK);
      while (known < groupEnd && next + Group.BLOCK <= segmentEnd) {
        device.read(next, block, 0, Group.BLOCK);
        int bytes = Group.payload(block, 0);
        if (!Group.isValid(block, 0, database, segment.incarnation(), segment.number())
            || Group.start(block, 0) != at
            || bytes <= 0
            || bytes > Group.PAYLOAD_MAX) {
          break;
        }
        known = Math.max(known, Math.min(groupEnd, Group.proven(block, 0)));
        at += bytes;
        next += Group.fileBytes(Group.header(block, 0), bytes);
      }
    }
    return known;
  }

  /** Returns the highest incarnation found. */
  public long incarnation() {
    long max = 0;
    for (SegmentScan.Found found : segments) {
      max = Math.max(max, found.header().incarnation());
    }
    return max;
  }

  @Override
  public void close() {
    window.close();
  }
}
