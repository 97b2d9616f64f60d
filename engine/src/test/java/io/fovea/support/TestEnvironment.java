package io.fovea.support;

import io.fovea.error.FoveaException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.txn.FaultInjection;
import java.util.function.Supplier;

/**
 * The environments of model tests: pool size, device behavior and hints.
 *
 * <p>{@code -Dmodels.times=N} runs everything N times, with successive seeds; {@code
 * -Dmodels.seed=N} sets the first seed.
 */
public enum TestEnvironment {
  /** A large pool and fast devices. */
  PLAIN(false, 4096, DeviceBehavior.SMOOTH),
  /** No hints. */
  WITHOUT_HINTS(true, 4096, DeviceBehavior.SMOOTH, false, false),
  /** All frame hints are wrong. */
  POISONED_HINTS(true, 4096, DeviceBehavior.SMOOTH, true, true),
  /** All frame hints are wrong, and the pool never evicts. */
  POISONED_IN_MEMORY(false, 4096, DeviceBehavior.SMOOTH, true, true),
  /** The smallest accepted pool. */
  SMALLEST_POOL(true, 4096, DeviceBehavior.SMOOTH),
  /** The smallest pool with large pages. */
  LARGE_PAGES(true, 16384, DeviceBehavior.SMOOTH),
  /** Slow devices. */
  SLOW(true, 4096, DeviceBehavior.SLOW),
  /** Devices that complete operations in any order. */
  SHUFFLED(false, 4096, DeviceBehavior.SHUFFLED),
  SMALLEST_AND_SHUFFLED(true, 4096, DeviceBehavior.SHUFFLED),
  /** Some reads fail. */
  FAILING_READS(true, 4096, DeviceBehavior.SMOOTH.failingReads(0.01)),
  /** Some writes of the data file fail. */
  FAILING_WRITES(true, 4096, DeviceBehavior.SMOOTH.failingWrites(0.05)),
  /** Everything combined. */
  EVERYTHING(true, 4096, DeviceBehavior.SHUFFLED.failingReads(0.01).failingWrites(0.05));

  private static final int TIMES = Integer.getInteger("models.times", 1);
  private static final StackWalker CALLER =
      StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
  private static final int ATTEMPTS_MAX = 1000;
  private static final long SEED = Long.getLong("models.seed", 1);

  private final boolean smallest;
  private final int pageSize;
  private final DeviceBehavior manner;
  private final boolean hints;
  private final boolean wrongHints;

  TestEnvironment(boolean smallest, int pageSize, DeviceBehavior manner) {
    this(smallest, pageSize, manner, true, false);
  }

  TestEnvironment(
      boolean smallest, int pageSize, DeviceBehavior manner, boolean hints, boolean wrongHints) {
    this.smallest = smallest;
    this.pageSize = pageSize;
    this.manner = manner;
    this.hints = hints;
    this.wrongHints = wrongHints;
  }

  /** A test in an environment. */
  public interface Body {
    /**
     * Runs the test.
     *
     * @param seed the seed of everything except the devices
     */
    void run(UnreliableDeviceState deviceState, long seed) throws Exception;
  }

  /**
   * Runs a test with successive seeds; a failure reports its seed.
   *
   * @param seeds the number of seeds; only one is used if operations are slow
   */
  public void each(int seeds, Body body) {
    String test = CALLER.getCallerClass().getSimpleName();
    long end = SEED + (long) TIMES * (delays() ? 1 : seeds);
    for (long seed = SEED; seed < end; seed++) {
      UnreliableDeviceState deviceState = deviceState(seed);
      try {
        body.run(deviceState, seed);
      } catch (Throwable e) {
        throw new AssertionError(
            this
                + ", "
                + deviceState
                + ". Replay: mvn -pl engine -am test -Dtest="
                + test
                + " -Dmodels.seed="
                + seed,
            e);
      }
    }
  }

  public UnreliableDeviceState deviceState(long seed) {
    return new UnreliableDeviceState(manner, seed);
  }

  /**
   * Repeats an action until it succeeds, as long as its exceptions are ones that devices may cause.
   */
  public void patiently(Runnable what) {
    for (int i = 0; ; i++) {
      try {
        what.run();
        return;
      } catch (FoveaException e) {
        if (!mayThrow(e) || i == ATTEMPTS_MAX) {
          throw e;
        }
      }
    }
  }

  /** Returns whether the pool is the smallest that is accepted. */
  public boolean smallest() {
    return smallest;
  }

  /** Returns the size of a page, in bytes. */
  public int pageSize() {
    return pageSize;
  }

  /** Returns whether there are hints. */
  public boolean hints() {
    return hints;
  }

  /** Returns whether hints are wrong. */
  public boolean wrongHints() {
    return wrongHints;
  }

  /** Creates a pool, or an object that has one, with the hints of this environment. */
  public <R> R making(Supplier<R> what) {
    return wrongHints ? FaultInjection.wrongFrameHints(what) : what.get();
  }

  /** Returns whether reads fail. */
  public boolean failsReads() {
    return manner.readFails() > 0;
  }

  /** Returns whether operations are delayed. */
  public boolean delays() {
    return manner.delayMicrosMax() > 0;
  }

  /** Reduces a number of steps, in proportion to the delays. */
  public int steps(int steps) {
    return manner.delayMicrosMin() > 0 ? steps / 5 : delays() ? steps / 2 : steps;
  }

  /** Returns whether the devices may have caused an exception. */
  public boolean mayThrow(Throwable e) {
    return e instanceof StorageException s
            && (s.operation().equals("read") ? failsReads() : failsWrites())
        || e instanceof StorageFullException && failsWrites();
  }

  /** Returns whether writes of the data file fail. */
  public boolean failsWrites() {
    return manner.writeFails() > 0;
  }
}
