package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Id;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.txn.TestLocks;
import io.fovea.txn.Tx;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The retry loop around a body, and the legal and illegal uses of a transaction. */
class TransactionTest {
  private static final Options SMALL =
      Options.defaults()
          .bufferBytes(4 << 20)
          .transactions(txs -> txs.closeTimeout(Duration.ofMillis(50)));
  private static final Layout.Definition B = Layout.define();
  private static final Field V = B.int32("v");
  private static final TableSpec SPEC = TableSpec.of("t", KeySpec.of(FieldType.INT32), B.build());
  private static final IndexSpec BY_V = IndexSpec.unique("by v", V);

  private final Database db = Database.inMemory(SMALL);
  private final RowTable t = db.table(SPEC);

  @AfterEach
  void close() {
    db.close();
  }

  private void set(Transaction tx, int id, int value) {
    t.put(tx, t.key().set(id), t.row().setInt(V, value));
  }

  private int get(Transaction tx, int id) {
    Row row = t.row();
    return t.get(tx, t.key().set(id), row) ? row.getInt(V) : -1;
  }

  private void inAnotherThread(Runnable work) {
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Thread thread =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    work.run();
                  } catch (Throwable e) {
                    failure.set(e);
                  }
                });
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    if (failure.get() != null) {
      throw new AssertionError(failure.get());
    }
  }

  private void conflict(int id, int value) {
    inAnotherThread(() -> db.run(tx -> set(tx, id, value)));
  }

  /**
   * Changes two records at once: a reader of one before and the other after the change sees an
   * inconsistent state. (A single outdated read is not inconsistent: the transaction is ordered
   * before the change.)
   */
  private void conflict(int value) {
    inAnotherThread(
        () ->
            db.run(
                tx -> {
                  set(tx, 1, value);
                  set(tx, 2, value);
                }));
  }

  @Test
  void aConflictIsRetried() {
    db.run(tx -> set(tx, 1, 0));
    List<Integer> attempts = new ArrayList<>();
    List<AbortCause> causes = new ArrayList<>();
    int result =
        db.call(
            tx -> {
              attempts.add(tx.attempt());
              causes.add(tx.previousAbort());
              int v = get(tx, 1);
              if (tx.attempt() <= 2) {
                conflict(1, v + 10);
              }
              set(tx, 1, v + 1);
              return v + 1;
            });
    assertEquals(21, result);
    assertEquals(List.of(1, 2, 3), attempts);
    assertNull(causes.get(0));
    assertSame(AbortCause.VALIDATION, causes.get(1));
    assertEquals(2, db.stats().retries());
    assertEquals(2, db.stats().aborts());
    assertEquals(0, db.stats().activeTransactions());
    assertEquals(21, (int) db.read(tx -> get(tx, 1)));
  }

  @Test
  void exceptionsRollBackAndPropagate() {
    IOException mine = new IOException("mine");
    IOException thrown =
        assertThrows(
            IOException.class,
            () ->
                db.run(
                    tx -> {
                      set(tx, 1, 1);
                      throw mine;
                    }));
    assertSame(mine, thrown);
    assertThrows(
        StackOverflowError.class,
        () ->
            db.run(
                tx -> {
                  set(tx, 1, 1);
                  throw new StackOverflowError();
                }));
    assertEquals(-1, (int) db.read(tx -> get(tx, 1)));
    assertEquals(2, db.stats().rollbacks());
  }

  @Test
  void exceptionsFromStaleReadsAreRetried() {
    conflict(0);
    int[] attempts = {0};
    db.run(
        tx -> {
          attempts[0]++;
          int v = get(tx, 1);
          if (attempts[0] == 1) {
            conflict(5);
          }
          if (v != get(tx, 2)) {
            throw new IllegalStateException("an impossible state");
          }
        });
    assertEquals(2, attempts[0]);
    assertThrows(
        IllegalStateException.class,
        () ->
            db.read(
                tx -> {
                  attempts[0]++;
                  get(tx, 1);
                  throw new IllegalStateException("a consistent state");
                }));
    assertEquals(3, attempts[0]);
  }

  @Test
  void onlyRealDuplicateKeysAreReported() {
    db.run(tx -> set(tx, 1, 0));
    assertThrows(
        DuplicateKeyException.class, () -> db.run(tx -> t.insert(tx, t.key().set(1), t.row())));
    int[] attempts = {0};
    db.run(
        tx -> {
          if (++attempts[0] == 1) {
            assertThrows(DuplicateKeyException.class, () -> t.insert(tx, t.key().set(1), t.row()));
            inAnotherThread(() -> db.run(x -> t.delete(x, t.key().set(1))));
            t.insert(tx, t.key().set(2), t.row());
            return; // cannot commit: the key has disappeared
          }
          t.insert(tx, t.key().set(1), t.row());
        });
    assertEquals(2, attempts[0]);
  }

  @Test
  void duplicateKeysAreNamed() {
    RowTable rows = db.table(TableSpec.of("u", KeySpec.of(FieldType.INT32), B.build()).with(BY_V));
    Table<byte[], byte[]> bytes = db.table(TableSpec.bytes("unique index", 8)).bytes();
    byte[] key = {1, 2};
    db.run(
        tx -> {
          set(tx, 1, 0);
          rows.insert(tx, rows.key().set(1), rows.row().setInt(V, 7));
          bytes.insert(tx, key, key);
        });
    byte[] one = stored(t.key().set(1));
    requireDuplicate("t", null, one, tx -> t.insert(tx, t.key().set(1), t.row()));
    requireDuplicate("u", null, one, tx -> rows.insert(tx, rows.key().set(1), rows.row()));
    byte[] seven = stored(rows.index("by v").key().set(7));
    Row other = rows.row().setInt(V, 7);
    requireDuplicate("u", "by v", seven, tx -> rows.insert(tx, rows.key().set(2), other));
    requireDuplicate("u", "by v", seven, tx -> rows.put(tx, rows.key().set(2), other));
    requireDuplicate("unique index", null, key, tx -> bytes.insert(tx, key, key));
    db.run( // of the transaction's own write
        tx -> {
          set(tx, 2, 0);
          t.delete(tx, t.key().set(3));
          Key two = t.key().set(2);
          DuplicateKeyException e =
              assertThrows(DuplicateKeyException.class, () -> t.insert(tx, two, t.row()));
          assertArrayEquals(stored(two), e.key());
        });
  }

  private static byte[] stored(Key key) {
    return Mem.bytes(key.segment(), key.base(), key.length());
  }

  private void requireDuplicate(
      String table, @Nullable String index, byte[] key, Task<RuntimeException> body) {
    DuplicateKeyException e = assertThrows(DuplicateKeyException.class, () -> db.run(body));
    assertEquals(table, e.table());
    assertEquals(index, e.index());
    assertArrayEquals(key, e.key());
    e.key()[0]++;
    assertArrayEquals(key, e.key());
  }

  @Test
  void aSwallowedAbortDoesNotCommit() {
    db.run(tx -> set(tx, 1, 0));
    int[] attempts = {0};
    db.run(
        tx -> {
          if (++attempts[0] == 1) {
            get(tx, 1);
            conflict(1, 1);
            set(tx, 2, 99);
            try {
              get(tx, 1); // reads another version than before
            } catch (TransactionAbortedException e) {
              // swallowed
            }
          }
        });
    assertEquals(2, attempts[0]);
    assertEquals(-1, (int) db.read(tx -> get(tx, 2)));
  }

  @Test
  void aRollbackInABodyEndsIt() {
    db.run(
        tx -> {
          set(tx, 1, 1);
          tx.rollback();
          assertFalse(tx.isActive());
          assertThrows(InvalidUseException.class, () -> set(tx, 1, 2));
          assertThrows(InvalidUseException.class, tx::commit);
          tx.close();
        });
    assertEquals(1, db.stats().rollbacks());
    // The decision to roll back is also a result.
    conflict(1);
    int[] attempts = {0};
    db.run(
        tx -> {
          int v = get(tx, 1);
          if (++attempts[0] == 1) {
            conflict(2);
          }
          if (v != get(tx, 2)) {
            tx.rollback();
          } else {
            set(tx, 3, 3);
          }
        });
    assertEquals(2, attempts[0]);
    assertEquals(3, (int) db.read(tx -> get(tx, 3)));
  }

  private static final KeyCodec<Integer> KEYS =
      new KeyCodec<>() {
        @Override
        public void encode(Integer object, Key key) {
          key.set((int) object);
        }

        @Override
        public Integer decode(Key key) {
          return key.getInt(0);
        }
      };

  private static final Codec<Integer> VALUES =
      new Codec<>() {
        @Override
        public void encode(Integer object, Row row) {
          row.setInt(V, object);
        }

        @Override
        public Integer decode(Row row) {
          return row.getInt(V);
        }
      };

  private static final ByteCodec<byte[]> SAME =
      new ByteCodec<>() {
        @Override
        public byte[] encode(byte[] object) {
          return object;
        }

        @Override
        public byte[] decode(byte[] bytes) {
          return bytes;
        }
      };

  /** Reads for update of rows, byte strings and objects, by every operation. */
  @Test
  void readsForUpdateBlockOtherWriters() {
    Table<byte[], byte[]> bytes = db.table(TableSpec.bytes("bytes", 8)).bytes();
    Table<Integer, Integer> rows = t.as(KEYS, VALUES);
    Table<byte[], byte[]> typed = bytes.table().as(SAME, SAME);
    record Thing(@Id long id, String name) {}
    Table<Long, Thing> things = db.table(ObjectSpec.of("things", Long.class, Thing.class));
    List<Consumer<Transaction>> reads =
        List.of(
            tx -> t.getForUpdate(tx, t.key().set(1), t.row()),
            tx -> bytes.getForUpdate(tx, new byte[] {1}),
            tx -> rows.getForUpdate(tx, 1),
            tx -> typed.getForUpdate(tx, new byte[] {1}),
            tx -> things.getForUpdate(tx, 1L),
            tx -> things.updateIfPresent(tx, 1L, thing -> thing));
    for (Consumer<Transaction> read : reads) {
      db.run(
          tx -> {
            read.accept(tx);
            read.accept(tx);
            assertEquals(1, TestLocks.updateLocks(db.store().engine()));
          });
      assertEquals(0, TestLocks.updateLocks(db.store().engine()));
    }
    db.read(
        tx -> {
          reads.forEach(read -> read.accept(tx));
          assertEquals(0, TestLocks.updateLocks(db.store().engine()));
          return 0;
        });
  }

  /** Otherwise the rest of the body would run in no transaction. */
  @Test
  void aBodyDoesNotCommit() throws Exception {
    Task<RuntimeException> commits =
        tx -> {
          set(tx, 1, get(tx, 1) + 1);
          tx.commit();
        };
    List<Executable> forms =
        List.of(
            () -> db.run(commits),
            () -> db.runPipelined(commits),
            () -> db.run(outer -> db.run(JOINING, commits)),
            () ->
                db.read(
                    tx -> {
                      tx.commit();
                      return 0;
                    }));
    for (Executable form : forms) {
      var e = assertThrows(InvalidUseException.class, form);
      assertTrue(e.getMessage().contains("when the body returns"), e.getMessage());
      assertEquals(-1, (int) db.read(tx -> get(tx, 1)));
    }
    db.run(
        tx -> {
          set(tx, 1, 1);
          assertThrows(InvalidUseException.class, tx::commit);
          assertTrue(tx.isActive());
          set(tx, 2, 2);
        });
    assertEquals(3, (int) db.read(tx -> get(tx, 1) + get(tx, 2)));
  }

  @Test
  void nestedTransactionsAreRefused() {
    db.run(
        tx -> {
          assertThrows(InvalidUseException.class, () -> db.run(x -> {}));
          assertThrows(InvalidUseException.class, () -> db.read(x -> 1));
          assertThrows(InvalidUseException.class, db::close);
          assertThrows(InvalidUseException.class, db::begin);
          try (Database other = Database.inMemory(SMALL)) {
            other.run(x -> {}); // another database is allowed
          }
          inAnotherThread(() -> db.run(x -> {}));
        });
    db.run(tx -> {}); // the thread is unmarked
    assertThrows(
        IllegalStateException.class,
        () ->
            db.run(
                tx -> {
                  throw new IllegalStateException();
                }));
    db.run(tx -> {});
  }

  @Test
  void explicitTransactionsMayInterleave() {
    db.run(tx -> set(tx, 1, 0));
    try (Transaction a = db.begin();
        Transaction b = db.begin()) {
      assertNotSame(a, b);
      int v = get(a, 1);
      set(b, 1, get(b, 1) + 1);
      b.commit();
      set(a, 1, v + 1);
      TransactionAbortedException e = assertThrows(TransactionAbortedException.class, a::commit);
      assertTrue(e.retryable());
      assertFalse(a.isActive());
      assertThrows(InvalidUseException.class, a::commit);
    }
    try (Transaction c = db.begin()) {
      set(c, 1, 100);
    } // rolled back
    assertEquals(1, (int) db.read(tx -> get(tx, 1)));
    assertEquals(0, db.stats().activeTransactions());
  }

  @Test
  void anotherThreadIsRefused() {
    try (Transaction tx = db.begin()) {
      Row row = t.row();
      set(tx, 1, 1);
      t.get(tx, t.key().set(1), row);
      RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING);
      inAnotherThread(
          () -> {
            assertThrows(InvalidUseException.class, () -> get(tx, 1));
            assertThrows(InvalidUseException.class, tx::commit);
            assertThrows(InvalidUseException.class, tx::rollback);
            assertThrows(InvalidUseException.class, tx::close);
            assertThrows(InvalidUseException.class, c::next);
            assertThrows(InvalidUseException.class, c::close);
            assertThrows(InvalidUseException.class, () -> row.getInt(V));
          });
      assertTrue(c.next());
      tx.commit();
    }
  }

  /** The context was ended under the handle, as by an engine fault. */
  @Test
  void aTransactionWithAReusedContextIsRefused() {
    Transaction tx = db.begin();
    set(tx, 1, 1);
    Tx context = tx.context();
    context.rollback(context.epoch());
    assertThrows(InvalidUseException.class, () -> get(tx, 1));
    assertThrows(InvalidUseException.class, tx::commit);
    assertThrows(AssertionError.class, tx::close);
    assertEquals(0, db.store().engine().active());
    db.run(again -> set(again, 1, 2));
    assertEquals(2, db.<Integer, RuntimeException>read(again -> get(again, 1)));
  }

  @Test
  void isReadOnlySurvivesTheContext() {
    Transaction reads = db.begin(TxOptions.forReading());
    reads.commit();
    Transaction writes = db.begin();
    assertTrue(reads.isReadOnly());
    assertFalse(writes.isReadOnly());
    writes.rollback();
    assertTrue(reads.isReadOnly());
  }

  @Test
  void aReadOnlyTransactionCannotWrite() {
    db.run(tx -> set(tx, 1, 1));
    db.read(
        tx -> {
          assertTrue(tx.isReadOnly());
          assertThrows(InvalidUseException.class, () -> set(tx, 1, 2));
          assertThrows(InvalidUseException.class, () -> t.delete(tx, t.key().set(1)));
          Row row = t.row();
          t.get(tx, t.key().set(1), row);
          assertThrows(InvalidUseException.class, () -> t.update(tx, row.setInt(V, 3)));
          return null;
        });
    assertEquals(1, (int) db.read(tx -> get(tx, 1)));
  }

  /** Durations may be unlimited, and a transaction that a close waits for may do anything. */
  @Test
  void limitsMayBeUnlimited(@TempDir Path dir) throws Exception {
    Duration forEver = ChronoUnit.FOREVER.getDuration();
    Options options =
        Options.defaults()
            .bufferBytes(4 << 20)
            .log(log -> log.checkpointInterval(forEver))
            .transactions(txs -> txs.timeout(forEver).closeTimeout(forEver));
    CompletableFuture<Void> other;
    try (Database own = Database.open(dir.resolve("db"), options)) {
      RowTable table = own.table(SPEC);
      own.run(tx -> table.put(tx, table.key().set(1), table.row().setInt(V, 1)));
      CountDownLatch begun = new CountDownLatch(1);
      other =
          CompletableFuture.runAsync(
              () ->
                  own.run(
                      TxOptions.defaults().timeout(forEver),
                      tx -> {
                        begun.countDown();
                        LockSupport.parkNanos(50_000_000);
                        RowTable again = own.table(SPEC);
                        again.put(tx, again.key().set(2), again.row().setInt(V, 2));
                      }));
      begun.await();
    }
    other.get();
  }

  @Test
  void timeIsLimited() {
    TxOptions o = TxOptions.defaults().timeout(Duration.ofMillis(20));
    TransactionAbortedException e =
        assertThrows(
            TransactionAbortedException.class,
            () ->
                db.run(
                    o,
                    tx -> {
                      long end = System.nanoTime() + 30_000_000_000L; // ends at its limit
                      while (System.nanoTime() < end) {
                        get(tx, 1);
                      }
                    }));
    assertSame(AbortCause.TIMEOUT, e.abortCause());
    assertEquals(0, db.stats().activeTransactions());
    assertEquals(1, db.stats().abortsByCause().get(AbortCause.TIMEOUT));
  }

  @Test
  void sizeIsLimited() {
    try (Database small = Database.inMemory(SMALL.transactions(txs -> txs.maxBytes(100_000)))) {
      Table<byte[], byte[]> bytes = small.table(TableSpec.bytes("b", 10)).bytes();
      TransactionAbortedException e =
          assertThrows(
              TransactionAbortedException.class,
              () ->
                  small.run(
                      tx -> {
                        for (byte i = 0; i < 100; i++) {
                          bytes.put(tx, new byte[] {i}, new byte[2000]);
                        }
                      }));
      assertSame(AbortCause.TOO_LARGE, e.abortCause());
      // It does not commit even if the exception is swallowed.
      try (Transaction tx = small.begin()) {
        try {
          for (byte i = 0; i < 100; i++) {
            bytes.put(tx, new byte[] {i}, new byte[2000]);
          }
        } catch (TransactionAbortedException swallowed) {
          assertSame(AbortCause.TOO_LARGE, swallowed.abortCause());
        }
        assertThrows(TransactionAbortedException.class, tx::commit);
      }
      assertNull(small.read(tx -> bytes.get(tx, new byte[] {0})));
    }
  }

  @Test
  void repeatedlyAbortedTransactionsSucceed() {
    try (Database d = Database.inMemory(SMALL.transactions(txs -> txs.pessimisticAfterAborts(3)))) {
      RowTable u = d.table(SPEC);
      Key key = u.key().set(1);
      d.run(tx -> u.put(tx, key, u.row()));
      CountDownLatch stop = new CountDownLatch(1);
      Thread[] writers = new Thread[2];
      for (int i = 0; i < writers.length; i++) {
        writers[i] =
            Thread.ofPlatform()
                .start(
                    () -> {
                      Key k = u.key().set(1);
                      Row row = u.row();
                      while (stop.getCount() > 0) {
                        d.run(
                            TxOptions.defaults().pessimisticAfterAborts(Integer.MAX_VALUE),
                            tx -> {
                              u.get(tx, k, row);
                              u.update(tx, row.setInt(V, row.getInt(V) + 1));
                            });
                      }
                    });
      }
      int attempts;
      try {
        attempts =
            d.call(
                tx -> {
                  Row row = u.row();
                  u.get(tx, key, row);
                  int before = row.getInt(V);
                  // Once reserved, the record doesn't change; otherwise it does.
                  long end = System.nanoTime() + 30_000_000;
                  while (System.nanoTime() < end) {
                    Thread.onSpinWait();
                  }
                  u.update(tx, row.setInt(V, before + 1));
                  return tx.attempt();
                });
      } finally {
        stop.countDown();
      }
      for (Thread w : writers) {
        try {
          w.join();
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
      }
      assertTrue(attempts <= 4, "attempt " + attempts);
    }
  }

  @Test
  void attemptsAreLimitedByOptions() {
    try (Database d = Database.inMemory(SMALL)) {
      RowTable u = d.table(SPEC);
      Key key = u.key().set(1);
      d.run(tx -> u.put(tx, key, u.row()));
      int[] attempts = {0};
      Task<RuntimeException> unlucky =
          tx -> {
            attempts[0]++;
            u.get(tx, key, u.row());
            CompletableFuture.runAsync(
                    () ->
                        d.run(
                            other -> {
                              u.put(other, u.key().set(1), u.row());
                              u.put(other, u.key().set(2), u.row());
                            }),
                    work -> Thread.ofPlatform().start(work))
                .join();
            u.get(tx, u.key().set(2), u.row()); // inconsistent with the first read
            u.put(tx, key, u.row());
          };
      TxOptions three = TxOptions.defaults().attemptsMax(3);
      var last = assertThrows(TransactionAbortedException.class, () -> d.run(three, unlucky));
      assertSame(AbortCause.VALIDATION, last.abortCause());
      assertEquals(3, attempts[0]);
      // The exception of a doomed body is not thrown to the caller.
      TxOptions one = three.attemptsMax(1);
      last =
          assertThrows(
              TransactionAbortedException.class,
              () ->
                  d.run(
                      one,
                      tx -> {
                        unlucky.run(tx);
                        throw new IllegalStateException("from an inconsistent state");
                      }));
      assertInstanceOf(IllegalStateException.class, last.getSuppressed()[0]);
      assertThrows(IllegalArgumentException.class, () -> three.attemptsMax(0));
      assertThrows(IllegalArgumentException.class, () -> three.pessimisticAfterAborts(-1));
    }
  }

  @Test
  void anExplicitTransactionMayBePessimistic() {
    try (Database d = Database.inMemory(SMALL)) {
      RowTable u = d.table(SPEC);
      Key key = u.key().set(1);
      TxOptions pessimistic = TxOptions.defaults().pessimisticAfterAborts(0);
      for (int i = 0; i < 3; i++) {
        try (Transaction tx = d.begin(pessimistic)) {
          assertTrue(tx.isPessimistic());
          u.get(tx, key, u.row());
          CompletableFuture<Void> other =
              CompletableFuture.runAsync(
                  () ->
                      d.run(
                          TxOptions.defaults().attemptsMax(1),
                          t -> u.put(t, u.key().set(1), u.row())),
                  work -> Thread.ofPlatform().start(work));
          assertThrows(CompletionException.class, other::join);
          u.put(tx, key, u.row());
          if (i > 0) {
            tx.commit();
            assertFalse(tx.isPessimistic());
          }
        }
      }
      assertEquals(3, d.stats().pessimisticAttempts());
      assertEquals(0, d.stats().waitingTransactions());
    }
  }

  @Test
  void closeAbortsUnendedTransactions() {
    CountDownLatch begun = new CountDownLatch(1);
    AtomicReference<Throwable> seen = new AtomicReference<>();
    Thread straggler =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    db.run(
                        tx -> {
                          set(tx, 1, 1);
                          begun.countDown();
                          while (true) {
                            get(tx, 1);
                          }
                        });
                  } catch (Throwable e) {
                    seen.set(e);
                  }
                });
    try {
      begun.await();
      db.close();
      straggler.join();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    assertTrue(seen.get() instanceof DatabaseClosedException, String.valueOf(seen.get()));
  }

  @Test
  void interruptIsPreservedAndEndsNothing() {
    Thread.currentThread().interrupt();
    try {
      manyConflicts();
      assertTrue(Thread.currentThread().isInterrupted());
    } finally {
      assertTrue(Thread.interrupted());
    }
  }

  private void manyConflicts() {
    db.run(tx -> set(tx, 1, 0));
    db.run(
        tx -> {
          int v = get(tx, 1);
          if (tx.attempt() < 6) {
            conflict(1, v + 1);
          }
          set(tx, 1, -v);
        });
    assertEquals(-5, (int) db.read(tx -> get(tx, 1)));
  }

  private static final TxOptions JOINING = TxOptions.defaults().joining();

  private int increment(int id) {
    return db.call(
        JOINING,
        tx -> {
          int value = Math.max(0, get(tx, id)) + 1;
          set(tx, id, value);
          return value;
        });
  }

  @Test
  void joinedBodiesCommitTogether() {
    assertEquals(1, increment(7));
    int seen =
        db.call(
            tx -> {
              increment(7);
              increment(7);
              db.run(JOINING, part -> assertSame(tx, part));
              assertEquals(
                  3, (int) db.call(TxOptions.forReading().joining(), part -> get(part, 7)));
              return get(tx, 7);
            });
    assertEquals(3, seen);
    assertEquals(4, increment(7));
    assertTrue(JOINING.isJoining());
    assertFalse(TxOptions.defaults().isJoining());
    assertTrue(JOINING.attemptsMax(3).readOnly(true).timeout(Duration.ofSeconds(1)).isJoining());
  }

  @Test
  void failedPartRollsBackTheOuterTransaction() {
    IOException thrown = new IOException("no");
    assertSame(
        thrown,
        assertThrows(
            IOException.class,
            () ->
                db.run(
                    tx -> {
                      set(tx, 1, 1);
                      db.run(
                          JOINING,
                          part -> {
                            throw thrown;
                          });
                    })));
    var swallowed =
        assertThrows(
            TransactionAbortedException.class,
            () ->
                db.run(
                    tx -> {
                      set(tx, 1, 1);
                      assertThrows(
                          IOException.class,
                          () ->
                              db.run(
                                  JOINING,
                                  part -> {
                                    throw thrown;
                                  }));
                    }));
    assertEquals(AbortCause.USER, swallowed.abortCause());
    assertTrue(swallowed.getMessage().contains("joining body"), swallowed.getMessage());
    assertEquals(-1, (int) db.read(tx -> get(tx, 1)), "there is no record");
  }

  @Test
  void outerTransactionIsRetriedAfterAConflictInAPart() {
    List<Integer> attempts = new ArrayList<>();
    db.run(
        tx -> {
          get(tx, 5);
          attempts.add(tx.attempt());
          if (tx.attempt() == 1) {
            CompletableFuture.runAsync(() -> increment(5)).join();
          }
          increment(5);
        });
    assertEquals(List.of(1, 2), attempts);
    assertEquals(2, (int) db.read(tx -> get(tx, 5)));
  }

  @Test
  void invalidJoins() {
    db.run(
        tx -> {
          assertThrows(InvalidUseException.class, () -> db.run(part -> {}));
          assertThrows(InvalidUseException.class, () -> db.runPipelined(JOINING, part -> {}));
          assertThrows(
              CompletionException.class,
              () -> db.submit(JOINING, Runnable::run, part -> 1).toCompletableFuture().join());
        });
    db.run(
        tx -> {
          tx.rollback();
          var ended = assertThrows(InvalidUseException.class, () -> increment(1));
          assertTrue(ended.getMessage().contains("was rolled back"), ended.getMessage());
        });
    assertThrows(InvalidUseException.class, () -> db.read(tx -> increment(1)));
  }

  /**
   * The locks of a transaction that the close refuses stay; transactions that wait for them are
   * refused, too.
   */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void aCloseEndsWaitsForLocksOfOpenTransactions(Protocol protocol, @TempDir Path dir)
      throws InterruptedException {
    Database closed =
        Database.open(
            dir.resolve("db"),
            Options.defaults()
                .bufferBytes(4 << 20)
                .transactions(txs -> txs.closeTimeout(Duration.ZERO))
                .experiments(exp -> exp.protocol(protocol)));
    Table<byte[], byte[]> table = closed.table(TableSpec.bytes("t", 10)).bytes();
    byte[] key = {1};
    Transaction holder = closed.begin();
    table.put(holder, key, new byte[1]);
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    Thread waiter =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    closed.run(
                        TxOptions.defaults().pessimisticAfterAborts(0),
                        tx -> table.put(tx, key, new byte[2]));
                  } catch (Throwable t) {
                    thrown.set(t);
                  }
                });
    while (waiter.isAlive()
        && Stream.of(waiter.getStackTrace()).noneMatch(f -> f.getMethodName().equals("pause"))) {
      Thread.onSpinWait();
    }
    closed.close();
    waiter.join();
    assertTrue(
        thrown.get() == null || thrown.get() instanceof DatabaseClosedException,
        () -> protocol + ": " + thrown.get());
    assertThrows(DatabaseClosedException.class, holder::commit);
    assertTrue(FileReport.verify(dir.resolve("db"), Options.defaults()).ok());
  }
}
