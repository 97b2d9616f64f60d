package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PoolConfig;
import io.fovea.buffer.PoolStats;
import io.fovea.config.Translation;
import io.fovea.io.BlockDevice;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** A tree, its pool, and a model of its content. Used by one thread. */
final class TestTree implements AutoCloseable {
  static final Comparator<byte[]> ORDER = Arrays::compareUnsigned;
  static final int TREE_ID = 7;

  /** Few enough hashes that most locations belong to other keys. */
  private static final long FEW = 0xE000_0000_0000_0007L;

  final BlockDevice device;
  final BufferPool pool;
  final BTree tree;
  final TreeMap<byte[], byte[]> model = new TreeMap<>(ORDER);
  final Position position = new Position();
  final Staging staging;
  private final KeyLocationCache places;

  /** Whether lookups are repeated through cached key locations. */
  private boolean cachingLocations;

  private LocationReader reader = KeyLocationCache::find;
  private long numbers = FEW;

  /** {@link KeyLocationCache#find} or a replacement. */
  @FunctionalInterface
  interface LocationReader {
    boolean find(
        KeyLocationCache places,
        BTree tree,
        long hash,
        MemorySegment key,
        long off,
        int len,
        Position p,
        int bytes);
  }

  /** Native memory for a key, a value and a result. */
  static final class Staging {
    final MemorySegment key = Arena.ofAuto().allocate(1 << 17, 8);
    MemorySegment value = Arena.ofAuto().allocate(1 << 16, 8);
    MemorySegment out = Arena.ofAuto().allocate(1 << 16, 8);

    int key(byte[] bytes) {
      Mem.putBytes(key, 0, bytes, 0, bytes.length);
      return bytes.length;
    }

    int value(byte[] bytes) {
      if (value.byteSize() < bytes.length) {
        value = Arena.ofAuto().allocate(2L * bytes.length, 8);
        out = Arena.ofAuto().allocate(2L * bytes.length, 8);
      }
      Mem.putBytes(value, 0, bytes, 0, bytes.length);
      return bytes.length;
    }

    byte[] out(int len) {
      byte[] bytes = new byte[len];
      Mem.getBytes(out, 0, bytes, 0, len);
      return bytes;
    }
  }

  TestTree(int pageSize, int frames, Translation translation) {
    this(pageSize, frames, translation, new MemoryDevice());
  }

  TestTree(int pageSize, int frames, Translation translation, BlockDevice device) {
    this(device, PoolConfig.ofFrames(pageSize, frames, translation));
  }

  TestTree(BlockDevice device, PoolConfig config) {
    this.device = device;
    pool = new BufferPool(device, config, AllocatorState.EMPTY);
    tree = BTree.create(pool, TREE_ID, LogSession.NONE);
    staging = new Staging();
    places = new KeyLocationCache(0, config.pageSize());
  }

