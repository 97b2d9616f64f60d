package io.fovea.memory;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * How many mappings may be used for {@link Rewiring}. The kernel allows a process so many ({@link
 * KernelFacts#mappingsMax}), and a JVM that does not get one for a stack or its heap ends: so
 * rewiring stays far below, and does without where it would exceed its budget.
 *
 * <p>Any thread.
 *
 * @since 0.1.0
 */
public final class MappingBudget {
  /** Never more than this, however many the kernel allows. */
  static final int LIMIT = 50_000;

  /** What the databases of this process share: one in so many of what the kernel allows. */
  private static final int SHARE_ONE_IN = 4;

  private final int limit;
  private final AtomicInteger used = new AtomicInteger();

  /**
   * A budget of its own.
   *
   * @param limit mappings
   */
  public MappingBudget(int limit) {
    if (limit < 0) {
      throw new IllegalArgumentException("A budget of " + limit + " mappings.");
    }
    this.limit = limit;
  }

  /**
   * The one that all databases of this process share: a quarter of what the kernel allows, and
   * 50,000 at most.
   *
   * @return the same each time
   */
  public static MappingBudget ofProcess() {
    return Process.BUDGET;
  }

  /**
   * Made when it is asked for first. It counts mappings of the process, so it outlives databases.
   */
  private static final class Process {
    static final MappingBudget BUDGET =
        new MappingBudget(Math.min(LIMIT, KernelFacts.mappingsMax() / SHARE_ONE_IN));

    private Process() {}
  }

  /**
   * Takes some.
   *
   * @param mappings how many; fewer than 0 gives some back
   * @return whether there were so many left; if not, nothing was taken
   */
  boolean take(int mappings) {
    int before = used.get();
    while (mappings <= 0 || mappings <= limit - before) {
      int after = before + mappings;
      if (used.compareAndSet(before, after)) {
        return true;
      }
      before = used.get();
    }
    return false;
  }

  /**
   * How many are in use.
   *
   * @return mappings
   */
  public int used() {
    return used.get();
  }

  /**
   * How many there may be.
   *
   * @return mappings
   */
  public int limit() {
    return limit;
  }

  @Override
  public String toString() {
    return used.get() + " of " + limit + " mappings";
  }
}
