package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.InvalidUseException;
import io.fovea.schema.TableSpec;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A thread with an open pessimistic transaction runs others: they succeed, or are refused where
 * they would wait for it. None waits until its timeout.
 */
@Timeout(120)
class SelfWaitTest {
  private static final byte[] ONE = {1};
  private static final byte[] TWO = {2};
  private static final TxOptions TIMED = TxOptions.defaults().timeout(Duration.ofSeconds(5));
  private static final TxOptions PESSIMISTIC = TIMED.pessimisticAfterAborts(0);

  private interface Other {
    void on(Database db, Table<byte[], byte[]> t);
  }

  private static Map<String, Other> refused() {
    Map<String, Other> m = new LinkedHashMap<>();
    m.put("run", (db, t) -> db.run(TIMED, tx -> t.put(tx, ONE, new byte[9])));
    m.put("run ahead", (db, t) -> db.runPipelined(TIMED, tx -> t.put(tx, ONE, new byte[9])));
    m.put(
        "call",
        (db, t) ->
            db.call(
                TIMED,
                tx -> {
                  t.put(tx, ONE, new byte[9]);
                  return 1;
                }));
    m.put(
        "soon pessimistic",
        (db, t) -> db.run(TIMED.pessimisticAfterAborts(1), tx -> t.delete(tx, ONE)));
    m.put("pessimistic", (db, t) -> db.run(PESSIMISTIC, tx -> t.put(tx, ONE, new byte[9])));
    m.put(
        "submit",
        (db, t) -> {
          var stage = db.submit(TIMED, Runnable::run, tx -> t.delete(tx, ONE));
          try {
            stage.toCompletableFuture().join();
          } catch (java.util.concurrent.CompletionException e) {
            throw (RuntimeException) e.getCause();
          }
        });
    m.put("begin", (db, t) -> db.begin(PESSIMISTIC).close());
    return m;
  }

  @Test
  void selfWaitsAreRefused() {
    for (Map.Entry<String, Other> other : refused().entrySet()) {
      try (Database db = Database.inMemory(Options.defaults().bufferBytes(4 << 20))) {
        Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 10)).bytes();
        db.run(tx -> t.put(tx, ONE, new byte[1]));
        try (Transaction mine = db.begin(PESSIMISTIC)) {
          t.put(mine, ONE, new byte[2]);
          t.getForUpdate(mine, ONE);
          db.run(TIMED, tx -> t.put(tx, TWO, new byte[3]));
          assertEquals(1, db.<Integer, RuntimeException>read(tx -> t.get(tx, ONE).length));
          InvalidUseException e =
              assertThrows(
                  InvalidUseException.class, () -> other.getValue().on(db, t), other.getKey());
          assertTrue(e.getMessage().contains("waits for itself"), e.getMessage());
          mine.commit();
        }
        assertEquals(2, db.<Integer, RuntimeException>read(tx -> t.get(tx, ONE).length));
        if (other.getKey().equals("begin")) {
          other.getValue().on(db, t);
        } else {
          other.getValue().on(db, t); // succeeds if nothing blocks it
          assertTrue(
              db.<Boolean, RuntimeException>read(
                  tx -> !t.exists(tx, ONE) || t.get(tx, ONE).length == 9));
        }
        assertTrue(db.verify().ok());
      }
    }
  }
}