  TestTree() {
    this(4096, 256, Translation.PREDICTIVE);
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  static byte[] bytes(long number) {
    byte[] bytes = new byte[8];
    for (int i = 0; i < 8; i++) {
      bytes[i] = (byte) (number >>> 56 - 8 * i);
    }
    return bytes;
  }

  // ------------------------------------------------------------------------ operations, checked

  void put(byte[] key, byte[] value) {
    boolean absent = !model.containsKey(key);
    int len = staging.key(key);
    int vLen = staging.value(value);
    assertEquals(
        absent,
        Writes.upsert(tree, staging.key, 0, len, staging.value, 0, vLen, position),
        "upsert");
    assertUndisturbed(() -> tree.valid(position), "the position is that of the change");
    if (cachingLocations) {
      places.cache(tree, number(len), position);
    }
    model.put(key, value);
  }

  void delete(byte[] key) {
    boolean present = model.containsKey(key);
    assertEquals(
        present, Writes.delete(tree, staging.key, 0, staging.key(key), position), "delete");
    model.remove(key);
  }

  void patch(byte[] key, int at, byte[] with) {
    byte[] old = model.get(key);
    boolean possible = old != null && at + with.length <= old.length;
    int len = staging.key(key);
    int vLen = staging.value(with);
    assertEquals(
        possible,
        Writes.patch(tree, staging.key, 0, len, at, staging.value, 0, vLen, position),
        "patch");
    if (possible) {
      byte[] changed = old.clone();
      System.arraycopy(with, 0, changed, at, with.length);
      model.put(key, changed);
    }
  }

  byte @Nullable [] get(byte[] key) {
    tree.find(staging.key, 0, staging.key(key), position);
    return read(key);
  }

  private byte @Nullable [] read(byte[] key) {
    int len = staging.key(key);
    while (true) {
      int length = position.found ? tree.valueLength(position) : 0;
      if (staging.out.byteSize() < length) {
        staging.out = Arena.ofAuto().allocate(length, 8);
      }
      boolean found = position.found;
      int copied = found ? tree.copyValue(position, staging.out, 0, length) : 0;
      if (copied >= 0 && tree.valid(position)) {
        assertEquals(length, copied);
        return found ? staging.out(length) : null;
      }
      assertUndisturbed(
          () -> tree.valid(position) && tree.copyValue(position, staging.out, 0, length) >= 0,
          "the leaf is unchanged");
      tree.find(staging.key, 0, len, position);
    }
  }

  /**
   * Asserts a condition that only the pool may falsify: permanently by eviction, or briefly by
   * latching a frame for a check.
   */
  private void assertUndisturbed(BooleanSupplier condition, String what) {
    long start = System.nanoTime();
    while (!condition.getAsBoolean() && !pagesWereMoved()) {
      assertTrue(System.nanoTime() - start < 60_000_000_000L, what);
      Thread.onSpinWait();
    }
  }

  private boolean pagesWereMoved() {
    PoolStats s = pool.stats();
    return s.evictionsClean() + s.evictionsDirty() + s.promotions() > 0;
  }

  void checkGet(byte[] key) {
    assertArrayEquals(model.get(key), get(key), () -> hex(key));
    if (cachingLocations) {
      checkLocation(key);
    }
  }

  TestTree cachingLocations() {
    cachingLocations = true;
    return this;
  }

  /**
   * Also uses key locations, through another reader; {@code few} makes most of them belong to other
   * keys.
   */
  TestTree cachingLocations(LocationReader other, boolean few) {
    reader = other;
    numbers = few ? FEW : -1;
    return cachingLocations();
  }

  /** Looks up by the cached location of the key, or of another key with the same hash. */
  private void checkLocation(byte[] key) {
    int len = staging.key(key);
    boolean right = reader.find(places, tree, number(len), staging.key, 0, len, position, 100);
    assertArrayEquals(model.get(key), read(key), () -> hex(key));
    if (!right) {
      places.cache(tree, number(len), position);
    }
  }

  private long number(int len) {
    return tree.keyHash(staging.key, 0, len) & numbers;
  }

  void checkLocate(byte[] key) {
    tree.locate(staging.key, 0, staging.key(key), position);
    assertArrayEquals(model.get(key), read(key), () -> hex(key));
  }

  void checkSuccessor(byte[] key) {
    KeyBuffer out = new KeyBuffer(tree.maxKeySize());
    byte[] expected = model.higherKey(key);
    boolean found = tree.successor(staging.key, 0, staging.key(key), position, out);
    assertEquals(expected != null, found, () -> "successor of " + hex(key));
    if (expected != null) {
      assertEquals(hex(expected), hex(out.segment(), 0, out.length()));
    }
  }

  /** Scans from a key, or from the end, and compares with the model. */
  void checkScan(byte @Nullable [] from, boolean inclusive, boolean descending) {
    LeafScan scan = new LeafScan();
    int len = from == null ? -1 : staging.key(from);
    scan.seek(tree, staging.key, 0, len, inclusive, descending);
    Map<byte[], byte[]> rest;
    if (from == null) {
      rest = descending ? model.descendingMap() : model;
    } else {
      rest =
          descending
              ? model.headMap(from, inclusive).descendingMap()
              : model.tailMap(from, inclusive);
    }
    var expected = rest.entrySet().iterator();
    while (scan.load()) {
      int step = descending ? -1 : 1;
      int slot = descending ? scan.to() - 1 : scan.from();
      for (int n = scan.to() - scan.from(); n > 0; n--, slot += step) {
        assertTrue(expected.hasNext(), "the scan continues after the end");
        var entry = expected.next();
        checkEntry(scan, slot, entry.getKey(), entry.getValue());
      }
      assertUndisturbed(scan::stillValid, "still valid");
    }
    assertTrue(!expected.hasNext(), "the scan ends too early");
    assertUndisturbed(scan::stillValid, "still valid at the end");
  }

  private void checkEntry(LeafScan scan, int slot, byte[] key, byte[] value) {
    int len = scan.copyKey(slot, staging.out, 0);
    assertEquals(hex(key), hex(staging.out, 0, len));
    assertEquals(slot, scan.lowerBound(staging.out, 0, len));
    assertEquals(slot + 1, scan.upperBound(staging.out, 0, len));
    assertEquals(value.length, scan.valueLength(slot));
    if (staging.out.byteSize() < value.length) {
      staging.out = Arena.ofAuto().allocate(value.length, 8);
    }
    int copied = copyValue(scan, slot, staging.out, value.length);
    if (copied < 0) {
      assertUndisturbed(
          () -> copyValue(scan, slot, staging.out, value.length) >= 0, "the leaf is unchanged");
      return;
    }
    assertEquals(value.length, copied);
    assertArrayEquals(value, staging.out(value.length));
    if (!scan.isOverflow(slot)) {
      assertEquals(
          hex(value, value.length), hex(scan.segment(), scan.valueOffset(slot), value.length));
    }
  }

  /**
   * Copies the value of a slot, even a long one. Returns the length of the whole value; -1 if it is
   * long and the leaf has changed since it was copied.
   */
  int copyValue(LeafScan scan, int slot, MemorySegment dst, int cap) {
    int length = scan.valueLength(slot);
    int bytes = Math.min(length, cap);
    long at = scan.valueOffset(slot);
    if (!scan.isOverflow(slot)) {
      Mem.copy(scan.segment(), at, dst, 0, bytes);
      return length;
    }
    Position leaf = new Position();
    scan.position(leaf, slot);
    long first = OverflowChain.stubPid(scan.segment(), at);
    return OverflowChain.read(pool, TREE_ID, leaf, first, length, dst, 0, bytes) ? length : -1;
  }

  void checkAll() {
    TreeVerifier.Report report = verify();
    assertEquals(model.size(), report.keys());
    checkScan(null, true, false);
    checkScan(null, true, true);
  }

  /** Frees what a failed read has left behind. */
  void freeStrays() {
    tree.freeUnfreedPages(LogSession.NONE);
    assertFalse(tree.hasUnfreedPages(), "no failures are injected now");
  }

  TreeVerifier.Report verify() {
    TreeVerifier.Report report = TreeVerifier.verify(tree);
    assertEquals("[]", report.problems().toString());
    assertEquals(pagesInUse(), report.pages(), "pages are lost, or used twice");
    return report;
  }

  long pagesInUse() {
    AllocatorState state = pool.allocatorState();
    return state.highWater() - AllocatorState.FIRST_PID - state.freePages();
  }

  static String hex(byte[] bytes) {
    return hex(bytes, bytes.length);
  }

  static String hex(byte[] bytes, int len) {
    return java.util.HexFormat.of().formatHex(bytes, 0, len);
  }

  static String hex(MemorySegment segment, long off, int len) {
    byte[] bytes = new byte[len];
    Mem.getBytes(segment, off, bytes, 0, len);
    return hex(bytes);
  }

  @Override
  public void close() {
    places.close();
    pool.abandon();
    device.close();
  }
}
