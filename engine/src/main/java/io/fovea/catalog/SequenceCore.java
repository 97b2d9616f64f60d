package io.fovea.catalog;

import io.fovea.error.DatabaseClosedException;
import io.fovea.error.FoveaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.SequenceExhaustedException;
import io.fovea.memory.OperationLock;
import io.fovea.schema.NameText;
import io.fovea.schema.SequenceSpec;
import io.fovea.store.Store;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The shared state of an open sequence.
 *
 * <pre>
 *   numbers  0 ........ taken ....... readyLimit ...... usable ........ reserved ........ count
 *            taken, each by one thread │              │               │
 *            ──────────────────────────┤ no further check             │
 *                                      ├── the next block is requested│
 *                                                     ├── waits until that is durable
 *                                                                     ├── waits until there is one
 * </pre>
 *
 * <p>Values are numbered from 0: value = first + number * step. A thread takes a number by one
 * atomic addition; a number that it may not use is skipped. The catalog stores {@link #reserved}:
 * numbers below it are not used again after a crash, so a number may be used once the record that
 * reserves it is durable. In the second half of a block, one thread appends the record of the next
 * block without waiting; usually the record is durable before the first value of that block is
 * needed.
 *
 * <p><b>The end.</b> {@link #readyLimit} is set to 0 before the unused numbers are counted and
 * returned to the catalog. Both are volatile. A thread that takes a number after the count sees 0
 * and is refused; one that took it before is counted.
 *
 * <p>Thread-safe. Lock order: {@link #filling}, the schema lock, the monitor. No thread waits while
 * it holds the monitor.
 */
public final class SequenceCore {
  private enum State {
    /** Created by an active transaction, which may use it. */
    NEW,
    OPEN,
    /** Created by a transaction that did not commit. */
    NEVER,
    DROPPED,
    /** Replaced by {@link SequenceCore#successor}, which serves its requests. */
    ALTERED,
    CLOSED
  }

  private static final VarHandle TAKEN;

  static {
    try {
      TAKEN = MethodHandles.lookup().findVarHandle(SequenceCore.class, "taken", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Store store;
  private final SchemaChanges changes;
  private final long first;
  private final long step;
  private final long count;

  /** The specification, with the latest cache size. */
  private volatile SequenceSpec spec;

  /**
   * The quantity of numbers taken; exceeds the count if threads asked for more after the last one.
   */
  private volatile long taken;

  /** Numbers below it need no check. */
  private volatile long readyLimit;

  /** Set before {@link #readyLimit} becomes 0 permanently; null if not altered. */
  private volatile @Nullable SequenceCore successor;

  /** Held by a thread that reserves numbers, until the reservation is durable. */
  private final OperationLock filling = new OperationLock("the lock of a sequence");

  // Guarded by the monitor.
  private State state;

  /** Numbers below it are reserved durably. */
  private long usable;

  /** Numbers below it are reserved in the catalog. */
  private long reserved;

  /** The LSN up to which the log must be durable for {@link #reserved}. */
  private long lsn;

  /** Whether a commit has fixed the reserved numbers. */
  private boolean frozen;

  /** Creates a sequence; {@code reserved} is negative if a transaction creates it. */
  SequenceCore(Store store, SchemaChanges changes, SequenceSpec spec, long reserved) {
    this.store = store;
    this.changes = changes;
    this.spec = spec;
    this.first = spec.first();
    this.step = spec.step();
    this.count = spec.values();
    this.state = reserved < 0 ? State.NEW : State.OPEN;
    this.reserved = Math.max(0, reserved);
    this.usable = this.reserved;
    this.taken = this.reserved;
    this.readyLimit = this.reserved;
  }

  /** Returns the specification. */
  public SequenceSpec spec() {
    return spec;
  }

  synchronized void cached(int values) {
    spec = spec.cached(values);
  }

  synchronized void rename(String name) {
    spec = spec.named(name);
  }

  /** Returns the last successor, or this sequence if it was not altered. */
  public SequenceCore latest() {
    SequenceCore core = this;
    SequenceCore next = core.successor;
    while (next != null) {
      core = next;
      next = core.successor;
    }
    return core;
  }

  // ---------------------------------------------------------------------------------------- values

  /** Returns the next value. */
  public long next() {
    long ordinal = (long) TAKEN.getAndAdd(this, 1L);
    if (ordinal >= readyLimit && !require(ordinal + 1, 1)) {
      return latest().next();
    }
    return first + ordinal * step;
  }

  /** Returns the first of several consecutive values. */
  public long next(int values) {
    while (true) {
      long ordinal = taken;
      if (ordinal > count - values) {
        if (!isUsable()) {
          return latest().next(values);
        }
        throw exhausted(values);
      }
      if (TAKEN.compareAndSet(this, ordinal, ordinal + values)) {
        if (ordinal + values > readyLimit && !require(ordinal + values, values)) {
          return latest().next(values);
        }
        return first + ordinal * step;
      }
    }
  }

  /** Skips all values below the given one. */
  public void skipTo(long value) {
    if (successor != null) {
      latest().skipTo(value);
      return;
    }
    long position = value <= first ? 0 : valuesBelow(value);
    if (position > count) {
      throw new InvalidUseException(
          "Can't skip to " + value + ", which is above the last value of " + spec + ".");
    }
    long now = taken;
    while (now < position && !TAKEN.compareAndSet(this, now, position)) {
      now = taken;
    }
    if (!require(position, 0)) {
      latest().skipTo(value);
    }
  }

  /**
   * Returns the number of values below the given value, which is above the first; unsigned, because
   * ranges may be large.
   */
  private long valuesBelow(long value) {
    long n = Long.divideUnsigned(value - first - 1, step);
    return n < 0 || n == Long.MAX_VALUE ? Long.MAX_VALUE : n + 1;
  }

  /** Returns the number of values left. */
  public long left() {
    if (!isUsable()) {
      return latest().left();
    }
    return count - Math.min(taken, count);
  }

  /** Returns the next value without taking it. */
  public long peek() {
    if (!isUsable()) {
      return latest().peek();
    }
    long ordinal = taken;
    if (ordinal >= count) {
      throw exhausted(1);
    }
    return first + ordinal * step;
  }

  private SequenceExhaustedException exhausted(long asked) {
    return new SequenceExhaustedException(
        spec.name(), spec.toString(), asked, count - Math.min(taken, count));
  }

  // --------------------------------------------------------------------------------------- reserve

  /**
   * Waits until the numbers below {@code end} may be used; returns false if the sequence was
   * altered.
   */
  private boolean require(long end, int asked) {
    if (end > count) {
      if (!isUsable()) {
        return false;
      }
      throw exhausted(asked);
    }
    boolean ahead = false;
    boolean there;
    synchronized (this) {
      if (!isUsable()) {
        return false;
      }
      there = state == State.NEW ? isOwn(end) : end <= usable;
      ahead =
          there && state == State.OPEN && end > readyLimit && reserved == usable && usable < count;
    }
    if (!there) {
      return fill(end);
    }
    if (ahead) {
      fillAhead();
    }
    return true;
  }

  private boolean isOwn(long end) {
    if (frozen && end > reserved) {
      throw new InvalidUseException(
          "Sequence "
              + NameText.of(spec.name())
              + " was created by a transaction that is being committed. Until "
              + "then, only its thread can use the sequence.");
    }
    return true;
  }

  /** Returns false if the sequence was altered; throws if it is unusable for another reason. */
  private synchronized boolean isUsable() {
    switch (state) {
      case ALTERED -> {
        return false;
      }
      case NEW, OPEN -> store.requireServing();
      case CLOSED -> throw store.closedException();
      case NEVER ->
          throw new InvalidUseException(
              "Sequence "
                  + NameText.of(spec.name())
                  + " was created by a transaction that did not commit. Open it again.");
      case DROPPED ->
          throw new InvalidUseException(
              "Sequence " + NameText.of(spec.name()) + " was dropped. Open it again.");
    }
    return true;
  }

  private boolean fill(long end) {
    String what = "reserve values of sequence " + NameText.of(spec.name());
    changes.lockWithTimeout(filling, what);
    try {
      long there;
      long durable;
      synchronized (this) {
        if (!isUsable()) {
          return false;
        }
        there = reserved;
        durable = lsn;
      }
      if (there < end) {
        if (!changes.lockedWithTimeout(what, () -> extend(end))) {
          return false;
        }
        synchronized (this) {
          there = reserved;
          durable = lsn;
        }
      }
      store.awaitDurable(durable);
      usable(there);
      return true;
    } finally {
      filling.unlock();
    }
  }

  private synchronized void usable(long position) {
    if (state == State.OPEN) {
      usable = Math.max(usable, position);
      setReadyLimit(spec.cached() / 2);
    }
  }

  /**
   * Sets {@link #readyLimit} to the given distance before the end of the usable numbers. Requires
   * the monitor.
   */
  private void setReadyLimit(int before) {
    readyLimit = reserved > usable || usable == count ? usable : usable - Math.min(usable, before);
  }

  /**
   * Reserves the next block unless another thread is doing so. A failure is left to the thread that
   * needs the block.
   */
  private void fillAhead() {
    if (!filling.tryLock("reserve values of a sequence")) {
      return;
    }
    try {
      long end;
      synchronized (this) {
        end = reserved == usable ? reserved : -1; // otherwise another thread has reserved it
      }
      if (end >= 0 && changes.tryLocked("reserve values of a sequence", () -> extend(end + 1))) {
        long durable;
        synchronized (this) {
          durable = lsn;
          if (state == State.OPEN) {
            setReadyLimit(0);
          }
        }
        store.requestDurable(durable);
      }
    } catch (DatabaseClosedException e) {
      throw e;
    } catch (FoveaException e) {
      synchronized (this) {
        if (state == State.OPEN) {
          readyLimit = usable; // do not retry for each value of this block
        }
      }
    } finally {
      filling.unlock();
    }
  }

  /** Requires the schema lock; returns false if the sequence was altered. */
  private boolean extend(long end) {
    if (!isUsable()) {
      return false;
    }
    store.willWrite();
    store.engine().checkUsable(false);
    long more = Math.min(count - end, spec.cached() - 1);
    long to = end + more;
    CatalogChange change = new CatalogChange(store).put(SequenceRecord.key(spec), record(to));
    long durable =
        change.run(
            () -> {
              synchronized (this) {
                reserved = to;
              }
            });
    synchronized (this) {
      lsn = durable;
    }
    return true;
  }

  private byte[] record(long position) {
    return SequenceRecord.encode(spec, position);
  }

  // ------------------------------------------------------------------------------ comes and goes

  /**
   * Returns the catalog record under another name. Requires the schema lock, as {@link #extend}
   * does.
   */
  synchronized byte[] named(String name) {
    return SequenceRecord.encode(spec.named(name), reserved);
  }

  /**
   * Fixes the reserved numbers; returns the catalog record for the commit of the transaction that
   * created the sequence.
   */
  synchronized byte[] freeze() {
    frozen = true;
    long more = Math.min(count - Math.min(taken, count), spec.cached());
    reserved = Math.min(taken, count) + more;
    return record(reserved);
  }

  synchronized void publish(long committedLsn) {
    state = State.OPEN;
    lsn = committedLsn;
  }

  void markRolledBack() {
    end(State.NEVER);
  }

  /** Replaces the sequence by a successor. Requires the schema lock. */
  void alter(SequenceCore by) {
    successor = by;
    end(State.ALTERED);
  }

  /** Requires the schema lock. */
  synchronized void drop() {
    if (state != State.ALTERED) {
      end(State.DROPPED);
    }
  }

  synchronized void close() {
    if (state == State.OPEN || state == State.NEW) {
      end(State.CLOSED);
    }
  }

  private synchronized void end(State as) {
    state = as;
    readyLimit = 0; // before the numbers are counted
  }

  /**
   * Returns the record that returns unused values to the catalog, or null if there are none. Call
   * this only after {@link #close}, under the schema lock: an open sequence could still use the
   * values.
   */
  byte @Nullable [] unusedRecord() {
    long position = Math.min(taken, count);
    synchronized (this) {
      return position < reserved ? record(position) : null;
    }
  }
}
