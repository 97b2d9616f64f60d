package io.fovea.replication;

import io.fovea.Cursor;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Submitted requests and their outcomes. They are tables of the database, so that they survive
 * crashes and changes of leaders, and are part of copies.
 *
 * <pre>
 *   fovea.sessions        client (16), sequence (8)  →  outcome
 *   fovea.sessions.order  index (8)                  →  client, sequence, clock (8)
 * </pre>
 *
 * <p>Why a retry is never applied twice: let a request be applied first by entry j. It was created
 * when {@code since} was applied, and later entries have higher indexes: since &lt; j. Let f be the
 * highest index whose outcome was forgotten. A retry with since &lt; f is refused as expired. Any
 * other has f &lt;= since &lt; j, so its outcome is kept, and is found. Forgetting depends on the
 * entries alone, including the clocks that leaders stamped on them. So each replica decides the
 * same, and a leader with another window does not change the argument. An outcome is kept until
 * both windows have passed, the one in entries and the one in time. A clock that jumps ahead
 * shortens the second window once, and never the first.
 */
final class Sessions {
  private static final int KEY_BYTES = 24;
  private static final TableSpec OUTCOMES = TableSpec.bytes("fovea.sessions", KEY_BYTES);
  private static final TableSpec ORDER = TableSpec.bytes("fovea.sessions.order", 8);

  /** Outcomes are forgotten in groups: one search for the oldest per this many entries. */
  private static final int EXPIRE_EVERY = 64;

  private Sessions() {}

  static @Nullable Outcome find(Transaction tx, RequestId id) {
    byte[] outcome = tx.table(OUTCOMES).bytes().get(tx, key(id));
    return outcome == null ? null : Outcome.of(outcome);
  }

  /**
   * Like {@link #find}, for read-only transactions; also null if the database has no sessions yet.
   */
  static @Nullable Outcome look(Transaction tx, RequestId id) {
    return tx.tables().contains(OUTCOMES.name()) ? find(tx, id) : null;
  }

  static void record(Transaction tx, RequestId id, Outcome outcome, long clockMillis) {
    byte[] key = key(id);
    tx.table(OUTCOMES).bytes().insert(tx, key, outcome.toBytes());
    byte[] value = ByteBuffer.allocate(KEY_BYTES + 8).put(key).putLong(clockMillis).array();
    tx.table(ORDER).bytes().insert(tx, index(outcome.index()), value);
  }

  /**
   * Forgets outcomes older than both windows.
   *
   * @param entry the entry being applied, with the windows and the clock
   * @param forgotten the highest index forgotten so far
   * @return the highest index that is forgotten now
   */
  static long expire(Transaction tx, long index, Entry entry, long forgotten) {
    long last = index - entry.window() - 1;
    if (index % EXPIRE_EVERY != 0 || last <= forgotten) {
      return forgotten;
    }
    Table<byte[], byte[]> order = tx.table(ORDER).bytes();
    Table<byte[], byte[]> outcomes = tx.table(OUTCOMES).bytes();
    List<byte[]> old = new ArrayList<>();
    try (Cursor<byte[], byte[]> c = order.scan(tx, null, index(last + 1), ScanOrder.ASCENDING)) {
      // More than one group can add, so that a shortened window is reached too.
      while (old.size() < 4 * EXPIRE_EVERY && c.next()) {
        ByteBuffer value = ByteBuffer.wrap(c.value());
        boolean dated = value.remaining() > KEY_BYTES; // earlier versions wrote no clock
        if (dated && entry.clockMillis() - value.getLong(KEY_BYTES) < entry.windowMillis()) {
          last = ByteBuffer.wrap(c.key()).getLong() - 1; // all before it are forgotten
          break;
        }
        old.add(c.key());
        outcomes.delete(tx, Arrays.copyOf(c.value(), KEY_BYTES));
      }
    }
    for (byte[] key : old) {
      order.delete(tx, key);
    }
    return old.size() < 4 * EXPIRE_EVERY
        ? Math.max(forgotten, last)
        : ByteBuffer.wrap(old.getLast()).getLong();
  }

  private static byte[] key(RequestId id) {
    return ByteBuffer.allocate(24)
        .putLong(id.client().getMostSignificantBits())
        .putLong(id.client().getLeastSignificantBits())
        .putLong(id.sequence())
        .array();
  }

  private static byte[] index(long index) {
    return ByteBuffer.allocate(8).putLong(index).array();
  }
}
