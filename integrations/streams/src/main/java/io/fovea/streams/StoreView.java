package io.fovea.streams;

import io.fovea.error.FoveaException;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.query.Position;
import org.jspecify.annotations.Nullable;

/**
 * An immutable view of a store, for an iterator or an interactive query.
 *
 * <pre>
 *   pending writes up to a number     kept for as long as the view is open
 *   over the table                    until rows are about to go there, then
 *   or a snapshot of the database     which the writer opens before they do
 * </pre>
 *
 * <p>A view costs one object while nothing is committed. A commit or spill first gives all open
 * views without a snapshot a shared one ({@link #keep}). So readers never block the writer, and the
 * writer never invalidates a reader.
 *
 * <p><b>Why a read is correct.</b> The writer sets {@code snapshot} (volatile) before it begins the
 * transaction that changes the table. A reader checks {@code snapshot}, reads the table in a
 * transaction, and checks again. If its transaction has seen one of the writer's changes, the
 * writer's commit precedes it, and so does the assignment: the second check finds the snapshot, and
 * the reader discards the rows and reads them from there. If the second check finds none, the table
 * was the one of the view's creation.
 *
 * <p>A view that is created while rows go to the table gets no snapshot from that commit and needs
 * none. It holds all pending writes that the commit copies, because the thread that commits does
 * not write meanwhile, and they hide each row that the commit changes. Rows that a commit deletes
 * have expired at the view's stream time.
 *
 * <p>One thread at a time reads; any thread closes.
 */
final class StoreView implements RowSource, AutoCloseable {
  private final StoreState state;
  private final PendingWrites pending;
  private final long number;
  private final long streamTime;
  private final @Nullable Position position;
  private volatile @Nullable SharedSnapshot snapshot;
  private boolean closed;

  /** Called under the monitor of the state. */
  StoreView(StoreState state, PendingWrites pending, long streamTime, @Nullable Position position) {
    this.state = state;
    this.pending = pending;
    this.number = pending.number();
    this.streamTime = streamTime;
    this.position = position;
  }

  /** Returns the position at the view's creation; only for views of queries. */
  Position position() {
    return Objects.requireNonNull(position);
  }

  /** Makes the view read from a snapshot. Called by the writer before rows go to the table. */
  synchronized void keep(Supplier<SharedSnapshot> snapshots) {
    if (!closed && snapshot == null) {
      try {
        snapshot = snapshots.get();
      } catch (FoveaException e) {
        snapshot = SharedSnapshot.failed(e); // the iterator fails, not the commit
      }
    }
  }

  @Override
  public byte @Nullable [] get(byte[] key) {
    PendingWrites.Version v = pending.get(key, number);
    return v != null
        ? v.value
        : this.<byte @Nullable []>read(table -> StoreState.stored(table, key));
  }

  @Override
  public Page page(ByteInterval interval, boolean forward, int most) {
    return read(table -> StoreState.page(table, interval, forward, most));
  }

  private <R> R read(Function<RowTable, R> how) {
    if (snapshot == null) {
      R result = how.apply(state.table());
      if (snapshot == null) {
        return result;
      }
    }
    SharedSnapshot s = Objects.requireNonNull(snapshot);
    try {
      return how.apply(s.table(state.table()));
    } catch (FoveaException e) {
      if (s.isEvicted()) {
        throw s.lost(e);
      }
      if (isClosed()) {
        throw new InvalidStateStoreException("Store " + state.name() + " was closed.", e);
      }
      throw e;
    }
  }

  @Override
  public PendingWrites pending() {
    return pending;
  }

  @Override
  public long number() {
    return number;
  }

  @Override
  public int generation() {
    return 0; // pages of a view never change
  }

  @Override
  public long streamTime() {
    return streamTime;
  }

  @Override
  public long segmentMillis() {
    return state.segmentMillis();
  }

  private synchronized boolean isClosed() {
    return closed;
  }

  @Override
  public void close() {
    SharedSnapshot s;
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
      s = snapshot;
    }
    state.closed(this);
    if (s != null) {
      s.release();
    }
  }
}
