package io.fovea.streams;

import io.fovea.ByteTable;
import io.fovea.Database;
import org.apache.kafka.streams.query.Position;
import org.jspecify.annotations.Nullable;

/**
 * A store at a moment, with its position then: what an interactive query reads.
 *
 * <p>What was pending is there for as long as the view is open, whatever is written or committed
 * later. The table is read as it is, and its generation checked: if rows have gone there meanwhile
 * the read throws {@link MovedException}, and the query begins anew. A view that is to live longer
 * is {@linkplain #pin pinned}: it reads a snapshot of the database from then on.
 *
 * <p>So neither does a query wait for the thread that writes, nor that thread for the query.
 *
 * <p>One thread at a time; {@link #close} in any.
 */
final class StoreView implements RowSource, AutoCloseable {
  private final StoreState state;
  private final PendingWrites pending;
  private final long number;
  private final int generation;
  private final long streamTime;
  private final Position position;
  private volatile @Nullable SharedSnapshot snapshot;
  private boolean closed;

  /** By the state, which holds its monitor. */
  StoreView(
      StoreState state, PendingWrites pending, int generation, long streamTime, Position position) {
    this.state = state;
    this.pending = pending;
    this.number = pending.number();
    this.generation = generation;
    this.streamTime = streamTime;
    this.position = position;
  }

  /** The table is not what it was any more. Has no stack trace: it is control flow. */
  static final class MovedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    MovedException() {
      super("The table has changed since the view was opened.", null, false, false);
    }
  }

  /** What the store had applied at that moment. */
  Position position() {
    return position;
  }

  /** Lets the view live on when the table changes. */
  void pin() {
    SharedSnapshot taken = state.snapshot();
    snapshot = taken;
    if (state.generation() != generation) {
      throw new MovedException();
    }
  }

  @Override
  public byte @Nullable [] get(byte[] key) {
    PendingWrites.Version v = pending.get(key, number);
    if (v != null) {
      return v.value;
    }
    byte[] row = state.stored(database(), table(), key);
    check();
    return row;
  }

  @Override
  public Page page(ByteInterval interval, boolean forward, int most) {
    Page page = state.page(database(), table(), interval, forward, most);
    check();
    return page;
  }

  private Database database() {
    SharedSnapshot s = snapshot;
    return s == null ? state.database() : s.database();
  }

  private ByteTable table() {
    SharedSnapshot s = snapshot;
    return s == null ? state.table() : s.table(state.tableSpec());
  }

  private void check() {
    if (snapshot == null && state.generation() != generation) {
      throw new MovedException();
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
    return generation;
  }

  @Override
  public long streamTime() {
    return streamTime;
  }

  @Override
  public long segmentMillis() {
    return state.segmentMillis();
  }

  @Override
  public void close() {
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
    }
    SharedSnapshot s = snapshot;
    if (s != null) {
      s.release();
    }
    state.closed(this);
  }
}
