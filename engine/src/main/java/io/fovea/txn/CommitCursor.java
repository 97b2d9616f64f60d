package io.fovea.txn;

import io.fovea.error.CorruptionException;
import io.fovea.error.InvalidUseException;
import io.fovea.memory.Mem;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;

/**
 * Reads the operations of a {@link CommitRecord} in order.
 *
 * <pre>
 *   open(type, segment, body, length)
 *   while (next())      kind(), treeId(), keyOffset(), ...: of the current operation
 *   adopted(i), released(i)
 * </pre>
 *
 * Nothing is copied or allocated: results are offsets in the segment. Nothing is trusted either,
 * because the dump tool reads files that others may have made: lengths are compared with the end of
 * the record before use, counts bound no allocation, and inconsistent input is a {@link
 * CorruptionException}. Reusable; used by one thread at a time.
 */
public final class CommitCursor {
  private MemorySegment segment = MemorySegment.NULL;
  private long id;
  private long ops;
  private long adopted;
  private long released;
  private long counts;
  private long done;
  private long at;
  private long opsEnd;
  private boolean exact;

  private int kind;
  private int treeId;
  private int keyLength;
  private long keyOffset;
  private long payload;
  private int length;
  private long leaf;

  /** The leaf of the last operation that has one. */
  private long leafBefore;

  /** Creates a cursor without a position. */
  public CommitCursor() {}

  /**
   * Positions before the first operation of a record.
   *
   * @param type {@link RecordType#COMMIT} or {@link RecordType#COMMIT_PART}
   * @param body the offset of the record's body in {@code s}
   */
  public void open(int type, MemorySegment s, long body, long bodyLength) {
    boolean part = type == RecordType.COMMIT_PART;
    if (!part && type != RecordType.COMMIT) {
      throw new InvalidUseException("A record of type " + type + " is not a commit.");
    }
    int header = part ? CommitRecord.PART_HEADER : CommitRecord.HEADER;
    if (bodyLength < header) {
      throw damaged("length of a commit record", header, bodyLength);
    }
    id = Mem.getLong(s, body);
    ops = count(s, body + CommitRecord.OPS);
    adopted = part ? 0 : count(s, body + CommitRecord.ADOPTED);
    released = part ? 0 : count(s, body + CommitRecord.RELEASED);
    counts = part ? 0 : count(s, body + CommitRecord.COUNTS);
    if (part && Mem.getInt(s, body + header - 4) != 0) {
      throw damaged("reserved bytes of a commit record", 0, Mem.getInt(s, body + header - 4));
    }
    long needed = header + CommitRecord.OP_HEADER * ops + 8 * (adopted + released) + counts;
    if (needed > bodyLength) {
      throw damaged("length of a commit record", needed, bodyLength);
    }
    begin(s, body + header, body + bodyLength - 8 * (adopted + released) - counts);
    exact = true;
  }

  /** Positions before the first of {@code count} operations within another kind of record. */
  public void openOps(MemorySegment s, long from, long end, long count) {
    id = 0;
    ops = count;
    adopted = 0;
    released = 0;
    counts = 0;
    begin(s, from, end);
    exact = false;
  }

  private void begin(MemorySegment s, long from, long end) {
    segment = s;
    at = from;
    opsEnd = end;
    done = 0;
    kind = 0;
    leaf = 0;
    leafBefore = 0;
  }

  private static long count(MemorySegment s, long at) {
    return Mem.getInt(s, at) & 0xFFFF_FFFFL;
  }

  /** Advances to the next operation; returns false after the last. */
  public boolean next() {
    if (done == ops) {
      if (exact && at != opsEnd) {
        throw damaged("end of the operations of a commit record", opsEnd, at);
      }
      return false;
    }
    MemorySegment s = segment;
    long left = opsEnd - at - CommitRecord.OP_HEADER;
    if (left < 0) {
      throw damaged("operation of a commit record", 0, left);
    }
    int first = Mem.getInt(s, at);
    kind = first & 0xFF;
    treeId = Mem.getInt(s, at + 4);
    keyLength = first >>> 16;
    keyOffset = at + CommitRecord.OP_HEADER;
    left -= keyLength;
    payload = keyOffset + keyLength;
    int header =
        switch (kind) {
          case CommitRecord.PUT -> 4;
          case CommitRecord.PATCH -> 8;
          case CommitRecord.DELETE -> 0;
          case CommitRecord.CHAIN, CommitRecord.MOVED -> 16;
          case CommitRecord.TABLE -> 4;
          case CommitRecord.FROM -> 8;
          case CommitRecord.ADOPT, CommitRecord.RELEASE -> 4;
          default -> throw damaged("kind of an operation", CommitRecord.PUT, kind);
        };
    if (left < header) {
      throw damaged("length of an operation", header, left);
    }
    readLength(s, left - header);
    at = payload + header + (isChain() ? 0 : length);
    readLeaf(first >>> 8);
    done++;
    return true;
  }

  private void readLeaf(int header) {
    int code = header & 0xFF;
    int bytes = LeafCode.following(code);
    if (bytes < 0 || bytes > opsEnd - at) {
      throw damaged("length of the leaf of an operation", opsEnd - at, bytes);
    }
    leaf = 0;
    if (code != 0) {
      leaf = LeafCode.read(segment, at, code, leafBefore);
      leafBefore = leaf;
      at += bytes;
    }
  }

