package io.fovea.wal;

import io.fovea.error.CorruptionException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Checksum;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Reads the durable records of a log in order, while the log is appended to.
 *
 * <pre>
 *   begin(lsn)       false: the log no longer reaches back to lsn    pins the log from lsn on
 *     next()         false: no more was durable at begin
 *     start() ...    the record
 *   end()            releases the pin
 * </pre>
 *
 * <p><b>Concurrent writes.</b> A block with durable records is not written again until its slot is
 * reused for another segment, which a pin prevents. All bytes were durable before they were read,
 * since {@link #begin} reads the durable position first. {@link #memory} is a copy and stays valid
 * for the next read, up to the position that was durable when it was made.
 *
 * <p>Everything is checked as in recovery. Invalid bytes mean damage, since no durable record lies
 * beyond the end of the log. With a {@link ForeignLog}, which pins nothing, they may also mean that
 * the segment was reused.
 *
 * <p>If a read begins where the last one ended, nothing is read twice. Otherwise the group headers
 * of the segment are visited, starting at its first group.
 *
 * <p>Used by one thread at a time.
 */
public final class DurableRecords implements AutoCloseable {
  private static final int LITTLE = 64 << 10;
  private static final int MUCH = 1 << 20;

  private final BlockDevice device;
  private final LogSegments log;
  private final SegmentSlots.@Nullable Live[] found = new SegmentSlots.@Nullable Live[2];

  private Arena arena = Arena.ofShared();
  private MemorySegment memory;
  private Checksum.Reusable sums;

  /** The range of the file in memory, and the durable position at the time it was read. */
  private long from;

  private long to;
  private long readUpTo;

  /** The segment, and the file offset of its next group. */
  private SegmentSlots.@Nullable Live segment;

  private long offset;

  /** The group: the file offset of its records, and their range of positions. */
  private long payloadOffset;

  private long groupStart;
  private long groupEnd;

  private boolean reading;
  private long pinned;
  private long durable;
  private long asked;

  private long start;
  private long end;
  private long body;
  private int bodyLength;
  private int type;

  DurableRecords(BlockDevice device, LogSegments log) {
    this.device = device;
    this.log = log;
    this.memory = arena.allocate(LITTLE, Group.BLOCK);
    this.sums = new Checksum.Reusable(memory);
  }

  /**
   * Begins to read at a position, and pins the log from there.
   *
   * @param lsn the start of a record or the end of the log
   * @return false if the log no longer reaches back to {@code lsn}
   */
  public boolean begin(long lsn) {
    if (reading) {
      throw new IllegalStateException("A read has already begun; call end() first.");
    }
    long upTo = log.durableLsn();
    if (!log.pin(lsn)) {
      return false;
    }
    reading = true;
    pinned = lsn;
    durable = upTo;
    if (lsn != end || segment == null) {
      segment = null;
      end = lsn;
    }
    asked = lsn;
    return true;
  }

  /** Releases the pin. The current record stays readable until the next {@link #begin}. */
  public void end() {
    if (reading) {
      reading = false;
      log.unpin(pinned);
    }
  }

  /** Returns the position up to which the log was durable when the read began. */
  public long durableLsn() {
    return durable;
  }

  /**
   * Advances to the next record.
   *
   * @return false if no further record was durable when the read began
   * @throws CorruptionException if a durable record is missing or damaged
   */
  public boolean next() {
    if (!reading) {
      throw new IllegalStateException("No read has begun; call begin() first.");
    }
    while (end < durable) {
      if (segment == null) {
        seek();
      } else if (end < groupEnd) {
        record();
        if (start >= asked) {
          return true;
        }
      } else {
        group();
      }
    }
    return false;
  }

  /** Moves to the start of the segment that contains the next record. */
  private void seek() {
    if (!log.find(end, found)) {
      throw new CorruptionException("a segment of the log", -1, -1, end, log.firstLsn());
    }
    SegmentSlots.Live s = found[0];
    if (s != null) {
      segment = s;
      offset = s.slot() * log.segmentBytes() + Group.BLOCK;
      groupStart = s.startLsn();
      groupEnd = s.startLsn();
      end = s.startLsn();
    }
  }

  /** Enters the next group of the segment, or leaves the segment where the next segment begins. */
  private void group() {
    SegmentSlots.Live s = segment;
    if (s == null) {
      return;
    }
    long at = end;
    log.find(Math.max(at, asked), found);
    if (found[0] != null && found[0].number() != s.number()) {
      segment = null;
      end = Math.max(at, asked);
      return;
    }
    long limit = (s.slot() + 1) * log.segmentBytes() - Group.BLOCK;
    long off = limit - offset < Group.BLOCK ? -1 : at(offset, Group.BLOCK, limit);
    int payload = off < 0 ? -1 : payload(s, off, at, limit);
    if (payload < 0) {
      throw new CorruptionException(
          "log record at position " + at + ", which was durable: its group is damaged",
          -1,
          offset,
          at,
          off < 0 ? -1 : Group.start(memory, off));
    }
    int header = Group.header(memory, off);
    payloadOffset = offset + header;
    groupStart = at;
    groupEnd = at + payload;
    offset += Group.fileBytes(header, payload);
    if (groupEnd <= asked) {
      end = groupEnd; // none of its records was requested
    }
  }

  private int payload(SegmentSlots.Live s, long off, long at, long limit) {
    if (!Group.isValid(memory, off, log.database(), s.incarnation(), s.number())
        || Group.start(memory, off) != at) {
      return -1;
    }
    int payload = Group.payload(memory, off);
    return payload <= 0
            || (payload & 7) != 0
            || payload > Group.PAYLOAD_MAX
            || payload > limit - offset - Group.header(memory, off)
        ? -1
        : payload;
  }

  private void record() {
    SegmentSlots.Live s = segment;
    if (s == null) {
      return;
    }
    long at = payloadOffset + end - groupStart;
    long limit = payloadOffset + groupEnd - groupStart;
    long off = at(at, Record.WORD, limit);
    long word = Mem.getLong(memory, off);
    int length = Record.length(word);
    if (length != Record.WORD && length < Record.HEADER || Record.aligned(length) > limit - at) {
      throw damaged(at, limit - at, length);
    }
    off = at(at, length, limit);
    int sum = Record.sum(sums, off, end, s.incarnation(), length);
    if (sum != Record.checksum(word)) {
      throw damaged(at, Record.checksum(word), sum);
    }
    start = end;
    end += Record.aligned(length);
    boolean empty = length == Record.WORD;
    type = empty ? RecordType.VOID : Mem.getUnsignedByte(memory, off + Record.TYPE);
    body = off + Math.min(length, Record.HEADER);
    bodyLength = Math.max(0, length - Record.HEADER);
  }

  private CorruptionException damaged(long at, long expected, long got) {
    return new CorruptionException(
        "log record at position " + end + ", which was durable", -1, at, expected, got);
  }

  /**
   * Loads a durable range of the file; returns its offset in the memory.
   *
   * @param max where reading ahead ends: the end of the segment's groups, or of the group
   */
  private long at(long fileAt, long len, long max) {
    if (fileAt < from || fileAt + len > to || end >= readUpTo) {
      load(fileAt, len, max);
    }
    return fileAt - from;
  }

  private void load(long fileAt, long len, long max) {
    long begin = fileAt & -Group.BLOCK;
    long needed = fileAt + len - begin + Group.BLOCK - 1 & -Group.BLOCK;
    long wanted = durable - end < LITTLE / 4 ? LITTLE : MUCH;
    long ahead = (max + Group.BLOCK - 1 & -Group.BLOCK) - begin;
    int bytes = (int) Math.max(needed, Math.min(wanted, ahead));
    from = 0;
    to = 0;
    if (bytes > memory.byteSize()) {
      Arena larger = Arena.ofShared();
      memory = larger.allocate(bytes, Group.BLOCK);
      sums = new Checksum.Reusable(memory);
      arena.close();
      arena = larger;
    }
    device.read(begin, memory, 0, bytes);
    from = begin;
    to = begin + bytes;
    readUpTo = durable;
  }

  // ----------------------------------------------------------------------------------- the record

  /** Returns the type of the record. */
  public int type() {
    return type;
  }

  public long start() {
    return start;
  }

  /**
   * Returns the end of the record; before the first one, the position at which reading continues.
   */
  public long recordEnd() {
    return end;
  }

  /** Returns the memory that holds the body, valid until the next call. */
  public MemorySegment segment() {
    return memory;
  }

  /** Returns the offset of the body in {@link #segment}. */
  public long body() {
    return body;
  }

  public int bodyLength() {
    return bodyLength;
  }

  /** Releases the pin and the memory. */
  @Override
  public void close() {
    end();
    if (arena.scope().isAlive()) {
      arena.close();
    }
  }
}
