package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PoolConfig;
import io.fovea.config.Translation;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import io.fovea.memory.Waits;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class KeyLocationCacheTest {
  private static final int N = 20_000;

  private final MemorySegment key = Arena.ofAuto().allocate(64, 8);
  private final MemorySegment value = Arena.ofAuto().allocate(64, 8);
  private final Position p = new Position();
  private final List<AutoCloseable> opened = new ArrayList<>();

  final BufferPool pool(int pageSize, int frames, Translation translation) {
    BufferPool pool =
        new BufferPool(
            new MemoryDevice(),
            PoolConfig.ofFrames(pageSize, frames, translation),
            AllocatorState.EMPTY);
    opened.add(pool::abandon);
    return pool;
  }

  final BTree filled(BufferPool pool, int treeId, int n) {
    BTree tree = BTree.create(pool, treeId, LogSession.NONE);
    for (int i = 0; i < n; i++) {
      put(tree, 2L * i);
    }
    return tree;
  }

  KeyLocationCache make(long bytes, int pageSize) {
    return new KeyLocationCache(bytes, pageSize);
  }

  final KeyLocationCache places(long bytes, BTree tree) {
    KeyLocationCache places = make(bytes, tree.pool().pageSize());
    opened.add(places::close);
    return places;
  }

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable each : opened.reversed()) {
      each.close();
    }
  }

  private void put(BTree tree, long i) {
    Mem.putLongBE(key, 0, i);
    Mem.putLong(value, 0, i * i);
    Writes.upsert(tree, key, 0, 8, value, 0, 40, p);
  }

  /** Looks up a key, caches its location, and returns whether the location was known. */
  final boolean find(KeyLocationCache places, BTree tree, long i) {
    Mem.putLongBE(key, 0, i);
    long hash = tree.keyHash(key, 0, 8);
    boolean right = places.find(tree, hash, key, 0, 8, p, 48);
    boolean found = p.found;
    long pid = p.pid;
    int slot = p.slot;
    assertTrue(tree.valid(p));
    tree.find(key, 0, 8, p);
    assertEquals(p.found, found);
    assertEquals(p.pid, pid);
    assertEquals(p.slot, slot);
    if (!right) {
      places.cache(tree, hash, p);
    }
    return right;
  }

  final int right(KeyLocationCache places, BTree tree, int from, int to, int step) {
    int right = 0;
    for (int i = from; i < to; i += step) {
      right += find(places, tree, i) ? 1 : 0;
    }
    return right;
  }

  @ParameterizedTest
  @ValueSource(ints = {4096, 8192, 16384, 32768, 65536})
  void seenKeysAreKnown(int pageSize) {
    BTree tree = filled(pool(pageSize, 1024, Translation.PREDICTIVE), 7, N);
    KeyLocationCache places = places(1 << 20, tree);
    assertEquals(0, right(places, tree, 0, 2 * N, 2), "nothing was seen");
    long pages = p.pageAccesses;
    int right = right(places, tree, 0, 2 * N, 2);
    // Up to nine of the keys may fall into one set.
    assertTrue(right > N * 0.95, right + " of " + N);
    long byPlace = N;
    int levels = tree.height();
    long searches = (long) levels * N;
    assertTrue(
        p.pageAccesses - pages < byPlace + searches + (N - right) * (levels + 1L), "no descent");
  }

  @ParameterizedTest
  @EnumSource(Translation.class)
  void underEachTranslation(Translation translation) {
    BTree tree = filled(pool(4096, 2048, translation), 7, N);
    KeyLocationCache places = places(1 << 20, tree);
    right(places, tree, 0, 2 * N, 2);
    assertTrue(right(places, tree, 0, 2 * N, 2) > N * 0.95);
  }

  @Test
  void absentKeysHaveLocations() {
    BTree tree = filled(pool(4096, 1024, Translation.PREDICTIVE), 7, N);
    KeyLocationCache places = places(1 << 20, tree);
    assertEquals(0, right(places, tree, 1, 2001, 2));
    assertEquals(1000, right(places, tree, 1, 2001, 2));
    for (int i = 1; i < 2001; i += 2) {
      put(tree, i);
    }
    right(places, tree, 1, 2001, 2);
    assertEquals(1000, right(places, tree, 1, 2001, 2), "they exist now, at other locations");
  }

  /** The page of a location may belong to another tree by now, or be free. */
  @Test
  void pagesOfOtherTrees() {
    BufferPool pool = pool(4096, 1024, Translation.PREDICTIVE);
    BTree tree = filled(pool, 7, N / 2);
    KeyLocationCache places = places(1 << 20, tree);
    right(places, tree, 0, N, 2);
    for (int i = 0; i < N; i += 2) {
      Mem.putLongBE(key, 0, i);
      assertTrue(Writes.delete(tree, key, 0, 8, p));
    }
    BTree other = filled(pool, 8, N / 2);
    for (int i = 0; i < N; i += 2) {
      find(places, tree, i);
      find(places, other, i);
    }
    assertTrue(right(places, other, 0, N, 2) > N / 2 * 0.9);
  }

  @Test
  void arbitraryContentIsHarmless() {
    BTree tree = filled(pool(4096, 1024, Translation.PREDICTIVE), 7, N);
    KeyLocationCache places = places(1 << 20, tree);
    Random random = new Random(5);
    for (int round = 0; round < 8; round++) {
      right(places, tree, 0, 2 * N, 3);
      KeyLocationPoison.poison(places, random);
    }
    right(places, tree, 0, 2 * N, 3);
  }

  /** All keys share a few hashes, so each lookup finds locations of other keys. */
  @Test
  void equalHashesAreNotEqualKeys() {
    BTree tree = filled(pool(4096, 1024, Translation.PREDICTIVE), 7, N);
    KeyLocationCache places = places(1 << 20, tree);
    Random random = new Random(6);
    for (int i = 0; i < N; i++) {
      long k = random.nextInt(2 * N);
      Mem.putLongBE(key, 0, k);
      long few = tree.keyHash(key, 0, 8) & 0x8000_0000_0000_0007L;
      boolean right = places.find(tree, few, key, 0, 8, p, 48);
      assertEquals((k & 1) == 0, p.found);
      assertTrue(!p.found || tree.copyValue(p, value, 0, 48) == 40);
      assertTrue(!p.found || Mem.getLong(value, 0) == k * k);
      if (!right) {
        places.cache(tree, few, p);
      }
    }
  }

  /** A location never causes I/O. */
  @Test
  void missingPages() {
    BTree tree = filled(pool(4096, 64, Translation.PREDICTIVE), 7, N);
    KeyLocationCache places = places(1 << 20, tree);
    right(places, tree, 0, 2 * N, 2);
    Mem.putLongBE(key, 0, 0);
    long hash = tree.keyHash(key, 0, 8);
    Position hint = new Position();
    places.setHint(tree, hash, hint);
    assertTrue(hint.pid != 0 && tree.pool().resident(hint.pid) < 0, "it was evicted");
    long misses = tree.pool().stats().misses();
    assertEquals(-1, accept(places, tree, hash));
    assertEquals(misses, tree.pool().stats().misses());
    assertFalse(find(places, tree, 0), "and a descent reads it");
  }

  private int accept(KeyLocationCache places, BTree tree, long hash) {
    Position at = new Position();
    places.predict(tree, hash, at);
    return places.validate(tree, key, 0, 8, at, 48);
  }

  /** Grows during lookups and stores; no known location is lost. */
  @Test
  void growsDuringReads() throws Exception {
    int n = 150_000;
    BTree tree = filled(pool(4096, 8192, Translation.PREDICTIVE), 7, n);
    KeyLocationCache places = places(4 << 20, tree);
    assertEquals(KeyLocationCache.BYTES_MIN, places.bytes());
    assertEquals(4 << 20, places.maxBytes());
    AtomicReference<Throwable> failure = new AtomicReference<>();
    AtomicBoolean stop = new AtomicBoolean();
    List<Thread> readers = new ArrayList<>();
    for (int id = 0; id < 3; id++) {
      int seed = id;
      readers.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      KeyLocationCacheTest own = new KeyLocationCacheTest();
                      Random random = new Random(seed);
                      while (!stop.get()) {
                        own.find(places, tree, random.nextInt(2 * n));
                      }
                    } catch (Throwable e) {
                      failure.compareAndSet(null, e);
                    }
                  }));
    }
    long deadline = System.nanoTime() + 60_000_000_000L;
    while (places.bytes() < places.maxBytes() && failure.get() == null) {
      assertTrue(System.nanoTime() < deadline, () -> "it has " + places.bytes() + " bytes");
      Waits.sleep(1_000_000);
    }
    stop.set(true);
    for (Thread reader : readers) {
      reader.join();
    }
    if (failure.get() != null) {
      throw new AssertionError(failure.get());
    }
    // Copies that belong to the other half are overwritten over time.
    int right = 0;
    for (int round = 0; round < 8; round++) {
      right = right(places, tree, 0, 2 * n, 2);
    }
    assertTrue(right > n * 0.95, right + " of " + n);
  }

  /**
   * A table that is 60 % full and has grown four times: copies that belong to the other half must
   * not displace useful locations.
   */
  @Test
  void grownTableFindsNearlyAllKeys() {
    int n = 300_000;
    BTree tree = filled(pool(4096, 16384, Translation.PREDICTIVE), 7, n);
    KeyLocationCache places = places(4 << 20, tree);
    Random random = new Random(1);
    int right = 0;
    for (int i = 0; i < 4 * n; i++) {
      boolean known = find(places, tree, 2L * random.nextInt(n));
      right += known && i >= 3 * n ? 1 : 0;
      while (places.isGrowing() && !places.isShortcut()) {
        Waits.sleep(100_000);
      }
    }
    assertTrue(places.bytes() > places.maxBytes() / 2, places.bytes() + " bytes");
    assertTrue(right > 0.9 * n, right + " of " + n);
  }

  @Test
  void findsNothingAfterClose() {
    BTree tree = filled(pool(4096, 1024, Translation.PREDICTIVE), 7, N);
    KeyLocationCache places = make(1 << 20, 4096);
    right(places, tree, 0, 2000, 2);
    places.close();
    assertEquals(0, places.bytes());
    assertEquals(0, right(places, tree, 0, 200, 2));
    places.close();
  }
}
