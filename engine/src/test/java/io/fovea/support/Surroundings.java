package io.fovea.support;

import io.fovea.error.FoveaException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.txn.FaultInjection;
import java.util.function.Supplier;

/**
 * In what the models have to prove true: how large the pool is, what the devices are like, and what
 * becomes of hints.
 *
 * <p>{@code -Dmodels.times=N} does everything N times, from seeds that follow each other; {@code
 * -Dmodels.seed=N} begins with another one.
 */
public enum Surroundings {
  /** As the engine likes it. */
  PLAIN(false, 4096, Manner.SMOOTH),
  /** Nothing is remembered. */
  WITHOUT_HINTS(true, 4096, Manner.SMOOTH, false, false),
  /** All frames that are remembered are made up. */
  POISONED_HINTS(true, 4096, Manner.SMOOTH, true, true),
  /** The same where nothing leaves the pool. */
  POISONED_IN_MEMORY(false, 4096, Manner.SMOOTH, true, true),
  /** The smallest pool that is accepted. */
  SMALLEST_POOL(true, 4096, Manner.SMOOTH),
  /** The same with large pages. */
  LARGE_PAGES(true, 16384, Manner.SMOOTH),
  /** Devices that take their time. */
  SLOW(true, 4096, Manner.SLOW),
  /** Devices that end operations in any order. */
  SHUFFLED(false, 4096, Manner.SHUFFLED),
  /** The same, with the smallest pool. */
  SMALLEST_AND_SHUFFLED(true, 4096, Manner.SHUFFLED),
  /** Reads fail now and then. */
  FAILING_READS(true, 4096, Manner.SMOOTH.failingReads(0.01)),
  /** Writes of the data file fail now and then. */
  FAILING_WRITES(true, 4096, Manner.SMOOTH.failingWrites(0.05)),
  /** All of it at once. */
  EVERYTHING(true, 4096, Manner.SHUFFLED.failingReads(0.01).failingWrites(0.05));

  private static final int TIMES = Integer.getInteger("models.times", 1);
  private static final StackWalker CALLER =
      StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
  private static final int ATTEMPTS_MAX = 1000;
  private static final long SEED = Long.getLong("models.seed", 1);

  private final boolean smallest;
  private final int pageSize;
  private final Manner manner;
  private final boolean hints;
  private final boolean wrongHints;

  Surroundings(boolean smallest, int pageSize, Manner manner) {
    this(smallest, pageSize, manner, true, false);
  }

  Surroundings(boolean smallest, int pageSize, Manner manner, boolean hints, boolean wrongHints) {
    this.smallest = smallest;
    this.pageSize = pageSize;
    this.manner = manner;
    this.hints = hints;
    this.wrongHints = wrongHints;
  }

  /** Something that is done in some surroundings. */
  public interface Body {
    /**
     * Does it.
     *
     * @param roughness of the devices
     * @param seed of everything else
     */
    void run(Roughness roughness, long seed) throws Exception;
  }

  /**
   * Does something with one seed after the other; what fails says with which.
   *
   * @param seeds how many; a single one where everything takes time
   */
  public void each(int seeds, Body body) {
    String test = CALLER.getCallerClass().getSimpleName();
    long end = SEED + (long) TIMES * (delays() ? 1 : seeds);
    for (long seed = SEED; seed < end; seed++) {
      Roughness roughness = roughness(seed);
      try {
        body.run(roughness, seed);
      } catch (Throwable e) {
        throw new AssertionError(
            this
                + ", "
                + roughness
                + ". Replay: mvn -pl engine -am test -Dtest="
                + test
                + " -Dmodels.seed="
                + seed,
            e);
      }
    }
  }

  /** What the devices are like. */
  public Roughness roughness(long seed) {
    return new Roughness(manner, seed);
  }

  /** Does something until it succeeds, as long as what it throws is what devices may lead to. */
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

  /** Whether the pool is to be the smallest that is accepted. */
  public boolean smallest() {
    return smallest;
  }

  /** The size of a page, in bytes. */
  public int pageSize() {
    return pageSize;
  }

  /** Whether there are hints. */
  public boolean hints() {
    return hints;
  }

  /** Whether those that there are are made up. */
  public boolean wrongHints() {
    return wrongHints;
  }

  /** Makes a pool, or what has one, whose hints are as they are here. */
  public <R> R making(Supplier<R> what) {
    return wrongHints ? FaultInjection.wrongFrameHints(what) : what.get();
  }

  /** Whether reads fail. */
  public boolean failsReads() {
    return manner.readFails() > 0;
  }

  /** Whether anything takes time. */
  public boolean delays() {
    return manner.delayMicrosMax() > 0;
  }

  /** How many steps take about as long here as so many where nothing takes time. */
  public int steps(int steps) {
    return manner.delayMicrosMin() > 0 ? steps / 5 : delays() ? steps / 2 : steps;
  }

  /** Whether an exception is one that the devices may have led to. */
  public boolean mayThrow(Throwable e) {
    return e instanceof StorageException s
            && (s.operation().equals("read") ? failsReads() : failsWrites())
        || e instanceof StorageFullException && failsWrites();
  }

  /** Whether writes of the data file fail. */
  public boolean failsWrites() {
    return manner.writeFails() > 0;
  }
}
