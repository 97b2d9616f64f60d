package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.Position;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The writes of a transaction: one entry per (tree, key).
 *
 * <pre>
 *   before \ then   insert       put          patch            delete
 *   (none)          INSERT       PUT          PATCH            DELETE
 *   INSERT          duplicate    INSERT       INSERT, changed  NONE
 *   PUT             duplicate    PUT          PUT, changed     DELETE
 *   PATCH           duplicate    PUT          PATCH, longer    DELETE
 *   DELETE          PUT          PUT          misuse           nothing there
 *   NONE            INSERT       INSERT       misuse           nothing there
 * </pre>
 *
 * NONE, left by insert then delete, writes nothing; its read stays in the read set. The table is
 * cleared by walking the entries, like that of {@link ReadSet}. Keys and values are in the
 * transaction's {@link Scratch}; a PATCH entry's value is the head of a list of patches: {@code
 * next (4), at (4), length (4), bytes}.
 */
final class WriteSet {
  static final byte NONE = 0;
  static final byte INSERT = 1;
  static final byte PUT = 2;
  static final byte PATCH = 3;
  static final byte DELETE = 4;

  /** Gives a long value another first page; the only entry of its transaction. */
  static final byte MOVE = 5;

  /** Whether the key existed before this transaction. */
  static final byte UNKNOWN = -2;

  static final byte ABSENT = -1;
  static final byte PRESENT = 1;

  static final int PATCH_HEADER = 12;
  private static final int INITIAL = 32;
  private static final int LOCATION = 3;
  private static final int KEEP = 1 << 12;

  /**
   * Used instead of a frame and slot: unknown, or the location of the previous key that appears.
   */
  private static final long NOWHERE = -1;

  private static final long FOLLOWS = -2;

  final Scratch scratch;
  private @Nullable BTree[] trees = new BTree[INITIAL];
  private long[] items = new long[INITIAL];
  private int[] keyOffsets = new int[INITIAL];
  private int[] keyLengths = new int[INITIAL];
  private int[] valueOffsets = new int[INITIAL];
  private int[] valueLengths = new int[INITIAL]; // of a PATCH: the offset of the last patch
  private int[] handles = new int[INITIAL];
  private int[] slots = new int[INITIAL];
  private byte[] kinds = new byte[INITIAL];
  private byte[] existed = new byte[INITIAL];

  private int[] lengthsBefore = new int[INITIAL];

  /** The entry that is installed after this one, with no other key between; -1: none. */
  private int[] followers = new int[INITIAL];

  /** Version, page id, and frame with slot, of entries that no read has located. */
  private long[] locations = new long[INITIAL * LOCATION];

  private int[] table = new int[INITIAL * 4];
  private int size;
  private int changes;

  private boolean pinsLater;

  WriteSet(Scratch scratch) {
    this.scratch = scratch;
  }

  int size() {
    return size;
  }

  /**
   * Returns a number that changes when an entry gets or loses a whole record (INSERT, PUT), which
   * open scans have to add; patches and other values do not matter.
   */
  int changes() {
    return changes;
  }

  private static boolean isWhole(byte kind) {
    return kind == INSERT || kind == PUT;
  }

  private void kind(int e, byte kind) {
    if (isWhole(kinds[e]) != isWhole(kind)) {
      changes++;
    }
    kinds[e] = kind;
  }

  int find(BTree tree, long item, MemorySegment key, long offset, int length) {
    if (size == 0) {
      return -1;
    }
    int mask = table.length - 1;
    for (int i = (int) item & mask; ; i = (i + 1) & mask) {
      int e = table[i] - 1;
      if (e < 0) {
        return -1;
      }
      if (items[e] == item
          && trees[e] == tree
          && keyLengths[e] == length
          && Mem.equal(scratch.segment(), keyOffsets[e], length, key, offset, length)) {
        return e;
      }
    }
  }

