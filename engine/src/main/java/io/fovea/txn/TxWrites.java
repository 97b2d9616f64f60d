package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.Position;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The writes of a transaction, entries of the write set until the commit. An entry is made
 * completely or not at all, because a body may catch an error and commit: keys and values are in
 * the scratch memory before an entry counts.
 */
final class TxWrites {
  private final TxLife life;
  private final ReadSet reads;
  private final WriteSet writes;
  private final ConcurrencyControl concurrencyControl;
  private final TxReads reader;
  private final boolean keepsLocations;

  /** Where the last inserted key was found absent: the next one is often near. */
  private final Position insertLocation = new Position();

  private @Nullable BTree insertTree;
  private int insertHandle;

  /** Keeps the loads from being optimized away; the value has no meaning. */
  private long seen;

  TxWrites(TxLife life, Workspace work, ConcurrencyControl concurrencyControl, TxReads reader) {
    this.life = life;
    this.reads = work.reads;
    this.writes = work.writes;
    this.concurrencyControl = concurrencyControl;
    this.reader = reader;
    this.keepsLocations = work.keepsLocations;
  }

  void begin() {
    insertTree = null;
  }

  void insert(
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment value,
      long valueOffset,
      int valueLength) {
    writing(tree, keyLength, valueLength);
    long item = tree.keyHash(key, keyOffset, keyLength);
    int w = writes.find(tree, item, key, keyOffset, keyLength);
    if (w >= 0) {
      byte kind = writes.kind(w);
      if (kind != WriteSet.DELETE && kind != WriteSet.NONE) {
        throw duplicate(tree, key, keyOffset, keyLength);
      }
      writes.value(w, replacing(w), value, valueOffset, valueLength);
      return;
    }
    if (concurrencyControl.plain) {
      // A new key has a new item, whose cache lines are cold: load them during the search.
      seen += concurrencyControl.timestamps.load(item);
    }
    intend(item);
    // A present key is a read like any other, because the exception is a result. Successive keys
    // often belong to one leaf: start at the last one.
    Position near = null;
    if (insertTree == tree && keepsLocations) {
      near = insertLocation;
      reads.locate(insertHandle, near);
    }
    int length = reader.read(tree, item, key, keyOffset, keyLength, key, keyOffset, 0, near);
    if (length >= 0) {
      throw duplicate(tree, key, keyOffset, keyLength);
    }
    insertTree = tree;
    insertHandle = reader.lastRead();
    Scratch scratch = writes.scratch;
    writes.add(
        tree,
        item,
        scratch.put(key, keyOffset, keyLength),
        keyLength,
        WriteSet.INSERT,
        scratch.put(value, valueOffset, valueLength),
        valueLength,
        WriteSet.ABSENT,
        reader.lastRead(),
        reads.slot(reader.lastRead()));
  }

  private static DuplicateKeyException duplicate(
      BTree tree, MemorySegment key, long keyOffset, int keyLength) {
    return DuplicateKeyException.ofTree(tree.treeId(), Mem.bytes(key, keyOffset, keyLength));
  }

  private byte replacing(int w) {
    return writes.existed(w) == WriteSet.ABSENT ? WriteSet.INSERT : WriteSet.PUT;
  }

  void put(
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment value,
      long valueOffset,
      int valueLength) {
    writing(tree, keyLength, valueLength);
    long item = tree.keyHash(key, keyOffset, keyLength);
    int w = writes.find(tree, item, key, keyOffset, keyLength);
    if (w >= 0) {
      writes.value(w, replacing(w), value, valueOffset, valueLength);
      return;
    }
    intend(item);
    int handle = reads.find(item);
    int slot = handle >= 0 ? reads.slot(handle) : concurrencyControl.pinToWrite(item);
    Scratch scratch = writes.scratch;
    writes.add(
        tree,
        item,
        scratch.put(key, keyOffset, keyLength),
        keyLength,
        WriteSet.PUT,
        scratch.put(value, valueOffset, valueLength),
        valueLength,
        WriteSet.UNKNOWN,
        handle,
        slot);
  }

