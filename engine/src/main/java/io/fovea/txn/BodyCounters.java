package io.fovea.txn;

import io.fovea.error.AbortCause;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Counts the runs and aborted attempts of transaction bodies by name, for the first {@value #NAMES}
 * names. Further names are counted together as {@value #OTHER}, as are the aborted attempts of
 * bodies without a name. The runs of the latter are not counted, so that they cost nothing.
 *
 * <p>Thread-safe. Counters are striped: threads that run the same body update separate cells.
 * Counting allocates nothing, except for the first run of a name and for the cells, which
 * contention creates, at most one per counter and processor.
 *
 * <p>Visibility: each update is an atomic operation on a volatile cell, and cells are published by
 * volatile stores, so that no update is lost. A reader sees all updates that happen before its
 * read: after the threads that ran bodies were joined, all figures are exact. While bodies run, the
 * figures of a body are read one after another and may differ by the runs that end in between.
 */
public final class BodyCounters {
  /** The maximum number of names. */
  static final int NAMES = 64;

  /** The name under which all other bodies are counted. */
  public static final String OTHER = "other";

  /** The counters of one name. */
  public static final class Body {
    private final LongAdder runs = new LongAdder();
    private final LongAdder nanos = new LongAdder();
    private final LongAccumulator maxNanos = new LongAccumulator(Math::max, 0);
    private final LongAdder retries = new LongAdder();
    private final LongAdder[] aborts = new LongAdder[AbortCause.values().length];

    private Body() {
      for (int i = 0; i < aborts.length; i++) {
        aborts[i] = new LongAdder();
      }
    }

    /** Counts a run that has ended, successfully or not. */
    public void ended(long took) {
      nanos.add(took);
      maxNanos.accumulate(took);
      runs.increment();
    }

    /** Counts an aborted attempt. */
    public void aborted(AbortCause cause, boolean retried) {
      aborts[cause.ordinal()].increment();
      if (retried) {
        retries.increment();
      }
    }

    /** Returns the number of runs that have ended. */
    public long runs() {
      return runs.sum();
    }

    /** Returns the duration of all runs. */
    public long nanos() {
      return nanos.sum();
    }

    /** Returns the duration of the longest run. */
    public long maxNanos() {
      return maxNanos.get();
    }

    /** Returns the number of aborted attempts that were retried. */
    public long retries() {
      return retries.sum();
    }

    /** Returns the number of attempts that were aborted for a cause. */
    public long aborts(AbortCause cause) {
      return aborts[cause.ordinal()].sum();
    }
  }

  private final ConcurrentHashMap<String, Body> bodies = new ConcurrentHashMap<>();
  private final Body other = new Body();
  private final AtomicInteger names = new AtomicInteger();

  /** Creates counters without names. */
  public BodyCounters() {
    bodies.put(OTHER, other);
  }

  /** Returns the counters of a name, which may be null. */
  public Body of(@Nullable String name) {
    if (name == null) {
      return other;
    }
    Body body = bodies.get(name);
    if (body == null && names.get() < NAMES) {
      body = bodies.computeIfAbsent(name, n -> takeName() ? new Body() : null);
    }
    return body == null ? other : body;
  }

  private boolean takeName() {
    return names.getAndUpdate(n -> Math.min(n + 1, NAMES)) < NAMES;
  }

  /** Returns the number of retries of all bodies. */
  public long retries() {
    return bodies.values().stream().mapToLong(Body::retries).sum();
  }

  /** Returns the counters by name, in order of names. */
  public Map<String, Body> byName() {
    return new TreeMap<>(bodies);
  }
}