  private boolean isChain() {
    return kind == CommitRecord.CHAIN || kind == CommitRecord.MOVED;
  }

  private void readLength(MemorySegment s, long left) {
    switch (kind) {
      case CommitRecord.PUT -> length = Mem.getInt(s, payload);
      case CommitRecord.PATCH -> {
        length = Mem.getInt(s, payload + 4);
        int patchAt = Mem.getInt(s, payload);
        if (patchAt < 0 || patchAt > Integer.MAX_VALUE - Math.max(0, length)) {
          throw damaged("offset of a patch", 0, patchAt);
        }
      }
      case CommitRecord.CHAIN, CommitRecord.MOVED -> {
        long first = Mem.getLong(s, payload);
        long chain = Mem.getLong(s, payload + 8);
        if (first <= 0 || chain <= 0 || chain > Integer.MAX_VALUE) {
          throw damaged("first page or length of a long value", 1, first <= 0 ? first : chain);
        }
        length = (int) chain;
        return;
      }
      case CommitRecord.ADOPT, CommitRecord.RELEASE -> {
        int pages = Mem.getInt(s, payload);
        if (pages < 0 || pages > left / 8) {
          throw damaged("page ids of an operation", left / 8, pages);
        }
        length = 8 * pages;
      }
      default -> length = 0;
    }
    if (length < 0 || length > left) {
      throw damaged("length of an operation", left, length);
    }
  }

  private static CorruptionException damaged(String what, long expected, long found) {
    return new CorruptionException(what + " in the log", -1, -1, expected, found);
  }

  // ---------------------------------------------------------------- the record

  /** Returns the LSN of the commit's first part; 0 in that part, and in a commit without parts. */
  public long id() {
    return id;
  }

  /** Returns the number of operations of the record. */
  public long ops() {
    return ops;
  }

  /** Returns the number of pages of new long values that it publishes. */
  public long adopted() {
    return adopted;
  }

  /** Returns the number of pages of old long values that it releases. */
  public long released() {
    return released;
  }

  /** Returns the id of a page that it publishes. */
  public long adopted(long i) {
    return pid(0, i, adopted);
  }

  /** Returns the id of a page that it releases. */
  public long released(long i) {
    return pid(adopted, i, released);
  }

  private long pid(long before, long i, long count) {
    if (i < 0 || i >= count) {
      throw new IndexOutOfBoundsException("page " + i + " of " + count);
    }
    return Mem.getLong(segment, opsEnd + 8 * (before + i));
  }

  /** Returns the length of the counts, in bytes; see {@link CommitCounts}. */
  public long countsLength() {
    return counts;
  }

  long countsAt() {
    return opsEnd + 8 * (adopted + released);
  }

  /** Returns the offset after the operations read so far. */
  public long position() {
    return at;
  }

  // ---------------------------------------------------------------- the operation

  /** Returns whether the operation names pages of the commit: ADOPT or RELEASE. */
  public boolean isPages() {
    return kind == CommitRecord.ADOPT || kind == CommitRecord.RELEASE;
  }

  /** Returns the number of pages of such an operation. */
  public int pages() {
    return isPages() ? length / 8 : 0;
  }

  /** Returns the id of one of these pages. */
  public long page(int i) {
    if (i < 0 || i >= pages()) {
      throw new IndexOutOfBoundsException("page " + i + " of " + pages());
    }
    return Mem.getLong(segment, payload + 4 + 8L * i);
  }

  /** Returns the segment of the record. */
  public MemorySegment segment() {
    return segment;
  }

  /** Returns the kind of operation: a constant of {@link CommitRecord}. */
  public int kind() {
    return kind;
  }

  /** Returns the tree id. */
  public int treeId() {
    return treeId;
  }

  /**
   * Returns the page of the leaf where the key was, or was missing, when the record was written; 0:
   * unknown. An unchecked hint. All earlier operations must have been read.
   */
  public long leaf() {
    return leaf;
  }

  /** Returns the offset of the key. */
  public long keyOffset() {
    return keyOffset;
  }

  /** Returns the length of the key. */
  public int keyLength() {
    return keyLength;
  }

  /** Returns the offset of the value of a PUT, or of the bytes of a PATCH. */
  public long valueOffset() {
    return payload + (kind == CommitRecord.PATCH ? 8 : 4);
  }

  /** Returns the length of a PUT's value, a PATCH's bytes, or a CHAIN's or MOVED's long value. */
  public int valueLength() {
    return length;
  }

  /** Returns the offset in the value at which a PATCH begins. */
  public int patchAt() {
    return Mem.getInt(segment, payload);
  }

  /** Returns what a TABLE says about the table: a constant of {@link CommitRecord}. */
  public int tableEventKind() {
    return Mem.getInt(segment, payload);
  }

  /** Returns the LSN of a FROM. */
  public long from() {
    return Mem.getLong(segment, payload);
  }

  /** Returns the first page of the value of a CHAIN or MOVED. */
  public long first() {
    return Mem.getLong(segment, payload);
  }
}
