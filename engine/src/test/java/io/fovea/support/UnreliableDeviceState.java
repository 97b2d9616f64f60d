package io.fovea.support;

import io.fovea.io.BlockDevice;
import io.fovea.io.IoOp;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The common state of a test's {@link UnreliableDevice}s: behavior, randomness, and worker threads.
 *
 * <p>The delay and the failure of the n-th operation follow from the seed, whichever thread
 * requests it. So a run of one thread with sequential operations repeats exactly. {@link #toString}
 * has the seed. Thread-safe; the workers are daemon threads that end when idle.
 */
public final class UnreliableDeviceState {
  private static final int THREADS = 3;
  private static final long IDLE_SECONDS = 1;
  private static final long GOLDEN = 0x9E37_79B9_7F4A_7C15L;

  private final long seed;
  private final DeviceBehavior manner;
  private final ScheduledThreadPoolExecutor threads;
  private final AtomicLong delays = new AtomicLong();
  private final AtomicLong reads = new AtomicLong();
  private final AtomicLong writes = new AtomicLong();
  private final AtomicLong readsFailed = new AtomicLong();
  private final AtomicLong writesFailed = new AtomicLong();

  /** Ranges that have failed and must succeed before they fail again. */
  private final Set<Range> failed = ConcurrentHashMap.newKeySet();

  private volatile boolean faultless;

  private record Range(BlockDevice device, IoOp op, long offset) {}

  /** A worker thread, whose operations are not delayed again. */
  static final class Worker extends Thread {
    Worker(Runnable work) {
      super(work, "unreliable-device");
      setDaemon(true);
    }
  }

  public UnreliableDeviceState(DeviceBehavior manner, long seed) {
    this.manner = manner;
    this.seed = seed;
    threads = new ScheduledThreadPoolExecutor(THREADS, Worker::new);
    threads.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
    threads.allowCoreThreadTimeOut(true);
  }

  /** Wraps and takes ownership of a device. */
  public BlockDevice on(BlockDevice device) {
    return on(device, "device", true);
  }

  /** Wraps a device without faults, for the log, whose failures are final. */
  public BlockDevice withoutFaults(BlockDevice device) {
    return on(device, "device", false);
  }

  BlockDevice on(BlockDevice device, String name, boolean mayFail) {
    return new UnreliableDevice(device, name, this, mayFail);
  }

  /** Sets whether reads and writes may fail from now on; initially they may. */
  public void faults(boolean on) {
    faultless = !on;
  }

  /** Returns how many reads have failed. */
  public long readsFailed() {
    return readsFailed.get();
  }

  /** Returns how many writes have failed. */
  public long writesFailed() {
    return writesFailed.get();
  }

  @Override
  public String toString() {
    return "UnreliableDeviceState(" + manner + ", seed " + seed + "L)";
  }

  // --------------------------------------------------------------------------------- for devices

  /** Returns whether operations are delayed. */
  boolean delays() {
    return manner.delayMicrosMax() > 0;
  }

  /** Runs an operation later, on another thread. */
  void later(Runnable what) {
    long min = manner.delayMicrosMin();
    long span = manner.delayMicrosMax() - min;
    double share = chance(0, delays.incrementAndGet());
    threads.schedule(what, (long) ((min + span * share) * 1000), TimeUnit.NANOSECONDS);
  }

  /** Returns the number of this failure, from 1; 0: the operation succeeds, as after a failure. */
  long fails(BlockDevice device, IoOp op, long offset) {
    boolean read = op == IoOp.READ;
    double share = read ? manner.readFails() : manner.writeFails();
    if (share == 0) {
      return 0;
    }
    long n = (read ? reads : writes).incrementAndGet();
    Range range = new Range(device, op, offset);
    if (failed.remove(range) || faultless || chance(1 + op.ordinal(), n) >= share) {
      return 0;
    }
    failed.add(range);
    return (read ? readsFailed : writesFailed).incrementAndGet();
  }

  /** Returns a number in [0, 1) that depends only on the seed and the arguments. */
  private double chance(int what, long n) {
    long h = seed + GOLDEN * (n * 4 + what);
    h = (h ^ h >>> 30) * 0xBF58_476D_1CE4_E5B9L;
    h = (h ^ h >>> 27) * 0x94D0_49BB_1331_11EBL;
    return ((h ^ h >>> 31) >>> 11) * 0x1.0p-53;
  }
}
