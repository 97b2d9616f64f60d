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
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Groups are written by a waiting thread, or by the log's own thread. */
@Timeout(60)
class LogLeaderTest {
  private final HeldLog device = new HeldLog();
  private final Log log =
      Log.open(
          device,
          // A window of a minute, so that age triggers no write.
          new LogConfig(64 << 10, 64 << 10, TimeUnit.MINUTES.toNanos(1), 16 << 10),
          Logs.start(1, Log.FIRST_LSN, Log.FIRST_LSN));

  /** Records which threads synced groups; holds or fails the next sync on request. */
  private static final class HeldLog extends AbstractBlockDevice {
    private static final int EIO = 5;

    private final MemoryDevice memory = new MemoryDevice("log", 4096, 64 << 20);
    final List<Thread> writers = new CopyOnWriteArrayList<>();
    volatile @Nullable CountDownLatch held;
    volatile CountDownLatch entered = new CountDownLatch(1);
    volatile boolean refuses;

    /** Fails the next sync, and accepts all later ones. */
    volatile boolean refusesOnce;

    HeldLog() {
      super("log", 4096);
    }

    @Override
    protected int syncNow() {
      writers.add(Thread.currentThread());
      CountDownLatch gate = held;
      if (gate != null) {
        entered.countDown();
        Logs.await(gate);
      }
      boolean once = refusesOnce;
      refusesOnce = false;
      return refuses || once ? EIO : 0;
    }

    void letGo() {
      CountDownLatch gate = held;
      held = null;
      if (gate != null) {
        gate.countDown();
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
    device.letGo();
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
  void singleWaiterWritesItsOwnGroup() {
    long lsn = append(1);
    log.awaitDurable(lsn);
    assertEquals(List.of(Thread.currentThread()), device.writers);
    assertEquals(lsn, log.durableLsn());
  }

  @Test
  void aWaiterWritesForAll() {
    CountDownLatch gate = new CountDownLatch(1);
    device.held = gate;
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Thread first = waits(append(1), failure);
    awaitEntered();
    // Requested while a group is in progress, so that no other thread may write them.
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
  void aVirtualThreadLeavesWritingToTheLog() throws InterruptedException {
    long lsn = append(1);
    Thread.ofVirtual().start(() -> log.awaitDurable(lsn)).join();
    assertEquals(lsn, log.durableLsn());
    assertEquals(1, device.writers.size());
    assertEquals("fovea-log", device.writers.getFirst().getName());
  }

  @Test
  void waitersOfAGroupInProgressDoNotWriteMore() {
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
  void closeWaitsForTheWriter() throws InterruptedException {
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
    // A late thread changes nothing.
    assertFalse(log.isAlive());
  }

  @Test
  void aFailureEndsAllWaits() {
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

  /**
   * A failed group leaves zeros in the ring. The next writer must not write and acknowledge them
   * or, if there is more than a group takes, search for its end.
   *
   * @param records how many are appended during the group that fails
   */
  @ParameterizedTest
  @ValueSource(ints = {1, 200})
  void theLogDoesNotWriteAfterAFailedLeader(int records) {
    AtomicReference<Throwable> ofLeader = new AtomicReference<>();
    AtomicReference<Throwable> ofOther = new AtomicReference<>();
    Thread leader = leads(ofLeader);
    final long durable = log.durableLsn();
    LogSession session = log.session();
    for (int i = 1; i < records; i++) {
      Logs.append(session, Logs.body(i, 100));
    }
    long last = append(records);
    Thread other = Thread.ofVirtual().start(() -> ofOther.set(failureOf(last)));
    awaitQueued("fovea-log", "step");
    device.refusesOnce = true;
    device.letGo();
    join(leader);
    join(other);
    assertLostAtOnce(durable, ofLeader, ofOther);
  }

  /** Returns a thread that is held while it leads. The log's own thread may win if it is awake. */
  private Thread leads(AtomicReference<Throwable> failure) {
    while (true) {
      device.writers.clear();
      device.entered = new CountDownLatch(1);
      device.held = new CountDownLatch(1);
      Thread thread = waits(append(0), failure);
      awaitEntered();
      if (device.writers.getFirst() == thread) {
        return thread;
      }
      device.letGo();
      join(thread);
    }
  }

  /** No thread leads after the log's own has failed. */
  @Test
  void noThreadLeadsAfterTheLogHasFailed() {
    CountDownLatch gate = new CountDownLatch(1);
    device.held = gate;
    device.refusesOnce = true;
    AtomicReference<Throwable> ofLeader = new AtomicReference<>();
    AtomicReference<Throwable> ofOther = new AtomicReference<>();
    long first = append(1);
    Thread other = Thread.ofVirtual().start(() -> ofOther.set(failureOf(first)));
    awaitEntered();
    Thread leader = waits(append(2), ofLeader);
    awaitQueued(leader.getName(), "lead");
    device.letGo();
    join(leader);
    join(other);
    assertLostAtOnce(Log.FIRST_LSN, ofLeader, ofOther);
  }

  private void assertLostAtOnce(
      long durable, AtomicReference<Throwable> ofLeader, AtomicReference<Throwable> ofOther) {
    assertInstanceOf(DurabilityLostException.class, ofLeader.get());
    assertInstanceOf(DurabilityLostException.class, ofOther.get());
    assertEquals(durable, log.durableLsn());
    assertEquals(1, device.writers.size(), "something was written after the failure");
  }

  private @Nullable Throwable failureOf(long lsn) {
    try {
      log.awaitDurable(lsn);
      return null;
    } catch (Throwable t) {
      return t;
    }
  }

  /** Returns when a thread waits to lead. */
  private static void awaitQueued(String thread, String method) {
    while (Thread.getAllStackTraces().entrySet().stream()
        .noneMatch(
            e ->
                e.getKey().getName().equals(thread)
                    && e.getKey().getState() == Thread.State.WAITING
                    && isIn(e.getValue(), ReentrantLock.class.getName(), "lock")
                    && isIn(e.getValue(), LogWriter.class.getName(), method))) {
      Thread.yield();
    }
  }

  private static boolean isIn(StackTraceElement[] stack, String type, String method) {
    return Arrays.stream(stack)
        .anyMatch(f -> f.getClassName().equals(type) && f.getMethodName().equals(method));
  }

  private void awaitEntered() {
    Logs.await(device.entered);
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