  void patch(
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      int handle,
      int at,
      MemorySegment bytes,
      long offset,
      int length) {
    writing(tree, keyLength, 0);
    long item = handle >= 0 ? reads.item(handle) : tree.keyHash(key, keyOffset, keyLength);
    int w = writes.find(tree, item, key, keyOffset, keyLength);
    if (w < 0) {
      intend(item);
      int recordLength;
      if (handle >= 0) {
        recordLength = reads.length(handle);
      } else {
        recordLength = reader.read(tree, item, key, keyOffset, keyLength, key, keyOffset, 0, null);
        handle = reader.lastRead();
      }
      checkPatch(at, length, recordLength);
      int k = writes.scratch.put(key, keyOffset, keyLength);
      int p = writes.patch(at, bytes, offset, length);
      writes.add(
          tree, item, k, keyLength, WriteSet.PATCH, p, p, recordLength, handle, reads.slot(handle));
      return;
    }
    switch (writes.kind(w)) {
      case WriteSet.INSERT, WriteSet.PUT -> {
        checkPatch(at, length, writes.valueLength(w));
        writes.overwrite(w, at, bytes, offset, length);
      }
      case WriteSet.PATCH -> {
        checkPatch(at, length, reads.length(writes.handle(w)));
        writes.addPatch(w, at, bytes, offset, length);
      }
      default -> checkPatch(at, length, TxReads.ABSENT);
    }
  }

  private void checkPatch(int at, int length, int recordLength) {
    if (at >= 0 && length >= 0 && at <= recordLength - length) {
      return;
    }
    reader.requireValid();
    if (recordLength < 0) {
      throw new InvalidUseException("There is no record with this key to patch.");
    }
    throw new InvalidUseException(
        "Bytes "
            + at
            + " to "
            + (at + length)
            + " exceed the record of "
            + recordLength
            + " bytes.");
  }

  void move(BTree tree, MemorySegment key, long keyOffset, int keyLength) {
    writing(tree, keyLength, 0);
    long item = tree.keyHash(key, keyOffset, keyLength);
    intend(item);
    int slot = concurrencyControl.pin(item);
    int k = writes.scratch.put(key, keyOffset, keyLength);
    writes.add(tree, item, k, keyLength, WriteSet.MOVE, -1, 0, WriteSet.UNKNOWN, -1, slot);
  }

  boolean delete(BTree tree, MemorySegment key, long keyOffset, int keyLength) {
    writing(tree, keyLength, 0);
    long item = tree.keyHash(key, keyOffset, keyLength);
    int w = writes.find(tree, item, key, keyOffset, keyLength);
    if (w >= 0) {
      byte kind = writes.kind(w);
      if (kind == WriteSet.DELETE || kind == WriteSet.NONE) {
        return false;
      }
      writes.discard(w, writes.existed(w) == WriteSet.ABSENT ? WriteSet.NONE : WriteSet.DELETE);
      return true;
    }
    intend(item);
    int length = reader.read(tree, item, key, keyOffset, keyLength, key, keyOffset, 0, null);
    if (length < 0) {
      return false;
    }
    writes.add(
        tree,
        item,
        writes.scratch.put(key, keyOffset, keyLength),
        keyLength,
        WriteSet.DELETE,
        -1,
        0,
        length,
        reader.lastRead(),
        reads.slot(reader.lastRead()));
    return true;
  }

  void delete(TxScan scan) {
    MemorySegment key = scan.keySegment();
    long offset = scan.keyOffset();
    int length = scan.keyLength();
    int handle = scan.handle();
    if (handle < 0 || concurrencyControl.eager) {
      delete(scan.tree, key, offset, length);
      return;
    }
    life.requireWritable();
    // The scan has read it under this handle, so no search is needed.
    long item = reads.item(handle);
    int w = writes.find(scan.tree, item, key, offset, length);
    if (w >= 0) {
      writes.discard(w, writes.existed(w) == WriteSet.ABSENT ? WriteSet.NONE : WriteSet.DELETE);
      return;
    }
    int slot = reads.slot(handle);
    int before = scan.valueLength();
    int k = writes.scratch.put(key, offset, length);
    writes.add(scan.tree, item, k, length, WriteSet.DELETE, -1, 0, before, handle, slot);
  }

  /** Locks the item now, under eager protocols. */
  private void intend(long item) {
    if (concurrencyControl.eager) {
      concurrencyControl.intend(item);
    }
  }

  private void writing(BTree tree, int keyLength, int valueLength) {
    life.operation();
    life.requireWritable();
    tree.checkSizes(keyLength, valueLength);
  }
}