  /**
   * Adds an entry for a key that {@link #find} did not find: completely, or not at all if memory is
   * short, because a body may catch the error. Its data is already in the scratch memory.
   *
   * @param value the offset of the value, or of the only patch of a PATCH, or -1
   * @param valueLength the length of the value; of a PATCH, its offset
   * @param before the length of the current value, {@link #ABSENT} or {@link #UNKNOWN}
   */
  int add(
      BTree tree,
      long item,
      int key,
      int keyLength,
      byte kind,
      int value,
      int valueLength,
      int before,
      int handle,
      int slot) {
    if (size == items.length) {
      grow();
    }
    int e = size;
    trees[e] = tree;
    items[e] = item;
    keyOffsets[e] = key;
    keyLengths[e] = keyLength;
    kinds[e] = NONE;
    kind(e, kind);
    existed[e] = before >= 0 ? PRESENT : (byte) before;
    lengthsBefore[e] = before;
    handles[e] = handle;
    slots[e] = slot;
    pinsLater |= slot == ConcurrencyControl.LATER;
    valueOffsets[e] = value;
    valueLengths[e] = valueLength;
    followers[e] = -1;
    locations[e * LOCATION + 2] = NOWHERE;
    enter(table, item, e + 1);
    size = e + 1;
    return e;
  }

  void value(int e, byte kind, MemorySegment value, long offset, int length) {
    int change = isWhole(kinds[e]) == isWhole(kind) ? 0 : 1;
    int at = valueOffsets[e];
    // Overwrite in place if the new value is not longer, otherwise append.
    if (kinds[e] != PATCH && at >= 0 && length <= valueLengths[e]) {
      Mem.copy(value, offset, scratch.segment(), at, length);
    } else {
      at = scratch.put(value, offset, length);
    }
    // Stores only.
    changes += change;
    kinds[e] = kind;
    valueOffsets[e] = at;
    valueLengths[e] = length;
  }

  /** Turns an entry into one without a value: DELETE or NONE. */
  void discard(int e, byte kind) {
    kind(e, kind);
    valueOffsets[e] = -1;
    valueLengths[e] = 0;
  }

  void overwrite(int e, int at, MemorySegment bytes, long offset, int length) {
    Mem.copy(bytes, offset, scratch.segment(), valueOffsets[e] + at, length);
  }

  /** Stores the last patch of an entry in the scratch memory; returns its offset. */
  int patch(int at, MemorySegment bytes, long offset, int length) {
    int p = scratch.allocate(PATCH_HEADER + length);
    MemorySegment s = scratch.segment();
    Mem.putInt(s, p, -1);
    Mem.putInt(s, p + 4, at);
    Mem.putInt(s, p + 8, length);
    Mem.copy(bytes, offset, s, p + PATCH_HEADER, length);
    return p;
  }

  void addPatch(int e, int at, MemorySegment bytes, long offset, int length) {
    int p = patch(at, bytes, offset, length);
    Mem.putInt(scratch.segment(), valueLengths[e], p);
    valueLengths[e] = p;
  }

  int firstPatch(int e) {
    return valueOffsets[e];
  }

  int nextPatch(int patch) {
    return Mem.getInt(scratch.segment(), patch);
  }

  int patchAt(int patch) {
    return Mem.getInt(scratch.segment(), patch + 4);
  }

  int patchLength(int patch) {
    return Mem.getInt(scratch.segment(), patch + 8);
  }

  /** Applies an entry's patches to a copy of the first {@code cap} bytes of the record. */
  void applyPatches(int e, MemorySegment record, long offset, int cap) {
    for (int p = firstPatch(e); p >= 0; p = nextPatch(p)) {
      int at = patchAt(p);
      int length = Math.min(patchLength(p), cap - at);
      if (length > 0) {
        Mem.copy(scratch.segment(), p + PATCH_HEADER, record, offset + at, length);
      }
    }
  }

  /** Returns the trees with entries, as bits of {@link ScanTimestamps}. */
  @SuppressWarnings("NullAway")
  long treeBits() {
    long bits = 0;
    for (int e = 0, n = size(); e < n; e++) {
      bits |= ScanTimestamps.bit(trees[e].treeId());
    }
    return bits;
  }

  boolean has(BTree tree) {
    for (int e = 0; e < size(); e++) {
      if (trees[e] == tree) {
        return true;
      }
    }
    return false;
  }

  @SuppressWarnings("NullAway")
  BTree tree(int e) {
    return trees[e];
  }

  long item(int e) {
    return items[e];
  }

  int keyOffset(int e) {
    return keyOffsets[e];
  }

  int keyLength(int e) {
    return keyLengths[e];
  }

  int valueOffset(int e) {
    return valueOffsets[e];
  }

  int valueLength(int e) {
    return valueLengths[e];
  }

  byte kind(int e) {
    return kinds[e];
  }

  byte existed(int e) {
    return existed[e];
  }

