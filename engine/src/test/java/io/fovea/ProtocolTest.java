package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.error.AbortCause;
import io.fovea.error.FoveaException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Each protocol through the API: secondary indexes, log, user rollbacks, and meters. */
class ProtocolTest {
  private static final int ACCOUNTS = 40;
  private static final long START = 1000;

  private static final Layout.Definition B = Layout.define();
  private static final Field BALANCE = B.int64("balance");
  private static final Layout LAYOUT = B.build();
  private static final TableSpec ACCOUNT =
      TableSpec.of("account", KeySpec.of(FieldType.INT32), LAYOUT)
          .with(IndexSpec.on("by_balance", BALANCE));

  @TempDir Path dir;

  private static Options options(Protocol protocol) {
    return Options.defaults()
        .bufferBytes(4 << 20)
        .transactions(txs -> txs.maxActive(16))
        .experiments(exp -> exp.protocol(protocol));
  }

  private static void fill(Database db, RowTable t) {
    db.run(
        tx -> {
          for (int i = 0; i < ACCOUNTS; i++) {
            t.insert(tx, t.key().set(i), t.row().setLong(BALANCE, START));
          }
        });
  }

  private static long sum(Transaction tx, RowTable t, ScanOrder order) {
    long sum = 0;
    try (RowCursor c = t.scan(tx, Range.all(), order)) {
      while (c.next()) {
        sum += c.row().getLong(BALANCE);
      }
    }
    return sum;
  }

  private static long sumByIndex(Transaction tx, RowTable t, ScanOrder order) {
    long sum = 0;
    try (RowCursor c = t.index("by_balance").scan(tx, Range.all(), order)) {
      while (c.next()) {
        assertEquals(c.row().getLong(BALANCE), c.indexKey().getLong(0));
        sum += c.row().getLong(BALANCE);
      }
    }
    return sum;
  }

  @ParameterizedTest
  @EnumSource
  void moneyOfAllAccounts(Protocol protocol) throws Exception {
    Path file = dir.resolve("bank");
    try (Database db = Database.open(file, options(protocol))) {
      RowTable t = db.table(ACCOUNT);
      fill(db, t);
      AtomicReference<Throwable> failure = new AtomicReference<>();
      AtomicInteger sums = new AtomicInteger();
      List<Thread> threads = new ArrayList<>();
      for (int id = 0; id < 6; id++) {
        int seed = id;
        threads.add(
            (id % 2 == 0 ? Thread.ofPlatform() : Thread.ofVirtual())
                .start(
                    () -> {
                      try {
                        work(db, t, new Random(seed), sums);
                      } catch (Throwable e) {
                        failure.compareAndSet(null, e);
                      }
                    }));
      }
      for (Thread thread : threads) {
        thread.join();
      }
      if (failure.get() != null) {
        throw new AssertionError(failure.get());
      }
      assertTrue(sums.get() > 0);
      DatabaseStats stats = db.stats();
      assertSame(protocol, stats.protocol());
      assertEquals(0, stats.activeTransactions());
      assertEquals(0, stats.abortsByCause().get(AbortCause.TIMEOUT));
      // Nothing is left locked: one transaction locks all accounts at its first attempt.
      long before = stats.aborts();
      db.run(
          tx -> {
            for (int i = 0; i < ACCOUNTS; i++) {
              Row row = t.row();
              if (t.get(tx, t.key().set(i), row)) {
                t.update(tx, row);
              }
            }
            assertEquals(ACCOUNTS * START, sum(tx, t, ScanOrder.ASCENDING));
          });
      assertEquals(before, db.stats().aborts());
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
    }
    assertTrue(io.fovea.FileVerifier.verify(file).ok());
  }

  private static void work(Database db, RowTable t, Random r, AtomicInteger sums) {
    Key key = t.key();
    Row from = t.row();
    Row to = t.row();
    for (int i = 0; i < 150; i++) {
      int a = r.nextInt(ACCOUNTS);
      int b = (a + 1 + r.nextInt(ACCOUNTS - 1)) % ACCOUNTS;
      long amount = r.nextInt(400);
      ScanOrder order = r.nextBoolean() ? ScanOrder.ASCENDING : ScanOrder.DESCENDING;
      switch (r.nextInt(6)) {
        case 0 -> {
          assertEquals(ACCOUNTS * START, (long) db.read(tx -> sum(tx, t, order)));
          assertEquals(ACCOUNTS * START, (long) db.read(tx -> sumByIndex(tx, t, order)));
          sums.incrementAndGet();
        }
        case 1 ->
            // Closes an account and moves its money to another, opening that if necessary.
            db.run(
                tx -> {
                  if (t.get(tx, key.set(a), from)) {
                    long all = from.getLong(BALANCE);
                    t.delete(tx, key.set(a));
                    if (t.get(tx, key.set(b), to)) {
                      t.update(tx, to.setLong(BALANCE, to.getLong(BALANCE) + all));
                    } else {
                      t.insert(tx, key.set(b), to.clear().setLong(BALANCE, all));
                    }
                  }
                });
        default ->
            db.run(
                tx -> {
                  if (!t.get(tx, key.set(a), from) || !t.get(tx, key.set(b), to)) {
                    return;
                  }
                  t.update(tx, from.setLong(BALANCE, from.getLong(BALANCE) - amount));
                  if (from.getLong(BALANCE) < 0) {
                    tx.rollback();
                    return;
                  }
                  t.update(tx, to.setLong(BALANCE, to.getLong(BALANCE) + amount));
                });
      }
    }
  }

