package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.InvalidUseException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Pools that share memory: the total is exact, and excess memory is returned. */
class PoolShareTest {
  private static final int PAGE = 4096;

  private static PoolShare share(int frames) {
    return new PoolShare((long) frames * PAGE);
  }

  /** A pool with nothing besides its frames except the one for moves. */
  private static PoolShare.Member join(PoolShare share, int least) {
    return share.join(PAGE, 0, least);
  }

  private static int takeAll(PoolShare.Member m, int most) {
    int taken = 0;
    while (taken < most && m.take()) {
      taken++;
    }
    return taken;
  }

  @Test
  void guaranteedFramesAreAlwaysAvailable() {
    PoolShare share = share(20);
    PoolShare.Member a = join(share, 5);
    PoolShare.Member b = join(share, 5);
    assertEquals(12L * PAGE, share.used());
    assertEquals(13, takeAll(a, 100), "its own 5, and all 8 that are free");
    assertEquals(20L * PAGE, share.used());
    assertEquals(5, takeAll(b, 100));
    assertEquals(0, a.free(100));
    assertThrows(InvalidUseException.class, () -> join(share, 10));
    assertEquals(2, share.members());
    a.refund();
    assertEquals(1, b.free(100));
    assertTrue(b.take());
    a.leave();
    assertFalse(a.take(), "it has left the share");
    a.refund();
    assertEquals(7L * PAGE, share.used());
    b.leave();
    assertEquals(0, share.used());
  }

  @Test
  void memberAboveItsFairShareReturnsFrames() {
    PoolShare share = share(22);
    AtomicInteger woken = new AtomicInteger();
    PoolShare.Member a = join(share, 2);
    PoolShare.Member b = join(share, 2);
    a.setWakeAction(woken::incrementAndGet);
    assertEquals(18, takeAll(a, 100));
    assertEquals(2, takeAll(b, 100));
    // Its fair share is 11, of which 3 are guaranteed.
    b.demand(4, System.nanoTime() + 1_000_000_000);
    assertEquals(1, a.requested(), "it was refused one");
    assertEquals(1, woken.get());
    a.refund();
    assertEquals(0, a.requested());
    assertFalse(a.take(), "the released frame is for the other one");
    assertTrue(b.take());
    for (int i = 0; i < 20; i++) {
      assertFalse(b.take());
    }
    b.demand(100, System.nanoTime() + 2_000_000_000);
    assertEquals(7, a.requested(), "up to the other's fair share, and not below its own");
    while (a.requested() > 0) {
      a.refund();
    }
    assertEquals(7, takeAll(b, 100));
  }

  @Test
  void idleFramesAreRequested() {
    PoolShare share = share(22);
    PoolShare.Member a = join(share, 2);
    PoolShare.Member b = join(share, 2);
    assertEquals(10, takeAll(a, 10));
    assertEquals(10, takeAll(b, 100));
    assertFalse(b.take());
    long now = System.nanoTime() + 5_000_000_000L;
    b.demand(100, now);
    assertEquals(0, a.requested(), "both have their fair share");
    assertTrue(a.isOwing());
    assertTrue(a.takeRequestedIdle(now) > 0);
    assertFalse(a.isOwing());
    b.take();
    b.demand(100, now + 20_000_000);
    assertEquals(
        0,
        a.takeRequestedIdle(now + 30_000_000),
        "the last rebalancing was less than a second ago");
  }

  /** Steps of several pools by one thread, compared with a model. */
  @Property(tries = 200)
  void theTotalIsExact(
      @ForAll long seed,
      @ForAll @IntRange(min = 4, max = 60) int frames,
      @ForAll @IntRange(min = 1, max = 4) int pools) {
    Random random = new Random(seed);
    PoolShare share = share(frames);
    List<PoolShare.Member> members = new ArrayList<>();
    List<Integer> least = new ArrayList<>();
    int promised = 0;
    for (int i = 0; i < pools; i++) {
      int own = random.nextInt(4);
      if (promised + own + 1 <= frames) {
        members.add(join(share, own));
        least.add(own);
        promised += own + 1;
      }
    }
    int[] held = new int[members.size()];
    for (int step = 0; step < 300; step++) {
      int i = random.nextInt(members.size());
      if (random.nextBoolean()) {
        boolean taken = members.get(i).take();
        assertTrue(taken || held[i] >= least.get(i), "a guaranteed frame was denied");
        held[i] += taken ? 1 : 0;
      } else if (held[i] > 0) {
        members.get(i).refund();
        held[i]--;
      }
      long sum = 0;
      for (int m = 0; m < held.length; m++) {
        sum += 1 + Math.max(held[m], least.get(m));
      }
      assertEquals(sum * PAGE, share.used());
      assertTrue(sum <= frames);
    }
    members.forEach(PoolShare.Member::leave);
    assertEquals(0, share.used());
  }

  /** The same from many threads at once: never above the limit, and exact at the end. */
  @Test
  @Timeout(value = 1, unit = TimeUnit.MINUTES)
  void manyThreads() throws Exception {
    PoolShare share = share(50);
    List<PoolShare.Member> members = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      members.add(join(share, 4));
    }
    long promised = share.used();
    try (ExecutorService threads = Executors.newFixedThreadPool(6)) {
      List<Future<?>> all = new ArrayList<>();
      for (int t = 0; t < 6; t++) {
        PoolShare.Member mine = members.get(t % 3);
        Random random = new Random(t);
        all.add(
            threads.submit(
                () -> {
                  int held = 0;
                  for (int i = 0; i < 100_000; i++) {
                    if (random.nextInt(3) > 0 && mine.take()) {
                      held++;
                    } else if (held > 0) {
                      mine.refund();
                      held--;
                    }
                    if (i % 1_000 == 0) {
                      mine.demand(10, System.nanoTime());
                    }
                    assertTrue(share.used() <= share.limit());
                  }
                  for (; held > 0; held--) {
                    mine.refund();
                  }
                }));
      }
      for (Future<?> f : all) {
        f.get();
      }
    }
    assertEquals(promised, share.used());
    members.forEach(PoolShare.Member::leave);
    assertEquals(0, share.used());
  }
}
