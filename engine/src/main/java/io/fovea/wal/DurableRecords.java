package io.fovea.wal;

import io.fovea.error.CorruptionException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Checksum;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Reads the records of a log that is appended to meanwhile, in order, as far as they are durable.
 *
 * <pre>
 *   begin(lsn)       false: what is there begins behind it     holds what is there from it on
 *     next()         false: no more was durable at begin
 *     start() ...    the record
 *   end()            holds nothing
 * </pre>
 *
 * <p><b>Why it may read while the writer writes.</b> A block with durable records is never written
 * again, until its slot is used for another segment; and that is not done while a pin holds it. All
 * that is looked at was durable before it was read: {@link #begin} asks first how far the log is.
 * What is in {@link #memory} stays good for the next turn, for it is a copy, up to where the log
 * was durable when it was made.
 *
 * <p>Everything is checked as in recovery, and what is wrong is damage: nothing that is durable can
 * be an end. Of a {@link ForeignLog}, which pins nothing, it may also be a segment that is used for
 * another one by now.
 *
 * <p>Where the next record begins a turn, nothing is read twice. Elsewhere the groups of a segment
 * are passed, from its first, a header each.
 *
 * <p>One thread at a time.
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

  /** What of the file is in the memory, and up to where the log was durable when it was read. */
  private long from;

  private long to;
  private long readUpTo;

  /** The segment, and where the next group of it begins in the file. */
  private SegmentSlots.@Nullable Live segment;

  private long offset;

  /** The group: where its records begin in the file, and which they are. */
  private long payloadOffset;

  private long groupStart;
  private long groupEnd;

  private boolean turn;
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
   * Begins to read.
   *
   * @param lsn where a record begins, or the log ends
   * @return false where what is there begins behind it
   */
  public boolean begin(long lsn) {
    if (turn) {
      throw new IllegalStateException("A turn has begun already.");
    }
    long upTo = log.durableLsn();
    if (!log.pin(lsn)) {
      return false;
    }
    turn = true;
    pinned = lsn;
    durable = upTo;
    if (lsn != end || segment == null) {
      segment = null;
      end = lsn;
    }
    asked = lsn;
    return true;
  }

  /** Holds nothing from here on. The record that was read stays until the next turn. */
  public void end() {
    if (turn) {
      turn = false;
      log.unpin(pinned);
    }
  }

  /** Up to where the log was durable when the turn began. */
  public long durableLsn() {
    return durable;
  }

  /**
   * Goes to the next record.
   *
   * @return false where no more was durable when the turn began
   * @throws CorruptionException if what was durable is not there
   */
  public boolean next() {
    if (!turn) {
      throw new IllegalStateException("No turn has begun.");
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

  /** Goes to the start of the segment that has the next record. */
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

  /** Enters the next group of the segment, or leaves the segment where the next one begins. */
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
      end = groupEnd; // nobody wants its records
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
   * Makes a range of the file visible, which is durable; returns where it begins in the memory.
   *
   * @param most where reading ahead ends: the end of the segment's groups, or of the group
   */
  private long at(long fileAt, long len, long most) {
    if (fileAt < from || fileAt + len > to || end >= readUpTo) {
      load(fileAt, len, most);
    }
    return fileAt - from;
  }

  private void load(long fileAt, long len, long most) {
    long begin = fileAt & -Group.BLOCK;
    long needed = fileAt + len - begin + Group.BLOCK - 1 & -Group.BLOCK;
    long wanted = durable - end < LITTLE / 4 ? LITTLE : MUCH;
    long ahead = (most + Group.BLOCK - 1 & -Group.BLOCK) - begin;
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

  /** The kind of the record. */
  public int type() {
    return type;
  }

  /** Where it begins. */
  public long start() {
    return start;
  }

  /** Where it ends, and the next one begins; before the first, where reading goes on. */
  public long recordEnd() {
    return end;
  }

  /** The memory with its body, until the next call. */
  public MemorySegment segment() {
    return memory;
  }

  /** Where the body begins there. */
  public long body() {
    return body;
  }

  /** How long the body is. */
  public int bodyLength() {
    return bodyLength;
  }

  /** Gives the memory back. No turn is under way. */
  @Override
  public void close() {
    end();
    if (arena.scope().isAlive()) {
      arena.close();
    }
  }
}