  @Test
  void anOpenDatabaseHasOneProtocol() {
    Path file = dir.resolve("one");
    for (Protocol protocol : Protocol.values()) {
      try (Database db = Database.open(file, options(protocol))) {
        RowTable t = db.table(ACCOUNT);
        assertSame(protocol, db.stats().protocol());
        for (Protocol other : Protocol.values()) {
          assertThrows(FoveaException.class, () -> Database.open(file, options(other)).close());
        }
        int n = protocol.ordinal();
        db.run(tx -> t.insert(tx, t.key().set(n), t.row().setLong(BALANCE, n)));
        for (int i = 0; i <= n; i++) {
          int k = i;
          long found =
              db.read(
                  tx -> {
                    Row row = t.row();
                    assertTrue(t.get(tx, t.key().set(k), row));
                    return row.getLong(BALANCE);
                  });
          assertEquals(k, found);
        }
      }
    }
  }

  /** The cause of a conflict depends on the protocol; only under MVTO does the reader continue. */
  @ParameterizedTest
  @EnumSource
  void causesAreCounted(Protocol protocol) {
    try (Database db = Database.inMemory(options(protocol))) {
      RowTable t = db.table(ACCOUNT);
      fill(db, t);
      AbortCause cause = null;
      try (Transaction reader = db.begin()) {
        Row row = t.row();
        assertTrue(t.get(reader, t.key().set(1), row));
        try {
          try (Transaction writer = db.begin()) {
            Row other = t.row();
            for (int i = 1; i < 3; i++) {
              assertTrue(t.get(writer, t.key().set(i), other));
              t.update(writer, other.setLong(BALANCE, 7));
            }
            writer.commit();
          }
          assertTrue(t.get(reader, t.key().set(2), row));
          long seen = row.getLong(BALANCE);
          reader.commit();
          assertEquals(START, seen);
        } catch (TransactionAbortedException e) {
          cause = e.abortCause();
        }
      }
      AbortCause expected =
          switch (protocol) {
            case TICTOC, OCC, SILO -> AbortCause.VALIDATION;
            case TWO_PHASE_LOCKING -> AbortCause.LOCK;
            case STO -> AbortCause.ORDER;
            case MVTO -> null;
          };
      assertEquals(expected, cause);
      DatabaseStats stats = db.stats();
      assertEquals(expected == null ? 0 : 1, stats.aborts());
      if (expected != null) {
        assertEquals(1, stats.abortsByCause().get(expected));
      }
      assertFalse(stats.memory().toString().isEmpty());
    }
  }

  /** Another transaction deleted a record since it was read: a conflict, not misuse. */
  @ParameterizedTest
  @EnumSource
  void updatingADeletedRecordIsAConflict(Protocol protocol) {
    try (Database db = Database.inMemory(options(protocol))) {
      RowTable t = db.table(ACCOUNT);
      fill(db, t);
      assertThrows(
          TransactionAbortedException.class,
          () -> {
            try (Transaction tx = db.begin()) {
              Row row = t.row();
              assertTrue(t.get(tx, t.key().set(1), row));
              delete(db, t, 1);
              t.update(tx, row.setLong(BALANCE, 7));
              tx.commit();
            }
          });
    }
  }

  /** The same for a record whose index entry was read before. */
  @ParameterizedTest
  @EnumSource
  void anEntryOfADeletedRecordIsAConflict(Protocol protocol) {
    try (Database db = Database.inMemory(options(protocol))) {
      RowTable t = db.table(ACCOUNT);
      fill(db, t);
      int rows = 0;
      TransactionAbortedException aborted = null;
      try (Transaction tx = db.begin();
          RowCursor c = t.index("by_balance").scan(tx, Range.all(), ScanOrder.ASCENDING)) {
        while (c.next()) {
          c.row();
          if (++rows == ACCOUNTS - 2) {
            delete(db, t, ACCOUNTS - 1); // its entry is in the batch already read
          }
        }
        tx.commit();
      } catch (TransactionAbortedException e) {
        aborted = e;
      }
      if (protocol == Protocol.MVTO) {
        assertEquals(ACCOUNTS, rows); // it reads the state of its begin
      } else {
        assertTrue(aborted != null, () -> "under " + protocol);
      }
    }
  }

  private static void delete(Database db, RowTable t, int account) {
    try (Transaction tx = db.begin()) {
      assertTrue(t.delete(tx, t.key().set(account)));
      tx.commit();
    }
  }
}
