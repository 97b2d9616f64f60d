package io.fovea.replication;

import io.fovea.ByteCursor;
import io.fovea.ByteTable;
import io.fovea.Order;
import io.fovea.Transaction;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What was submitted, and what became of it: tables of the database, so that they are there after a
 * crash, after a change of leaders and in a copy.
 *
 * <pre>
 *   fovea.sessions        client (16), sequence (8)  →  outcome
 *   fovea.sessions.order  index (8)                  →  client, sequence
 * </pre>
 *
 * <p>Why a retry is never applied twice: let a request be applied first by entry j. It was made
 * when {@code since} was applied, which is below the index of any entry that was appended later:
 * since &lt; j. Let f be the highest index whose outcome was forgotten. A retry with since &lt; f
 * is refused as expired. Any other has f &lt;= since &lt; j, so its outcome is kept, and is found.
 * What is forgotten follows from entries alone, so each replica decides alike, and a leader with
 * another window changes nothing of it.
 */
final class Sessions {
  private static final TableSpec OUTCOMES = TableSpec.bytes("fovea.sessions", 24);
  private static final TableSpec ORDER = TableSpec.bytes("fovea.sessions.order", 8);

  /** Outcomes are forgotten in groups: one search of the oldest for so many entries. */
  private static final int EXPIRE_EVERY = 64;

  private Sessions() {}

  static @Nullable Outcome find(Transaction tx, RequestId id) {
    byte[] outcome = tx.table(OUTCOMES).bytes().get(tx, key(id));
    return outcome == null ? null : Outcome.of(outcome);
  }

  /** Null if there is none, or the database has no sessions yet; for a transaction that reads. */
  static @Nullable Outcome look(Transaction tx, RequestId id) {
    return tx.tables().contains(OUTCOMES.name()) ? find(tx, id) : null;
  }

  static void record(Transaction tx, RequestId id, Outcome outcome) {
    byte[] key = key(id);
    tx.table(OUTCOMES).bytes().insert(tx, key, outcome.toBytes());
    tx.table(ORDER).bytes().insert(tx, index(outcome.index()), key);
  }

  /**
   * Forgets what is older than the window.
   *
   * @param forgotten the highest index that was forgotten
   * @return the highest index that is forgotten now
   */
  static long expire(Transaction tx, long index, long window, long forgotten) {
    long last = index - window - 1;
    if (index % EXPIRE_EVERY != 0 || last <= forgotten) {
      return forgotten;
    }
    ByteTable order = tx.table(ORDER).bytes();
    ByteTable outcomes = tx.table(OUTCOMES).bytes();
    List<byte[]> old = new ArrayList<>();
    try (ByteCursor c = order.scan(tx, null, index(last + 1), Order.ASCENDING)) {
      // More than can come within a group, so that a shorter window is reached as well.
      while (old.size() < 4 * EXPIRE_EVERY && c.next()) {
        old.add(c.key());
        outcomes.delete(tx, c.value());
      }
    }
    for (byte[] key : old) {
      order.delete(tx, key);
    }
    return old.size() < 4 * EXPIRE_EVERY ? last : ByteBuffer.wrap(old.getLast()).getLong();
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
