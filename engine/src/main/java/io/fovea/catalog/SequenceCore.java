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
 * A sequence of an open database. All its handles share it.
 *
 * <pre>
 *   places   0 ........ given ........ calm ........ usable ........ reserved ........ count
 *            taken, each by one thread │              │               │
 *            ──────────────────────────┤ no look at anything else     │
 *                                      ├── the next block is asked for│
 *                                                     ├── waits until that is durable
 *                                                                     ├── waits until there is one
 * </pre>
 *
 * <p>Values are counted as places from 0 on: value = first + place * step. A thread takes a place
 * by one addition, and has it for good: what it can't be given then is skipped. The catalog has
 * {@link #reserved}: no place below that is given again after a crash, so a place is given once the
 * record that reserves it is durable. In the second half of a block one thread appends the record
 * of the next one, and waits for nobody: as a rule it is durable when its first value is needed.
 *
 * <p><b>The end.</b> {@link #readyLimit} becomes 0 before the places are counted that are given
 * back to the catalog. Both are volatile. So a thread that has taken a place after the count sees
 * 0, and is refused; one that has taken it before is counted.
 *
 * <p>Any thread. Order of locks: {@link #filling}, that of the schema, the monitor, under which
 * nothing waits.
 */
public final class SequenceCore {
  /** What can be done with it. */
  private enum State {
    /** A transaction has made it, and uses it. */
    NEW,
    /** It is in the catalog. */
    OPEN,
    /** It is not: of a transaction that did not commit. */
    NEVER,
    DROPPED,
    /** Another one has its name, which gives the values that are asked of this one. */
    ALTERED,
    CLOSED
  }

  private static final VarHandle GIVEN;

  static {
    try {
      GIVEN = MethodHandles.lookup().findVarHandle(SequenceCore.class, "given", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Store store;
  private final SchemaChanges changes;
  private final long first;
  private final long step;
  private final long count;

  /** As it was opened last: with that cache. */
  private volatile SequenceSpec spec;

  /** Places that were taken; more than there are, where threads found no more. */
  private volatile long given;

  /** Places below it are given at once. */
  private volatile long readyLimit;

  /** The one that has become of it, set before {@link #readyLimit} is 0 for good; else null. */
  private volatile @Nullable SequenceCore successor;

  /** Held by one thread that reserves places, and waits for that to be durable. */
  private final OperationLock filling = new OperationLock("the lock of a sequence");

  // Under the monitor.
  private State state;

  /** Places below it are reserved durably. */
  private long usable;

  /** Places below it are reserved: what the catalog has. */
  private long reserved;

  /** Up to where the log must be durable before {@link #reserved} is. */
  private long lsn;

  /** A transaction commits it as it is now: whoever wants more places comes too late. */
  private boolean frozen;

  /** One that the catalog has, or, with {@code reserved} below 0, one that a transaction makes. */
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
    this.given = this.reserved;
    this.readyLimit = this.reserved;
  }

  /** What it gives, and how many values are cached now. */
  public SequenceSpec spec() {
    return spec;
  }

  /** The same cache as whoever has opened it last. */
  synchronized void cached(int values) {
    spec = spec.cached(values);
  }

  /** It has another name from now on. */
  synchronized void rename(String name) {
    spec = spec.named(name);
  }

  /** What gives the values that are asked of it: another one, if it was altered. */
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

  /** The next value. */
  public long next() {
    long place = (long) GIVEN.getAndAdd(this, 1L);
    if (place >= readyLimit && !require(place + 1, 1)) {
      return latest().next();
    }
    return first + place * step;
  }

  /** The first of some values in a row. */
  public long next(int values) {
    while (true) {
      long place = given;
      if (place > count - values) {
        if (!isUsable()) {
          return latest().next(values);
        }
        throw exhausted(values);
      }
      if (GIVEN.compareAndSet(this, place, place + values)) {
        if (place + values > readyLimit && !require(place + values, values)) {
          return latest().next(values);
        }
        return first + place * step;
      }
    }
  }

  /** Gives no value below one any more. */
  public void skipTo(long value) {
    if (successor != null) {
      latest().skipTo(value);
      return;
    }
    long places = value <= first ? 0 : placesBelow(value);
    if (places > count) {
      throw new InvalidUseException(
          "Can't skip to " + value + ", which is above the last value of " + spec + ".");
    }
    long now = given;
    while (now < places && !GIVEN.compareAndSet(this, now, places)) {
      now = given;
    }
    if (!require(places, 0)) {
      latest().skipTo(value);
    }
  }

  /** How many values are below one, which is above the first: unsigned, since ranges are large. */
  private long placesBelow(long value) {
    long n = Long.divideUnsigned(value - first - 1, step);
    return n < 0 || n == Long.MAX_VALUE ? Long.MAX_VALUE : n + 1;
  }

  /** How many values are left. */
  public long left() {
    if (!isUsable()) {
      return latest().left();
    }
    return count - Math.min(given, count);
  }

  /** The value that is given next, unless there is none. */
  public long peek() {
    if (!isUsable()) {
      return latest().peek();
    }
    long place = given;
    if (place >= count) {
      throw exhausted(1);
    }
    return first + place * step;
  }

  private SequenceExhaustedException exhausted(long asked) {
    return new SequenceExhaustedException(
        spec.name(), spec.toString(), asked, count - Math.min(given, count));
  }

  // --------------------------------------------------------------------------------------- reserve

  /**
   * Returns when the places below {@code end} may be given. Seldom called.
   *
   * @return false if they may not, for it was altered
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

  /** Whether the transaction that makes it may use places: nothing is written before it commits. */
  private boolean isOwn(long end) {
    if (frozen && end > reserved) {
      throw new InvalidUseException(
          "Sequence "
              + NameText.of(spec.name())
              + " is of a transaction that is being committed: only its thread uses it before.");
    }
    return true;
  }

  /** False if it was altered; throws if it gives no values for another reason. */
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
                  + " was made by a transaction that did not commit. Open it again.");
      case DROPPED ->
          throw new InvalidUseException(
              "Sequence " + NameText.of(spec.name()) + " was dropped. Open it again.");
    }
    return true;
  }

  private boolean fill(long end) {
    String what = "reserve values of sequence " + NameText.of(spec.name());
    changes.lockGivingWay(filling, what);
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
        if (!changes.lockedGivingWay(what, () -> extend(end))) {
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

  private void usable(long places) {
    synchronized (this) {
      if (state == State.OPEN) {
        usable = Math.max(usable, places);
        setCalm(spec.cached() / 2);
      }
    }
  }

  /** Places are given at once, except for some before the end of what is usable. Monitor held. */
  private void setCalm(int before) {
    readyLimit = reserved > usable || usable == count ? usable : usable - Math.min(usable, before);
  }

  /** Reserves the next block if nobody is in the way; what fails is told to who needs it. */
  private void fillAhead() {
    if (!filling.tryLock("reserve values of a sequence")) {
      return;
    }
    try {
      long end;
      synchronized (this) {
        end = reserved == usable ? reserved : -1; // else somebody has come first
      }
      if (end >= 0 && changes.tryLocked("reserve values of a sequence", () -> extend(end + 1))) {
        long durable;
        synchronized (this) {
          durable = lsn;
          if (state == State.OPEN) {
            setCalm(0);
          }
        }
        store.requestDurable(durable);
      }
    } catch (DatabaseClosedException e) {
      throw e;
    } catch (FoveaException e) {
      synchronized (this) {
        if (state == State.OPEN) {
          readyLimit = usable; // not again for each value of this block
        }
      }
    } finally {
      filling.unlock();
    }
  }

  /** Under the lock of the schema; false if it was altered. */
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

  private byte[] record(long places) {
    return SequenceRecord.encode(spec, places);
  }

  // ------------------------------------------------------------------------------ comes and goes

  /** What the catalog gets under another name. Under the lock of the schema, as {@link #extend}. */
  byte[] named(String name) {
    synchronized (this) {
      return SequenceRecord.encode(spec.named(name), reserved);
    }
  }

  /** What the catalog gets when the transaction that has made it commits. */
  byte[] freeze() {
    synchronized (this) {
      frozen = true;
      long more = Math.min(count - Math.min(given, count), spec.cached());
      reserved = Math.min(given, count) + more;
      return record(reserved);
    }
  }

  /** The transaction has committed, up to a position of the log. */
  void publish(long committedLsn) {
    synchronized (this) {
      state = State.OPEN;
      lsn = committedLsn;
    }
  }

  /** The transaction has not committed. */
  void markRolledBack() {
    end(State.NEVER);
  }

  /** Another one gives the values that are asked of it; under the lock of the schema. */
  void alter(SequenceCore by) {
    successor = by;
    end(State.ALTERED);
  }

  /** It is not in the catalog any more; under the lock of the schema. */
  void drop() {
    synchronized (this) {
      if (state != State.ALTERED) {
        end(State.DROPPED);
      }
    }
  }

  /** The database closes. */
  void close() {
    synchronized (this) {
      if (state == State.OPEN || state == State.NEW) {
        end(State.CLOSED);
      }
    }
  }

  private void end(State as) {
    synchronized (this) {
      state = as;
      readyLimit = 0; // before the places are counted
    }
  }

  /**
   * Returns the record that gives unused values back to the catalog, or null if all reserved values
   * were used. Only after {@link #close}, under the schema lock: an open sequence would go on to
   * use values that the catalog no longer has as reserved.
   */
  byte @Nullable [] rest() {
    long places = Math.min(given, count);
    synchronized (this) {
      return places < reserved ? record(places) : null;
    }
  }
}
