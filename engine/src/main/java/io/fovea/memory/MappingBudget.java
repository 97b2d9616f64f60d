package io.fovea.memory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A limit on the mappings used for {@link Rewiring}. The kernel limits the mappings of a process
 * ({@link #mappingsMax}), and a JVM that cannot get one for a stack or its heap terminates. So
 * rewiring stays far below that limit, and is skipped where it would exceed its budget.
 *
 * <p>Safe for use by any thread.
 *
 * @since 0.1.0
 */
public final class MappingBudget {
  /** The limit, even if the kernel allows more. */
  static final int LIMIT = 50_000;

  /** The kernel's limit divided by this is the share of this process's databases. */
  private static final int SHARE_ONE_IN = 4;

  /** The kernel's limit if it is not known: the default of Linux. */
  private static final int MAPPINGS_MAX = 65_530;

  private static final System.Logger LOG = System.getLogger("io.fovea");

  private final int limit;
  private final AtomicInteger used = new AtomicInteger();

  /**
   * Creates a separate budget.
   *
   * @param limit mappings
   */
  public MappingBudget(int limit) {
    if (limit < 0) {
      throw new IllegalArgumentException(
          "A mapping budget must not be negative: " + limit + " mappings.");
    }
    this.limit = limit;
  }

  /**
   * Returns the budget that all databases of this process share: a quarter of the number that the
   * kernel allows, but at most 50,000.
   *
   * @return the same budget each time
   */
  public static MappingBudget ofProcess() {
    return Process.BUDGET;
  }

  /** Initialized lazily. It counts mappings of the process, so it outlives databases. */
  private static final class Process {
    static final MappingBudget BUDGET =
        new MappingBudget(Math.min(LIMIT, mappingsMax() / SHARE_ONE_IN));

    private Process() {}
  }

  /**
   * Returns how many mappings the kernel allows a process: {@code vm.max_map_count}. A JVM that
   * needs another terminates.
   *
   * @return mappings; 65,530, the default of Linux, if not known
   */
  public static int mappingsMax() {
    Path file = Path.of("/proc/sys/vm/max_map_count");
    try {
      // Not readString, which reads one byte first: the kernel then reports the end of the file.
      String line = Files.readAllLines(file).getFirst();
      return (int) Math.min(Integer.MAX_VALUE, Long.parseLong(line.trim()));
    } catch (IOException | RuntimeException e) {
      LOG.log(System.Logger.Level.TRACE, file.toString(), e);
      return MAPPINGS_MAX;
    }
  }

  /**
   * Takes mappings.
   *
   * @param mappings the number; a negative number returns mappings
   * @return whether enough were left; if not, nothing was taken
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

  /** Returns the number of mappings in use. */
  public int used() {
    return used.get();
  }

  /** Returns the maximum number of mappings. */
  public int limit() {
    return limit;
  }

  @Override
  public String toString() {
    return used.get() + " of " + limit + " mappings";
  }
}
