package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * The rules of {@link Swizzling}, one at a time, with pages built by this test: each interleaving
 * that a rule excludes is forced by hand.
 *
 * <p>Mutants, and the tests that find them: S2 without the child's latch, {@link
 * #notWithoutTheChildsLatch}; S3 with the version unchanged, {@link
 * #aReaderThatHasTheWordIsRefused}; S4 left out, {@link #aParentStaysAsLongAsAChildIsNamed}; PARENT
 * kept by free, {@link #aFreedPageHasNoParent}. {@code SwizzleModelTest} detects a missing adopt
 * and again each of the others, by means of {@link Swizzles}.
 */
class SwizzlingTest {
  private static final int TREE = 7;

  private final MemoryDevice device = new MemoryDevice();
  private BufferPool pool = Pools.open(device, Translation.SWIZZLED, AllocatorState.EMPTY);
  private final long one = node(PageHeader.LEAF, 0);
  private final long two = node(PageHeader.LEAF, 0);
  private final long parent = node(PageHeader.INNER, 1, one, two);

  @AfterEach
  void close() {
    pool.abandon();
    device.close();
  }

  private long node(int type, int level, long... children) {
    int frame = pool.allocate(TREE, type, LogSession.NONE);
    long base = pool.base(frame);
    PageHeader.setLevel(pool.pages(), base, level);
    if (level > 0) {
      Mem.putShort(pool.pages(), base + PageRef.COUNT, (short) (children.length - 1));
    }
    for (int i = 0; i < children.length; i++) {
      Mem.putLong(pool.pages(), at(frame, i), children[i]);
    }
    long pid = pool.pid(frame);
    pool.releaseExclusive(frame);
    return pid;
  }

  private long at(int frame, int slot) {
    return pool.base(frame) + PageRef.FIRST + (long) slot * PageRef.STRIDE;
  }

  private int frame(long pid) {
    return pool.findSlow(pid);
  }

  private long word(long node, int slot) {
    return Mem.getLong(pool.pages(), at(frame(node), slot));
  }

  private int link(long pid) {
    return FrameHeader.parent(pool.frames.headers, frame(pid));
  }

  private boolean isExclusive(int frame) {
    return Latch.isExclusive(pool.frames.headers, frame);
  }

  /** Acts like a descent that meets a reference. */
  private int descend(long node, int slot) {
    int above = frame(node);
    long version = pool.optimistic(above, node);
    long ref = word(node, slot);
    int tried = pool.predictChild(ref);
    long seen = pool.optimisticChild(tried, ref);
    if (seen == BufferPool.RESTART || pool.isStale(ref, tried)) {
      return pool.findChild(above, version, at(above, slot), ref, tried);
    }
    assertTrue(pool.validate(above, version));
    return tried;
  }

  /** Evicts a page as a miss does; false if it stays. On success the frame is claimed. */
  private boolean evictAsAMiss(int frame) {
    pool.flushAll();
    FrameHeader.setUsed(pool.frames.headers, frame, false);
    return pool.frames.claimCold(frame);
  }

  private boolean evict(long pid) {
    int frame = frame(pid);
    boolean gone = evictAsAMiss(frame);
    if (gone) {
      pool.frames.unclaim(frame);
    }
    return gone;
  }

  private void checkWhole() {
    Swizzles.check(pool);
    Pools.check(pool);
  }

  @Test
  void descentSwizzlesTheChild() {
    assertEquals(one, word(parent, 0));
    int frame = descend(parent, 0);
    assertEquals(PageRef.of(one, frame + 1), word(parent, 0));
    assertEquals(frame(parent) + 1, link(one));
    assertEquals(0, link(two));
    assertEquals(frame, descend(parent, 0));
    checkWhole();
  }

  @Test
  void unswizzlingRestoresThePageId() {
    descend(parent, 0);
    descend(parent, 1);
    int frame = frame(one);
    assertTrue(evictAsAMiss(frame));
    assertEquals(one, word(parent, 0));
    assertEquals(0, FrameHeader.parent(pool.frames.headers, frame));
    assertEquals(PageRef.of(two, frame(two) + 1), word(parent, 1));
    pool.frames.unclaim(frame);
    assertEquals(0, pool.stats().framesDirty(), "nothing of it is written");
    checkWhole();
    descend(parent, 0);
    assertEquals(frame(parent) + 1, link(one));
    checkWhole();
  }

  /** S2. */
  @Test
  void notWithoutTheChildsLatch() {
    int above = frame(parent);
    long version = pool.optimistic(above, parent);
    int frame = frame(one);
    Swizzling swizzling = pool.swizzling();
    // A thread has found the child; before it stores the reference, another evicts the child.
    assertTrue(pool.tryExclusive(frame, one));
    assertFalse(swizzling.swizzle(above, version, at(above, 0), one, frame));
    pool.releaseExclusive(frame);
    assertTrue(evictAsAMiss(frame));
    assertFalse(swizzling.swizzle(above, version, at(above, 0), one, frame));
    enter(frame, two + 100);
    assertFalse(swizzling.swizzle(above, version, at(above, 0), one, frame));
    assertEquals(one, word(parent, 0));
    takeOut(frame, two + 100);
    assertFalse(isExclusive(above));
    checkWhole();
  }

  @Test
  void notInAnotherVersionOfTheParent() {
    int above = frame(parent);
    long version = pool.optimistic(above, parent);
    int frame = frame(one);
    assertTrue(pool.tryExclusive(above, parent));
    assertFalse(pool.swizzling().swizzle(above, version, at(above, 0), one, frame));
    pool.releaseExclusive(above);
    assertFalse(pool.swizzling().swizzle(above, version, at(above, 0), one, frame));
    assertEquals(0, link(one));
    checkWhole();
  }

  /** Enters another page into a claimed frame, visible to all threads. */
  private void enter(int frame, long pid) {
    Translator translator = pool.frames.translator;
    int bucket = translator.bucket(pid);
    translator.lock(bucket);
    translator.insert(bucket, pid, frame);
    translator.unlock(bucket);
    Latch.releaseExclusive(pool.frames.headers, frame);
  }

  private void takeOut(int frame, long pid) {
    assertTrue(pool.tryExclusive(frame, pid));
    pool.frames.drop(frame);
    pool.frames.unclaim(frame);
  }

  /** S3. */
  @Test
  void aReaderThatHasTheWordIsRefused() {
    int frame = descend(parent, 0);
    int above = frame(parent);
    // A reader reads the parent's version, then the word, then (too late) the child's version.
    long version = pool.optimistic(above, parent);
    long ref = word(parent, 0);
    long before = pool.optimisticChild(frame, ref);
    assertNotEquals(BufferPool.RESTART, before);
    assertTrue(evictAsAMiss(frame));
    assertEquals(BufferPool.RESTART, pool.optimisticChild(frame, ref), "latched");
    enter(frame, two + 100);
    long after = pool.optimisticChild(frame, ref);
    assertNotEquals(BufferPool.RESTART, after, "the frame is trusted");
    assertFalse(pool.validate(above, version), "so the parent must have changed");
    assertFalse(pool.validate(frame, before), "and so must the frame, for earlier readers");
    takeOut(frame, two + 100);
    checkWhole();
  }

  /** S4. */
  @Test
  void aParentStaysAsLongAsAChildIsNamed() {
    long root = node(PageHeader.INNER, 2, parent);
    descend(root, 0);
    descend(parent, 1);
    assertFalse(evict(parent));
    assertFalse(evict(root));
    checkWhole();
    assertTrue(evict(two));
    assertFalse(evict(root));
    assertTrue(evict(parent));
    assertTrue(evict(root));
    checkWhole();
    assertEquals(two, word(parent, 1));
  }

  /** S5: the parent is being changed, or has changed since its child recorded it. */
  @Test
  void victimWithoutItsReferenceStays() {
    descend(parent, 0);
    int above = frame(parent);
    pool.flushAll();
    assertTrue(pool.tryExclusive(above, parent));
    FrameHeader.setUsed(pool.frames.headers, frame(one), false);
    assertFalse(pool.frames.claimCold(frame(one)));
    // A split, half done: the reference is in another node.
    Mem.putLong(pool.pages(), at(above, 0), two);
    long version = pool.heldVersion(above);
    pool.releaseExclusiveUnchanged(above);
    assertFalse(evict(one));
    assertTrue(pool.validate(above, version), "its readers are not disturbed");
    pool.swizzling().begin(frame(one));
    assertTrue(evict(one));
  }

  @Test
  void entriesThatMoveAreAdopted() {
    descend(parent, 0);
    descend(parent, 1);
    long other = node(PageHeader.INNER, 1, one);
    int from = pool.fixExclusive(parent);
    int to = pool.fixExclusive(other);
    Mem.putLong(pool.pages(), at(to, 0), Mem.getLong(pool.pages(), at(from, 1)));
    Mem.putShort(pool.pages(), pool.base(from) + PageRef.COUNT, (short) 0);
    pool.swizzling().setParent(to);
    pool.releaseExclusive(to);
    pool.releaseExclusive(from);
    assertEquals(from + 1, link(one));
    assertEquals(to + 1, link(two));
    checkWhole();
    assertTrue(evict(two));
    assertFalse(evict(parent));
    assertTrue(evict(other));
  }

  @Test
  void aFreedPageHasNoParent() {
    descend(parent, 0);
    int frame = pool.fixExclusive(one);
    int above = pool.fixExclusive(parent);
    Mem.putLong(pool.pages(), at(above, 0), two);
    pool.releaseExclusive(above);
    pool.free(frame, LogSession.NONE);
    checkWhole();
    assertEquals(0, link(one));
    assertEquals(one, node(PageHeader.LEAF, 0), "used again");
    assertEquals(0, link(one));
    assertTrue(evict(one));
  }

  @Test
  void childrenOfAFreedPageHaveNoParent() {
    descend(parent, 0);
    descend(parent, 1);
    pool.free(pool.fixExclusive(parent), LogSession.NONE);
    assertEquals(0, link(one) | link(two));
    checkWhole();
    assertTrue(evict(one));
  }

  @Test
  void aForsakenPageNamesNoChild() {
    descend(parent, 0);
    int latched = pool.fixExclusive(parent);
    pool.swizzling().clearReferences(latched);
    pool.releaseExclusive(latched);
    assertEquals(one, word(parent, 0));
    assertEquals(0, link(one));
    checkWhole();
  }

  /** S7: frames stored in a file are meaningless. */
  @Test
  void framesThatAreReadAreNotTrusted() {
    pool.flushAll();
    AllocatorState state = pool.allocatorState();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment page = arena.allocate(4096, 4096);
      device.read(parent * 4096, page, 0, 4096);
      Mem.putLong(page, PageRef.FIRST, PageRef.of(one, 3));
      PageHeader.seal(page, 0, 4096);
      device.write(parent * 4096, page, 0, 4096);
    }
    pool.abandon();
    pool = Pools.open(device, Translation.SWIZZLED, state);
    assertEquals(one, word(parent, 0));
    checkWhole();
    pool.abandon();
    pool = Pools.open(device, Translation.SWIZZLED, state);
    PageGroup group = new PageGroup();
    group.add(parent);
    pool.begin(group, true);
    group.await();
    assertEquals(1, pool.stats().misses());
    assertEquals(one, word(parent, 0));
  }

  @Test
  void damageCausesNoCycles() {
    long second = node(PageHeader.INNER, 1, one, two);
    descend(parent, 0);
    // The child of another node, the node itself, and a node of the same level.
    assertEquals(frame(one), descend(second, 0));
    assertEquals(one, word(second, 0));
    long self = node(PageHeader.INNER, 1, one);
    int frame = pool.fixExclusive(self);
    Mem.putLong(pool.pages(), at(frame, 0), self);
    pool.releaseExclusive(frame);
    descend(self, 0);
    assertEquals(self, word(self, 0));
    long above = node(PageHeader.INNER, 2, one);
    descend(above, 0);
    assertEquals(one, word(above, 0));
    // Twice in one node: both references are cleared together.
    long twice = node(PageHeader.INNER, 1, two, two);
    descend(twice, 0);
    descend(twice, 1);
    assertTrue(evict(two));
    assertEquals(two, word(twice, 0));
    assertEquals(two, word(twice, 1));
    checkWhole();
  }

  @Test
  void otherTranslationsDoNotSwizzle() {
    for (Translation kind : Translation.values()) {
      if (kind != Translation.SWIZZLED) {
        MemoryDevice other = new MemoryDevice();
        BufferPool p = Pools.open(other, kind, AllocatorState.EMPTY);
        assertFalse(p.swizzling().on);
        assertNull(p.swizzling().problem(0));
        p.abandon();
        other.close();
      }
    }
  }
}
