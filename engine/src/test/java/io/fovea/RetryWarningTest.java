package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.AbortCause;
import io.fovea.schema.TableSpec;
import io.fovea.support.Logged;
import io.fovea.txn.RetryWarning;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Endless retries are logged once. */
@Isolated("reads the log messages of all databases")
class RetryWarningTest {
  @Test
  void repeatedlyRetriedWorkIsLogged() {
    List<String> lines =
        Logged.warnings(
            () -> {
              RetryWarning warning = new RetryWarning();
              Task<RuntimeException> body = tx -> {};
              for (int attempts = 1; attempts <= 64; attempts++) {
                warning.aborted(null, body, attempts, AbortCause.LOCK);
              }
            });
    assertEquals(1, lines.size(), lines.toString());
    assertTrue(lines.get(0).contains(RetryWarningTest.class.getName()), lines.get(0));
    assertTrue(lines.get(0).contains("16 times"), lines.get(0));
  }

  @Test
  void theNameOfTheWorkIsLogged() {
    TxOptions named = TxOptions.defaults().name("transfer");
    assertEquals("transfer", named.attemptsMax(20).joining().readOnly(true).name());
    assertTrue(named.toString().contains("name=transfer"), named.toString());
    assertNull(TxOptions.defaults().name());
    assertThrows(IllegalArgumentException.class, () -> TxOptions.defaults().name(" "));
    List<BiConsumer<Database, Task<RuntimeException>>> forms =
        List.of(
            (db, body) -> db.run("transfer", body),
            (db, body) -> db.run(named, body),
            (db, body) ->
                db.call(
                    "transfer",
                    tx -> {
                      body.run(tx);
                      return 1;
                    }));
    for (BiConsumer<Database, Task<RuntimeException>> form : forms) {
      assertNamed((db, t) -> form.accept(db, tx -> t.put(tx, ONE, conflict(db, t, tx))));
    }
    assertNamed(
        (db, t) ->
            db.read(
                "transfer",
                tx -> {
                  byte[] one = conflict(db, t, tx);
                  return one == t.get(tx, TWO);
                }));
  }

  private static final byte[] ONE = {1};
  private static final byte[] TWO = {2};

  /** Reads a record; in the first attempts another transaction changes it afterwards. */
  private static byte[] conflict(Database db, Table<byte[], byte[]> t, Transaction tx) {
    t.get(tx, ONE);
    if (tx.attempt() <= 16) {
      CompletableFuture.runAsync(
              () ->
                  db.run(
                      x -> {
                        t.put(x, ONE, ONE);
                        t.put(x, TWO, ONE);
                      }),
              work -> Thread.ofPlatform().start(work))
          .join();
    }
    return ONE;
  }

  private static void assertNamed(BiConsumer<Database, Table<byte[], byte[]>> work) {
    // Without pessimistic attempts, for which the other transaction would wait.
    Options options =
        Options.defaults()
            .bufferBytes(4 << 20)
            .transactions(txs -> txs.pessimisticAfterAborts(Integer.MAX_VALUE));
    try (Database db = Database.inMemory(options)) {
      Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 8)).bytes();
      List<String> lines = Logged.warnings(() -> work.accept(db, t));
      assertEquals(1, lines.size(), lines.toString());
      assertTrue(lines.get(0).contains("The work of \"transfer\" was"), lines.get(0));
    }
  }
}