  int lengthBefore(int e) {
    return lengthsBefore[e];
  }

  /** Sets the length of the former value; negative: the key was absent. */
  void before(int e, int length) {
    existed[e] = length >= 0 ? PRESENT : ABSENT;
    lengthsBefore[e] = length;
  }

  /** Returns the read-set entry that knows the record's location, or -1. */
  int handle(int e) {
    return handles[e];
  }

  /** Remembers the location of an unread key for the commit: its search, successor and install. */
  void putLocation(int e, Position p) {
    int at = e * LOCATION;
    locations[at] = p.version;
    locations[at + 1] = p.pid;
    locations[at + 2] = (long) p.frame << 32 | (long) p.slot << 1 | (p.found ? 1 : 0);
  }

  /**
   * Records that a key is in the gap of the entry {@code before}, with no other key between them in
   * the tree: both are installed together. That they share a leaf is a hint.
   */
  void follow(int e, int before) {
    locations[e * LOCATION + 2] = FOLLOWS;
    followers[before] = e;
  }

  boolean follows(int e) {
    return locations[e * LOCATION + 2] == FOLLOWS;
  }

  int follower(int e) {
    return followers[e];
  }

  /** Copies the location to {@code p}, as a hint; or clears it. */
  void locate(int e, Position p) {
    int at = e * LOCATION;
    long where = locations[at + 2];
    if (where < 0) {
      p.clear();
      return;
    }
    p.version = locations[at];
    p.pid = locations[at + 1];
    p.frame = (int) (where >>> 32);
    p.slot = (int) where >>> 1;
    p.found = (where & 1) != 0;
  }

  long leaf(int e) {
    int at = e * LOCATION;
    return locations[at + 2] < 0 ? 0 : locations[at + 1];
  }

  /** Returns the slot in {@link Timestamps}, or LATER before the commit has pinned it. */
  int slot(int e) {
    return slots[e];
  }

  boolean pinsLater() {
    return pinsLater;
  }

  void slot(int e, int slot) {
    slots[e] = slot;
  }

  void clear() {
    if (size == 0) {
      return;
    }
    if (ProbeTable.hasFew(table, size)) {
      for (int e = 0; e < size; e++) {
        ProbeTable.clearFrom(table, (int) items[e]);
      }
    } else {
      Arrays.fill(table, 0);
    }
    Arrays.fill(trees, 0, size, null);
    size = 0;
    pinsLater = false;
    if (items.length > KEEP) {
      shrink();
    }
  }

  private static void enter(int[] table, long item, int value) {
    int mask = table.length - 1;
    int i = (int) item & mask;
    while (table[i] != 0) {
      i = (i + 1) & mask;
    }
    table[i] = value;
  }

  /**
   * Shrinks {@code items} first, because the other arrays must not be shorter. If memory is short,
   * some stay large, and the next entry allocates the others.
   */
  private void shrink() {
    try {
      items = new long[0];
      allocate(INITIAL);
    } catch (OutOfMemoryError e) {
      // The set is empty, as the end of a transaction requires.
    }
  }

  private void grow() {
    allocate(Math.max(INITIAL, items.length * 2));
  }

  private void allocate(int capacity) {
    // Growing: items is last, because its length is what is checked. After a failure the larger
    // arrays are harmless, and the table is the old one.
    trees = Arrays.copyOf(trees, capacity);
    if (size == 0) {
      Arrays.fill(trees, null);
    }
    keyOffsets = Arrays.copyOf(keyOffsets, capacity);
    keyLengths = Arrays.copyOf(keyLengths, capacity);
    valueOffsets = Arrays.copyOf(valueOffsets, capacity);
    valueLengths = Arrays.copyOf(valueLengths, capacity);
    handles = Arrays.copyOf(handles, capacity);
    slots = Arrays.copyOf(slots, capacity);
    kinds = Arrays.copyOf(kinds, capacity);
    existed = Arrays.copyOf(existed, capacity);
    lengthsBefore = Arrays.copyOf(lengthsBefore, capacity);
    followers = Arrays.copyOf(followers, capacity);
    locations = Arrays.copyOf(locations, capacity * LOCATION);
    long[] longer = Arrays.copyOf(items, capacity);
    int[] larger = new int[capacity * 4];
    for (int e = 0; e < size; e++) {
      enter(larger, items[e], e + 1);
    }
    table = larger;
    items = longer;
  }
}
