package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;

class SketchTest {
  /** A put of an item, with a wts and a distance. */
  record Put(long item, long wts, long delta) {
    long word() {
      return TidWord.pack(wts, wts + delta);
    }
  }

  /** Properties 1 and 2 of the dissertation, and lemma 3 as far as it concerns the sketch. */
  @Property(tries = 300)
  void getBoundsEveryPutAndNeverFalls(
      @ForAll("puts") List<Put> puts, @ForAll("rows") int rows, @ForAll("columns") int columns) {
    Sketch sketch = new Sketch(rows, columns);
    try {
      Map<Long, long[]> exact = new HashMap<>();
      Map<Long, Long> before = new HashMap<>();
      for (Put put : puts) {
        if (put.delta() % 4 == 1) {
          sketch.settle(put.wts() / 2);
        }
        sketch.put(put.item(), put.word());
        long[] pair = exact.computeIfAbsent(put.item(), k -> new long[2]);
        pair[0] = Math.max(pair[0], put.wts());
        pair[1] = Math.max(pair[1], put.wts() + put.delta());
        for (Map.Entry<Long, long[]> e : exact.entrySet()) {
          long word = sketch.get(e.getKey());
          assertTrue(TidWord.wts(word) >= e.getValue()[0], "wts is a bound");
          assertTrue(TidWord.rts(word) >= e.getValue()[1], "rts is a bound");
          assertTrue(TidWord.wts(word) <= TidWord.rts(word), "Property 2");
          assertTrue(!TidWord.isLocked(word), "no lock bits");
          long old = before.getOrDefault(e.getKey(), 0L);
          assertTrue(
              TidWord.wts(word) >= TidWord.wts(old) && TidWord.rts(word) >= TidWord.rts(old),
              "lemma 3");
          before.put(e.getKey(), word);
        }
      }
    } finally {
      sketch.close();
    }
  }

  /** A word at or below the floor needs no cell, one above it has one; the floor never falls. */
  @Test
  void theFloorBoundsAllItems() {
    Sketch sketch = new Sketch(2, 1);
    try {
      sketch.settle(100);
      sketch.settle(50);
      assertEquals(TidWord.pack(100, 100), sketch.get(1));
      sketch.put(1, TidWord.pack(90, 100));
      sketch.put(2, TidWord.pack(60, 101));
      sketch.settle(101);
      assertEquals(TidWord.pack(101, 101), sketch.get(1));
      sketch.put(2, TidWord.pack(60, 103));
      assertEquals(TidWord.pack(101, 103), sketch.get(1), "the bound of the shared cell");
    } finally {
      sketch.close();
    }
  }

  /** Bounds hold after growing and shrinking. */
  @Property(tries = 300)
  void aResizeKeepsTheBounds(
      @ForAll("puts") List<Put> puts, @ForAll("rows") int rows, @ForAll("columns") int columns) {
    Sketch sketch = new Sketch(rows, columns);
    try {
      Map<Long, long[]> exact = new HashMap<>();
      int[] sizes = {1, 64, 2, 8, columns, 4, 16};
      for (int i = 0; i < puts.size(); i++) {
        Put put = puts.get(i);
        sketch.put(put.item(), put.word());
        long[] pair = exact.computeIfAbsent(put.item(), k -> new long[2]);
        pair[0] = Math.max(pair[0], put.wts());
        pair[1] = Math.max(pair[1], put.wts() + put.delta());
        if (i % 3 == 0) {
          int size = sizes[i / 3 % sizes.length];
          sketch.resize(size, () -> {});
          assertEquals(size, sketch.columns());
        }
        for (Map.Entry<Long, long[]> e : exact.entrySet()) {
          long word = sketch.get(e.getKey());
          assertTrue(TidWord.wts(word) >= e.getValue()[0], "wts is a bound");
          assertTrue(TidWord.rts(word) >= e.getValue()[1], "rts is a bound");
        }
      }
    } finally {
      sketch.close();
    }
  }

  /** Twice the columns take over the old bounds and keep new ones apart. */
  @Test
  void growingSeparatesItemsAndShrinkingMergesThem() {
    Sketch sketch = new Sketch(1, 1);
    sketch.put(1, TidWord.pack(5, 5));
    sketch.resize(1024, () -> {});
    assertEquals(TidWord.pack(5, 5), sketch.get(1));
    assertEquals(TidWord.pack(5, 5), sketch.get(2), "the owner is unknown");
    sketch.put(1, TidWord.pack(7, 9));
    assertEquals(TidWord.pack(5, 5), sketch.get(2));
    sketch.resize(1, () -> {});
    assertEquals(TidWord.pack(7, 9), sketch.get(2));
    sketch.resize(1024, () -> {});
    assertEquals(TidWord.pack(7, 9), sketch.get(2), "cells are reused, their contents are not");
    sketch.close();
  }

  /**
   * The interleavings that the wait excludes: a put and a get that have read the cells before a
   * resize, and continue when the resize is about to wait for them.
   */
  @Test
  void aPutThatBeganBeforeAResizeIsKept() {
    Sketch sketch = new Sketch(2, 4);
    Sketch.State before = sketch.state();
    sketch.put(1, TidWord.pack(3, 4));
    AtomicInteger waits = new AtomicInteger();
    sketch.resize(
        8,
        () -> {
          if (waits.incrementAndGet() == 1) {
            sketch.put(before, 2, TidWord.pack(5, 6));
            sketch.put(3, TidWord.pack(7, 8));
            assertTrue(TidWord.rts(sketch.get(3)) >= 8, "a get of what was put during the change");
          } else {
            assertEquals(8, sketch.columns());
            assertTrue(
                TidWord.rts(sketch.get(before, 1)) >= 4, "a get that began before it continues");
          }
        });
    assertEquals(2, waits.get(), "before the copy, and before the former cells are freed");
    assertTrue(TidWord.rts(sketch.get(1)) >= 4);
    assertTrue(TidWord.wts(sketch.get(2)) >= 5, "put into the former cells while it waited");
    assertTrue(TidWord.wts(sketch.get(3)) >= 7, "put during the change");
    sketch.close();
  }

