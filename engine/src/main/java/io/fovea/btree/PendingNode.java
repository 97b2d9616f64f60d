package io.fovea.btree;

import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * The entries of a node that a {@link BulkLoader} has yet to build. Keys are stored whole, since
 * the prefix depends on the last key of the node.
 *
 * <p>Grows as needed. The total size is cached for one prefix length, which seldom changes with
 * ascending keys.
 */
final class PendingNode {
  private final boolean leaf;
  private MemorySegment bytes = Arena.ofAuto().allocate(1 << 14, 8);
  private int used;
  private int count;
  private int[] keyAt = new int[64];
  private int[] keyLength = new int[64];
  private int[] valueLength = new int[64];
  private long[] child = new long[64];
  private int sumPrefix = -1;
  private int sum;

  PendingNode(boolean leaf) {
    this.leaf = leaf;
  }

  int count() {
    return count;
  }

  MemorySegment bytes() {
    return bytes;
  }

  int keyAt(int i) {
    return keyAt[i];
  }

  int keyLength(int i) {
    return keyLength[i];
  }

  /** Returns the offset of an entry's value or stub. */
  int valueAt(int i) {
    return keyAt[i] + keyLength[i];
  }

  int field(int i) {
    return valueLength[i];
  }

  long child(int i) {
    return child[i];
  }

  /**
   * Adds an entry, and returns the offset in {@link #bytes} for {@code valueBytes} bytes of value.
   */
  int add(MemorySegment key, long off, int len, int field, int valueBytes, long childPid) {
    if (count == keyAt.length) {
      int more = 2 * count;
      keyAt = Arrays.copyOf(keyAt, more);
      keyLength = Arrays.copyOf(keyLength, more);
      valueLength = Arrays.copyOf(valueLength, more);
      child = Arrays.copyOf(child, more);
    }
    if ((long) used + len + valueBytes > bytes.byteSize()) {
      MemorySegment larger = Arena.ofAuto().allocate(2 * (bytes.byteSize() + len + valueBytes), 8);
      Mem.copy(bytes, 0, larger, 0, used);
      bytes = larger;
    }
    Mem.copy(key, off, bytes, used, len);
    keyAt[count] = used;
    keyLength[count] = len;
    valueLength[count] = field;
    child[count] = childPid;
    used += len + valueBytes;
    if (sumPrefix >= 0) {
      sum += entryBytes(count, sumPrefix);
    }
    count++;
    return used - valueBytes;
  }

  private int entryBytes(int i, int prefix) {
    return leaf
        ? NodeEditor.leafEntryBytes(prefix, keyLength[i], BTreeNode.inlineBytes(valueLength[i]))
        : NodeEditor.innerEntryBytes(prefix, keyLength[i]);
  }

  /** Returns the bytes of all entries in a node with a prefix of this length. */
  int sum(int prefix) {
    if (prefix != sumPrefix) {
      sumPrefix = prefix;
      sum = sum(0, count, prefix);
    }
    return sum;
  }

  /** Returns the bytes of entries [from, to). */
  int sum(int from, int to, int prefix) {
    int total = 0;
    for (int i = from; i < to; i++) {
      total += entryBytes(i, prefix);
    }
    return total;
  }

  void removeFirst(int n) {
    int start = n < count ? keyAt[n] : used;
    Mem.copy(bytes, start, bytes, 0, used - start);
    used -= start;
    count -= n;
    System.arraycopy(keyAt, n, keyAt, 0, count);
    System.arraycopy(keyLength, n, keyLength, 0, count);
    System.arraycopy(valueLength, n, valueLength, 0, count);
    System.arraycopy(child, n, child, 0, count);
    for (int i = 0; i < count; i++) {
      keyAt[i] -= start;
    }
    sumPrefix = -1;
  }
}
