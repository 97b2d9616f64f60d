package io.fovea.support;

import io.fovea.io.AbstractBlockDevice;
import io.fovea.io.IoBatch;
import io.fovea.io.IoOp;
import io.fovea.io.MemoryDevice;
import io.fovea.io.ReadRing;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * A memory device that can delay or fail reads, completes the entries of a batch in any order, and
 * records requests.
 *
 * <p>The memory outlives it: {@code new HeldDevice(below)} reopens the same file.
 */
public final class HeldDevice extends AbstractBlockDevice {
  private static final int EIO = 5;

  private final MemoryDevice below;
  private final Random random;

  /** The number of reads of each batch, in submission order. */
  public final List<Integer> batches = Collections.synchronizedList(new ArrayList<>());

  /** Reads by offset. */
  public final ConcurrentHashMap<Long, AtomicInteger> readsAt = new ConcurrentHashMap<>();

  /** The number of reads that are currently held. */
  public final AtomicInteger held = new AtomicInteger();

  /** Returns whether the read at an offset fails. */
  public volatile LongPredicate readFails = offset -> false;

  /** Called when a ring is requested, and before a batch is accepted; may throw. */
  public volatile Runnable lending = () -> {};

  public volatile Runnable submitting = () -> {};

  /** The maximum number of yields before a read. */
  public volatile int yieldsMax;

  private volatile LongPredicate holds = offset -> false;
  private volatile @Nullable CountDownLatch gate;

  /** Creates an empty device. */
  public HeldDevice() {
    this(new MemoryDevice(), 1);
  }

  /** Creates a device on existing memory; the seed orders the entries of batches. */
  public HeldDevice(MemoryDevice below, long seed) {
    super("held", below.blockSize());
    this.below = below;
    this.random = new Random(seed);
  }

  /** Returns the underlying device with the bytes. */
  public MemoryDevice below() {
    return below;
  }

  /** Holds reads at matching offsets from now on, until {@link #release}. */
  public void hold(LongPredicate offsets) {
    holds = offsets;
    gate = new CountDownLatch(1);
  }

  /** Releases held reads, and stops holding reads. */
  public void release() {
    CountDownLatch g = gate;
    gate = null;
    if (g != null) {
      g.countDown();
    }
  }

  /** Clears the records. */
  public void forget() {
    batches.clear();
    readsAt.clear();
  }

  /** Returns the number of reads since {@link #forget}. */
  public int reads() {
    return readsAt.values().stream().mapToInt(AtomicInteger::get).sum();
  }

  @Override
  public long size() {
    return below.size();
  }

  @Override
  public String kind() {
    return "held";
  }

  @Override
  protected int readNow(long offset, MemorySegment seg, long segOff, int len) {
    readsAt.computeIfAbsent(offset, k -> new AtomicInteger()).incrementAndGet();
    CountDownLatch g = gate;
    if (g != null && holds.test(offset)) {
      held.incrementAndGet();
      awaitKeepingInterrupt(g);
      held.decrementAndGet();
    }
    int bound = yieldsMax;
    for (int n = bound == 0 ? 0 : ThreadLocalRandom.current().nextInt(bound); n > 0; n--) {
      Thread.yield();
    }
    if (readFails.test(offset)) {
      return EIO;
    }
    below.read(offset, seg, segOff, len);
    return 0;
  }

  private static void awaitKeepingInterrupt(CountDownLatch g) {
    boolean interrupted = false;
    while (true) {
      try {
        g.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  protected int writeNow(long offset, MemorySegment seg, long segOff, int len) {
    below.write(offset, seg, segOff, len);
    return 0;
  }

  @Override
  protected int syncNow() {
    return 0;
  }

  @Override
  protected int resizeNow(long bytes) {
    below.resize(bytes);
    return 0;
  }

  @Override
  protected void closeNow() {
    // The memory remains, for a device that reopens the file.
  }

  @Override
  public @Nullable ReadRing acquireReadRing(IoBatch.Completion completion) {
    lending.run();
    return null;
  }

  /** Runs each read on its own thread, in any order; batches with writes run in order. */
  @Override
  public void submit(IoBatch batch) {
    for (int i = 0; i < batch.size(); i++) {
      if (batch.op(i) != IoOp.READ) {
        super.submit(batch);
        return;
      }
    }
    submitting.run();
    accept(batch);
    int n = batch.size();
    batches.add(n);
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      order.add(i);
    }
    synchronized (random) {
      Collections.shuffle(order, random);
    }
    for (int i : order) {
      Thread.startVirtualThread(() -> finish(batch, i, perform(batch, i)));
    }
  }
}