  /** Threads put and get under the locks of items, while another thread resizes continually. */
  @Test
  void aResizeLosesNoPut() throws InterruptedException {
    Sketch sketch = new Sketch(2, 1);
    int threads = 3;
    ReentrantLock[] locks = new ReentrantLock[threads];
    AtomicInteger left = new AtomicInteger(threads);
    Thread[] all = new Thread[threads + 1];
    for (int t = 0; t < threads; t++) {
      int own = t;
      locks[t] = new ReentrantLock();
      all[t] =
          new Thread(
              () -> {
                try {
                  for (int i = 1; i <= 60_000; i++) {
                    // Some time passes between the put and the get of an item.
                    long item = (i % 64 * threads + own) * 0x9E3779B97F4A7C15L | 1;
                    locks[own].lock();
                    try {
                      long word = sketch.get(item);
                      if (i > 64 && TidWord.wts(word) < i - 64) {
                        throw new AssertionError(
                            "lost: " + TidWord.toString(word) + " after " + (i - 64));
                      }
                      sketch.put(item, TidWord.pack(i, i + i % 100));
                    } finally {
                      locks[own].unlock();
                    }
                  }
                } finally {
                  left.decrementAndGet();
                }
              });
    }
    Runnable quiesce =
        () -> {
          for (ReentrantLock lock : locks) {
            lock.lock();
            lock.unlock();
          }
        };
    all[threads] =
        new Thread(
            () -> {
              for (int i = 0; left.get() > 0; i++) {
                sketch.resize(i % 2 == 0 ? 1 << 14 : 1 << 12, quiesce);
              }
            });
    Failures.runAll(all);
    sketch.close();
  }

  @Test
  void anItemAloneIsExact() {
    Sketch sketch = new Sketch(2, 2048);
    sketch.put(42, TidWord.pack(7, 20));
    assertEquals(TidWord.pack(7, 20), sketch.get(42));
    sketch.put(42, TidWord.withLock(TidWord.pack(8, 9)));
    assertEquals(TidWord.pack(8, 20), sketch.get(42));
    sketch.close();
  }

  @Test
  void twoRowsHaveFewerCollisionsThanOne() {
    SplittableRandom random = new SplittableRandom(1);
    long[] items = random.longs(500).toArray();
    long wrong1 = overestimates(new Sketch(1, 2048), items);
    long wrong2 = overestimates(new Sketch(2, 2048), items);
    assertTrue(wrong2 * 2 < wrong1, wrong2 + " with two rows, " + wrong1 + " with one");
  }

  private static long overestimates(Sketch sketch, long[] items) {
    for (int i = 0; i < items.length; i++) {
      sketch.put(items[i], TidWord.pack(i + 1, i + 1));
    }
    long wrong = 0;
    for (int i = 0; i < items.length; i++) {
      if (TidWord.wts(sketch.get(items[i])) != i + 1) {
        wrong++;
      }
    }
    sketch.close();
    return wrong;
  }

  @Test
  void sizesAreChecked() {
    assertThrows(IllegalArgumentException.class, () -> new Sketch(0, 16));
    assertThrows(IllegalArgumentException.class, () -> new Sketch(9, 16));
    assertThrows(IllegalArgumentException.class, () -> new Sketch(2, 3));
    assertThrows(IllegalArgumentException.class, () -> new Sketch(2, 0));
  }

  @Test
  void racingPutsLoseNothing() throws InterruptedException {
    Sketch sketch = new Sketch(2, 2);
    int threads = 4;
    Thread[] all = new Thread[threads];
    for (int t = 0; t < threads; t++) {
      int own = t;
      all[t] =
          new Thread(
              () -> {
                for (int i = 1; i <= 20_000; i++) {
                  long wts = (long) i * threads + own;
                  sketch.put(own + 1, TidWord.pack(wts, wts + i % 100));
                  long word = sketch.get(own + 1);
                  if (TidWord.wts(word) < wts || TidWord.rts(word) < wts + i % 100) {
                    throw new AssertionError("lost: " + TidWord.toString(word) + " after " + wts);
                  }
                }
              });
    }
    Failures.runAll(all);
    sketch.close();
  }

  @Provide
  Arbitrary<List<Put>> puts() {
    Arbitrary<Long> items =
        Arbitraries.oneOf(Arbitraries.longs().between(1, 12), Arbitraries.longs());
    Arbitrary<Long> wts =
        Arbitraries.oneOf(
            Arbitraries.longs().between(0, 50), Arbitraries.longs().between(0, 1L << 40));
    return Combinators.combine(items, wts, Arbitraries.longs().between(0, TidWord.DELTA_MAX))
        .as(Put::new)
        .list()
        .ofMaxSize(40);
  }

  @Provide
  Arbitrary<Integer> rows() {
    return Arbitraries.integers().between(1, 4);
  }

  @Provide
  Arbitrary<Integer> columns() {
    return Arbitraries.of(1, 2, 4, 8, 64);
  }
}
