package io.fovea.streams;

import io.fovea.error.FoveaException;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.query.Position;
import org.jspecify.annotations.Nullable;

/**
 * A store as it is when the view is created: what an iterator and an interactive query read.
 *
 * <pre>
 *   pending writes up to a number     kept for as long as the view is open
 *   over the table                    until rows are about to go there, then
 *   or a snapshot of the database     which the writer opens before they do
 * </pre>
 *
 * <p>A view costs an object while nothing is committed. A commit or spill that finds views open
 * first gives each of them a snapshot ({@link #keep}), one for all views that have none. So readers
 * never block the writer, and the writer never invalidates a reader.
 *
 * <p><b>Why a read is correct.</b> The writer sets {@code snapshot} (volatile) before it begins the
 * transaction that changes the table. A reader looks at {@code snapshot}, reads the table in a
 * transaction, and looks again. If its transaction has seen a change of the writer's, the writer's
 * commit precedes it, hence the assignment does, and the second look finds the snapshot: the reader
 * discards the rows and reads them from there. If the second look finds none, the table was the one
 * of the view's creation.
 *
 * <p>A view that is created while rows go to the table gets no snapshot from that commit and needs
 * none: it holds the pending writes that the commit copies, all of them, since the thread that
 * commits does not write meanwhile. They hide each row that the commit changes. What a commit cuts
 * off has expired at the view's stream time.
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

  /** By the state, which holds its monitor. */
  StoreView(StoreState state, PendingWrites pending, long streamTime, @Nullable Position position) {
    this.state = state;
    this.pending = pending;
    this.number = pending.number();
    this.streamTime = streamTime;
    this.position = position;
  }

  /** What the store had applied at that time; only of a query's view. */
  Position position() {
    return Objects.requireNonNull(position);
  }

  /** Rows are about to go to the table: reads from a snapshot from now on. By the writer. */
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
    return 0; // a page stays what it is
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
