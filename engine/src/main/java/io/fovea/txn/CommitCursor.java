package io.fovea.txn;

import io.fovea.error.CorruptionException;
import io.fovea.error.InvalidUseException;
import io.fovea.memory.Mem;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;

/**
 * Reads the operations of a {@link CommitRecord}, one after the other.
 *
 * <pre>
 *   open(type, segment, body, length)
 *   while (next())      kind(), treeId(), keyOffset(), ...: of the operation that it stands on
 *   adopted(i), released(i)
 * </pre>
 *
 * Nothing is copied and nothing allocated: what it says are places in the segment. Nothing is
 * believed either. A record's checksum says that it is what was written, not that what was written
 * makes sense, and the dump tool reads what has a checksum made by somebody else. So every length
 * is held to the end of the record before it is used, counts bound no allocation, and what does not
 * add up is a {@link CorruptionException}.
 *
 * <p>Owned by one thread at a time, to be used again and again.
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

  /** The last leaf that an operation has said. */
  private long leafBefore;

  /** Makes a cursor that stands nowhere. */
  public CommitCursor() {}

  /**
   * Goes before the first operation of a record.
   *
   * @param type {@link RecordType#COMMIT} or {@link RecordType#COMMIT_PART}
   * @param s where the record is
   * @param body where its body begins there
   * @param bodyLength how long its body is
   * @throws CorruptionException if the counts do not fit into the record
   */
  public void open(int type, MemorySegment s, long body, long bodyLength) {
    boolean part = type == RecordType.COMMIT_PART;
    if (!part && type != RecordType.COMMIT) {
      throw new InvalidUseException("A record of type " + type + " is no commit.");
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

  /**
   * Goes before the first of some operations in another kind of record.
   *
   * @param s where they are
   * @param from where the first begins
   * @param end what none of them reaches beyond
   * @param count how many they are
   */
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

  /**
   * Goes to the next operation.
   *
   * @return false after the last
   * @throws CorruptionException if it is no operation, or does not end within the record
   */
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
          throw damaged("place of a patch", 0, patchAt);
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

  /** Where the first part of the commit begins; 0 in the first part, and where there are none. */
  public long id() {
    return id;
  }

  /** How many operations the record has. */
  public long ops() {
    return ops;
  }

  /** How many pages of new long values it publishes. */
  public long adopted() {
    return adopted;
  }

  /** How many pages of old long values it releases. */
  public long released() {
    return released;
  }

  /** A page that it publishes. */
  public long adopted(long i) {
    return pid(0, i, adopted);
  }

  /** A page that it releases. */
  public long released(long i) {
    return pid(adopted, i, released);
  }

  private long pid(long before, long i, long count) {
    if (i < 0 || i >= count) {
      throw new IndexOutOfBoundsException("page " + i + " of " + count);
    }
    return Mem.getLong(segment, opsEnd + 8 * (before + i));
  }

  /** How many bytes of counts it has; see {@link CommitCounts}. */
  public long countsLength() {
    return counts;
  }

  /** Where they begin. */
  long countsAt() {
    return opsEnd + 8 * (adopted + released);
  }

  /** Behind the operations that were read: after the last, where what follows them begins. */
  public long position() {
    return at;
  }

  // ---------------------------------------------------------------- the operation

  /** Whether the operation names pages of the commit: ADOPT or RELEASE. */
  public boolean isPages() {
    return kind == CommitRecord.ADOPT || kind == CommitRecord.RELEASE;
  }

  /** Of such an operation: how many pages it names. */
  public int pages() {
    return isPages() ? length / 8 : 0;
  }

  /** One of them. */
  public long page(int i) {
    if (i < 0 || i >= pages()) {
      throw new IndexOutOfBoundsException("page " + i + " of " + pages());
    }
    return Mem.getLong(segment, payload + 4 + 8L * i);
  }

  /** Where everything is. */
  public MemorySegment segment() {
    return segment;
  }

  /** What is done: a constant of {@link CommitRecord}. */
  public int kind() {
    return kind;
  }

  /** In which tree. */
  public int treeId() {
    return treeId;
  }

  /**
   * The page of the leaf where the key was, or was missed, when the record was put, as far as its
   * author knew. A hint that nothing has looked at: any number. It is what was meant only if all
   * operations of the record before this one were read, too.
   *
   * @return 0 where nothing is said
   */
  public long leaf() {
    return leaf;
  }

  /** Where the key is. */
  public long keyOffset() {
    return keyOffset;
  }

  /** How long the key is. */
  public int keyLength() {
    return keyLength;
  }

  /** Where the value of a PUT is, or the bytes of a PATCH. */
  public long valueOffset() {
    return payload + (kind == CommitRecord.PATCH ? 8 : 4);
  }

  /**
   * How long the value of a PUT is, the bytes of a PATCH, or the long value of a CHAIN or MOVED.
   */
  public int valueLength() {
    return length;
  }

  /** From which byte of the value on a PATCH changes it. */
  public int patchAt() {
    return Mem.getInt(segment, payload);
  }

  /** Of a TABLE what became of the table: a constant of {@link CommitRecord}. */
  public int how() {
    return Mem.getInt(segment, payload);
  }

  /** Of a FROM where what belongs to the commit begins in the log. */
  public long from() {
    return Mem.getLong(segment, payload);
  }

  /** The first page of the value of a CHAIN or MOVED. */
  public long first() {
    return Mem.getLong(segment, payload);
  }
}
