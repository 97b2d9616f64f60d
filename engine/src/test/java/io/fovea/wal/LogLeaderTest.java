package io.fovea.wal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.DurabilityLostException;
import io.fovea.io.AbstractBlockDevice;
import io.fovea.io.MemoryDevice;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who writes a group: a thread that would wait otherwise, or the log's own. */
@Timeout(60)
class LogLeaderTest {
  private final HeldLog device = new HeldLog();
  private final Log log =
      Log.open(
          device,
          // A window of a minute: nothing is written because of its age.
          new LogConfig(64 << 10, 64 << 10, TimeUnit.MINUTES.toNanos(1), 16 << 10),
          Logs.start(1, Log.FIRST_LSN, Log.FIRST_LSN));

  /** Remembers which threads synced groups; holds the next one or refuses it when told to. */
  private static final class HeldLog extends AbstractBlockDevice {
    private static final int EIO = 5;

    private final MemoryDevice memory = new MemoryDevice("log", 4096, 64 << 20);
    final List<Thread> writers = new CopyOnWriteArrayList<>();
    volatile @Nullable CountDownLatch held;
    final CountDownLatch entered = new CountDownLatch(1);
    volatile boolean refuses;

    HeldLog() {
      super("log", 4096);
    }

    @Override
    protected int syncNow() {
      writers.add(Thread.currentThread());
      CountDownLatch gate = held;
      if (gate != null) {
        entered.countDown();
        awaitGate(gate);
      }
      return refuses ? EIO : 0;
    }

    private static void awaitGate(CountDownLatch gate) {
      try {
        gate.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    protected int readNow(long offset, MemorySegment seg, long segOff, int len) {
      memory.read(offset, seg, segOff, len);
      return 0;
    }

    @Override
    protected int writeNow(long offset, MemorySegment seg, long segOff, int len) {
      memory.write(offset, seg, segOff, len);
      return 0;
    }

    @Override
    protected int resizeNow(long bytes) {
      memory.resize(bytes);
      return 0;
    }

    @Override
    protected void closeNow() {
      memory.close();
    }

    @Override
    public long size() {
      return memory.size();
    }

    @Override
    public String kind() {
      return memory.kind();
    }
  }

  @BeforeEach
  void forgetTheOpening() {
    device.writers.clear();
  }

  @AfterEach
  void close() {
    CountDownLatch gate = device.held;
    if (gate != null) {
      gate.countDown();
    }
    log.close();
  }

  private long append(int number) {
    return Logs.append(log.session(), Logs.body(number, 100));
  }

  private Thread waits(long lsn, AtomicReference<Throwable> failure) {
    return Thread.ofPlatform()
        .start(
            () -> {
              try {
                log.awaitDurable(lsn);
              } catch (Throwable t) {
                failure.set(t);
              }
            });
  }

  @Test
  void whoWaitsAloneWritesForHimself() {
    long lsn = append(1);
    log.awaitDurable(lsn);
    assertEquals(List.of(Thread.currentThread()), device.writers);
    assertEquals(lsn, log.durableLsn());
  }

  @Test
  void whoHasNothingLeftToDoWritesForAll() {
    CountDownLatch gate = new CountDownLatch(1);
    device.held = gate;
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Thread first = waits(append(1), failure);
    awaitEntered();
    // They are asked for while a group is under way, so that nobody else may write them.
    log.request(append(2));
    log.request(append(3));
    long last = append(4);
    log.request(last);
    device.held = null;
    gate.countDown();
    log.awaitRequested(last);
    join(first);
    assertNull(failure.get());
    assertEquals(last, log.durableLsn());
    assertEquals(2, log.stats().groups(), "one group for the first, one for all others");
  }

  @Test
  void aVirtualThreadLeavesItToTheLog() throws InterruptedException {
    long lsn = append(1);
    Thread.ofVirtual().start(() -> log.awaitDurable(lsn)).join();
    assertEquals(lsn, log.durableLsn());
    assertEquals(1, device.writers.size());
    assertEquals("fovea-log", device.writers.getFirst().getName());
  }

  @Test
  void nobodyWaitsForWhatIsUnderWayAndWritesMore() {
    CountDownLatch gate = new CountDownLatch(1);
    device.held = gate;
    AtomicReference<Throwable> failure = new AtomicReference<>();
    long one = append(1);
    long two = append(2);
    Thread leader = waits(two, failure);
    awaitEntered();
    Thread other = waits(one, failure);
    while (other.getState() == Thread.State.RUNNABLE || other.getState() == Thread.State.NEW) {
      Thread.onSpinWait();
    }
    gate.countDown();
    join(leader);
    join(other);
    assertNull(failure.get());
    assertEquals(1, log.stats().groups());
  }

  @Test
  void closeWaitsForWhoeverWrites() throws InterruptedException {
    CountDownLatch gate = new CountDownLatch(1);
    device.held = gate;
    AtomicReference<Throwable> failure = new AtomicReference<>();
    long lsn = append(1);
    Thread leader = waits(lsn, failure);
    awaitEntered();
    Thread closer = Thread.ofPlatform().start(log::close);
    closer.join(50);
    assertTrue(closer.isAlive(), "closed while a group was being written from the log's memory");
    gate.countDown();
    join(closer);
    join(leader);
    assertNull(failure.get());
    assertEquals(lsn, log.durableLsn());
    // Who comes too late touches nothing.
    assertFalse(log.isAlive());
  }

  @Test
  void aFailureIsEverybodysWhoeverMeetsIt() {
    CountDownLatch gate = new CountDownLatch(1);
    device.held = gate;
    device.refuses = true;
    AtomicReference<Throwable> ofLeader = new AtomicReference<>();
    AtomicReference<Throwable> ofOther = new AtomicReference<>();
    Thread leader = waits(append(1), ofLeader);
    awaitEntered();
    Thread other = waits(append(2), ofOther);
    gate.countDown();
    join(leader);
    join(other);
    assertInstanceOf(DurabilityLostException.class, ofLeader.get());
    assertInstanceOf(DurabilityLostException.class, ofOther.get());
    assertFalse(log.isAlive());
    assertEquals(0, log.stats().groups());
  }

  private void awaitEntered() {
    HeldLog.awaitGate(device.entered);
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
