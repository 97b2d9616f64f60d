package io.fovea.support;

import io.fovea.io.BlockDevice;
import io.fovea.io.IoOp;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What the {@link RoughDevice}s of one test have in common: their manner, what is random, and the
 * threads that end their operations.
 *
 * <p>The n-th operation takes as long, and the n-th read (write) fails or not, as the seed says,
 * whichever thread asks for it: a run of one thread whose operations wait for each other is the
 * same again with the same seed. {@link #toString} has the seed, for messages of failing tests.
 *
 * <p>Any thread. The threads are daemons and end when there is nothing to do.
 */
public final class Roughness {
  private static final int THREADS = 3;
  private static final long IDLE_SECONDS = 1;
  private static final long GOLDEN = 0x9E37_79B9_7F4A_7C15L;

  private final long seed;
  private final Manner manner;
  private final ScheduledThreadPoolExecutor threads;
  private final AtomicLong delays = new AtomicLong();
  private final AtomicLong reads = new AtomicLong();
  private final AtomicLong writes = new AtomicLong();
  private final AtomicLong readsFailed = new AtomicLong();
  private final AtomicLong writesFailed = new AtomicLong();

  /** What has failed and must not fail again before it has succeeded. */
  private final Set<Range> failed = ConcurrentHashMap.newKeySet();

  private volatile boolean faultless;

  private record Range(BlockDevice device, IoOp op, long offset) {}

  /** The threads of devices: what they do is not put off again. */
  static final class Worker extends Thread {
    Worker(Runnable work) {
      super(work, "rough-device");
      setDaemon(true);
    }
  }

  /** A manner, and the seed of what it leaves to chance. */
  public Roughness(Manner manner, long seed) {
    this.manner = manner;
    this.seed = seed;
    threads = new ScheduledThreadPoolExecutor(THREADS, Worker::new);
    threads.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
    threads.allowCoreThreadTimeOut(true);
  }

  /** A device of this roughness on another one, which it owns from now on. */
  public BlockDevice on(BlockDevice device) {
    return on(device, "device", true);
  }

  /** The same, but for faults: a log's, for what fails there is final. */
  public BlockDevice withoutFaults(BlockDevice device) {
    return on(device, "device", false);
  }

  BlockDevice on(BlockDevice device, String name, boolean mayFail) {
    return new RoughDevice(device, name, this, mayFail);
  }

  /** Whether reads and writes may fail from now on; they may at first. */
  public void faults(boolean on) {
    faultless = !on;
  }

  /** How many reads have failed. */
  public long readsFailed() {
    return readsFailed.get();
  }

  /** How many writes have failed. */
  public long writesFailed() {
    return writesFailed.get();
  }

  @Override
  public String toString() {
    return "Roughness(" + manner + ", seed " + seed + "L)";
  }

  // --------------------------------------------------------------------------------- for devices

  /** Whether operations are put off. */
  boolean delays() {
    return manner.delayMicrosMax() > 0;
  }

  /** Does something later, on another thread. */
  void later(Runnable what) {
    long min = manner.delayMicrosMin();
    long span = manner.delayMicrosMax() - min;
    double share = chance(0, delays.incrementAndGet());
    threads.schedule(what, (long) ((min + span * share) * 1000), TimeUnit.NANOSECONDS);
  }

  /**
   * Whether an operation fails. What has failed once succeeds the next time.
   *
   * @return the number of the operation among those that have failed, from 1; 0: it does not
   */
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

  /** A number of [0, 1) that depends on the seed and the arguments only. */
  private double chance(int what, long n) {
    long h = seed + GOLDEN * (n * 4 + what);
    h = (h ^ h >>> 30) * 0xBF58_476D_1CE4_E5B9L;
    h = (h ^ h >>> 27) * 0x94D0_49BB_1331_11EBL;
    return ((h ^ h >>> 31) >>> 11) * 0x1.0p-53;
  }
}
