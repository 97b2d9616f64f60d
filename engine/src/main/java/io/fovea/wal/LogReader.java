package io.fovea.wal;

import io.fovea.error.CorruptionException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.UUID;

/**
 * Reads a log from a position to its end. One thread.
 *
 * <pre>
 *   segments by number    │ 5: from 4096 │ 6: from 70000 │ 7: from 70000 │ 9: from 91000
 *   fromLsn 80000  ───────────────────────────────────────►│ group │ group │ ... until 91000 ─►│
 * </pre>
 *
 * <p><b>A segment ends where the next one begins.</b> What lies behind that in its slot was torn,
 * or was there before, and does not count. A segment without any record is the mark of an opening
 * that got no further.
 *
 * <p><b>The end or damage?</b> The writer begins a segment only when everything before it is
 * durable, and a group says up to where everything was durable when it was put together. So where
 * something bad is found at X, it is damage if anything valid says that more than X was durable: a
 * later segment, a later group of this segment, or a group in a slot whose header is damaged. So it
 * is if a {@link Watermark} says that the log was durable beyond X, or if the file was cut: then
 * nobody knows what was behind. If there is nothing of it, X is the end: that group was torn, and
 * nobody was told that it is durable.
 *
 * <p><b>Behind a gap.</b> Groups are written several at a time ({@link InFlightGroups}), so behind
 * X there may be whole groups that say no more than X. Nobody was told of them either, for the
 * durable position never passes a group that is not there. They are never read: reading goes on
 * where a group starts at the very position where the last record ended, and stops here for good.
 * Nor do they come back later: what is appended after an opening goes to a new segment, which
 * begins at X or before, and what lies behind that in this slot does not count.
 *
 * <p>A file that was cut is read as far as it goes, and then refused: an exception at the end says
 * what was found, what is known to be missing, and has been preceded by all that is there.
 *
 * <p>All lengths are checked against what is left of the group, the segment and the file before
 * they are used.
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
   * Opens a log for reading, of which nothing is known but what it says itself.
   *
   * @param device the file
   * @param database whose log it must be
   * @param fromLsn the first record
   * @throws CorruptionException if the log does not reach back so far
   */
  public static LogReader open(BlockDevice device, UUID database, long fromLsn) {
    return open(device, database, fromLsn, Watermark.NONE);
  }

  /**
   * Opens a log for reading.
   *
   * @param device the file
   * @param database whose log it must be
   * @param fromLsn the first record
   * @param known how far it was durable: an end before that is damage
   * @throws CorruptionException if the log does not reach back so far
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
                  + ", is too late; it is needed from position "
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

  /** Where the groups of a slot end: before its last block, or where the file ends. */
  private long groupsEnd(int slot) {
    return Math.min((slot + 1) * scan.segmentBytes() - Group.BLOCK, scan.end(slot, fileBytes));
  }

  /**
   * Goes to the next record.
   *
   * @return false at the end of what is valid
   * @throws CorruptionException for damage below what was durable
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

  /** As {@link #provenByNext()}; negative where nobody has asked for this group. */
  private long provenByNext = -1;

  private int payload;

  /** How many bytes the group's header has. */
  private int headerBytes;

  /** Up to where the groups of this segment, so far, say that the log was durable. */
  private long proven;

  /** Where in the file the record at {@link #end} begins. */
  private long fileOffset() {
    return groupOffset + headerBytes + (end - (groupEnd - payload));
  }

  private long groupEndOffset() {
    return groupOffset + Group.fileBytes(headerBytes, payload);
  }

  /** Enters the next group. */
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
      end = groupEnd; // nobody wants its records
    }
    return true;
  }

  /** Looks at the record at {@link #end}. */
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

  /** Something is bad at {@link #end}: it is the end, or damage. */
  private void stop(long badOffset, long nextGroup) {
    long bad = end;
    if (limit != Long.MAX_VALUE) {
      throw damage(badOffset, "which segment " + nextNumber() + " says is whole up to", limit);
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
      throw damage(badOffset, "which ends before it is needed, from position", fromLsn);
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
              + " was there, and is not; the log ends at position "
              + bad
              + ", acknowledged commits behind that are missing. Last segment",
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
            + " and was durable up to position "
            + watermark.lsn()
            + ": the acknowledged commits between are missing. End",
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
              + ", and the acknowledged commits between are missing";
    } else if (endsBefore) {
      missing = "there it ends, before the cut, and nothing is known to be missing";
    } else {
      missing = "what followed is missing";
    }
    return new CorruptionException(
        "log: its file was cut inside of a segment, of which it has "
            + scan.cut()
            + " of "
            + scan.segmentBytes()
            + " bytes. What is left is whole up to position "
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
   * The offset of a valid group that says that the log was durable beyond a position; of any
   * segment, whose header is damaged, up to it.
   *
   * @param number of its segment, or -1 for any
   * @return -1 where there is none
   */
  private long laterGroup(long from, long to, long number, long behind, long badOffset) {
    long incarnation = segments.get(index).header().incarnation();
    for (long at = from & -Group.BLOCK; at + Group.BLOCK <= to; at += Group.BLOCK) {
      long off = window.at(at, Group.HEADER, to);
      MemorySegment memory = window.memory();
      boolean valid =
          number < 0
              ? Group.isValid(memory, off, database) && Group.proven(memory, off) >= behind
              : Group.isValid(memory, off, database, incarnation, number)
                  && Group.proven(memory, off) > behind;
      if (valid) {
        return at;
      }
    }
    return -1;
  }

  // ------------------------------------------------------------------------------------ records

  /** The kind of the record. */
  public int type() {
    return type;
  }

  /** Where it begins. */
  public long start() {
    return start;
  }

  /** Where it ends; after {@link #next} returned false, where the log ends. */
  public long end() {
    return end;
  }

  /** The memory with its body, until the next call. */
  public MemorySegment segment() {
    return window.memory();
  }

  /** Where the body begins there. */
  public long body() {
    return body;
  }

  /** How long the body is. */
  public int bodyLength() {
    return bodyLength;
  }

  /**
   * Up to where what was read is proven to be on stable storage: by what a group says that was
   * entered, or where somebody has noted how far the log was durable. Of the last groups nobody
   * knows whether they were synced, until {@link Log#open} has written them again. Pages that have
   * changes from behind what is proven must not be written before.
   */
  public long provenLsn() {
    return limit != Long.MAX_VALUE
        ? groupEnd // of an earlier segment
        : Math.max(proven, Math.min(groupEnd, watermark.lsn()));
  }

  /**
   * The same, where the next groups may be looked at for that: a few reads, once a group. Where the
   * answer is less than the end of a record, nothing in the log proves the record, nor any behind
   * it.
   */
  public long provenByNext() {
    if (provenByNext < 0) {
      provenByNext = provenLsn() < groupEnd ? lookAhead(provenLsn()) : provenLsn();
    }
    return provenByNext;
  }

  /**
   * What the groups say that follow, up to the end of this one. As many are read as were in the air
   * together, or fewer.
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

  /** The highest incarnation that was met. */
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
