package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.FoveaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Bodies that hide an abort: they swallow or wrap it, throw something else after it, or end the
 * transaction themselves. The retry loop treats these cases like an abort that propagates.
 */
class HiddenAbortsTest {
  private static final TxOptions JOINING = TxOptions.defaults().joining();

  private final Database db =
      Database.inMemory(
          Options.defaults().bufferBytes(4 << 20).transactions(txs -> txs.maxBytes(100_000)));
  private final Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 10)).bytes();

  @AfterEach
  void close() {
    assertEquals(0, db.stats().activeTransactions());
    db.close();
  }

  private static final class ServiceException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    ServiceException(Throwable cause) {
      super(cause);
    }
  }

  /** How a body treats an abort that an operation has thrown. */
  private enum DeviceBehavior {
    PASS {
      @Override
      void hide(Transaction tx, TransactionAbortedException e) {
        throw e;
      }
    },
    SWALLOW {
      @Override
      void hide(Transaction tx, TransactionAbortedException e) {}
    },
    WRAP {
      @Override
      void hide(Transaction tx, TransactionAbortedException e) {
        throw new ServiceException(e);
      }
    },
    THROW_ANOTHER {
      @Override
      void hide(Transaction tx, TransactionAbortedException e) {
        throw new IllegalStateException("another");
      }
    },
    THROW_A_CONFLICT {
      @Override
      void hide(Transaction tx, TransactionAbortedException e) {
        throw new TransactionAbortedException(AbortCause.VALIDATION);
      }
    },
    COMMIT {
      @Override
      void hide(Transaction tx, TransactionAbortedException e) {
        assertThrows(InvalidUseException.class, tx::commit); // as in every body
      }
    },
    ROLL_BACK {
      @Override
      void hide(Transaction tx, TransactionAbortedException e) {
        assertThrows(TransactionAbortedException.class, tx::rollback);
      }
    },
    ROLL_BACK_AND_THROW {
      @Override
      void hide(Transaction tx, TransactionAbortedException e) {
        assertThrows(TransactionAbortedException.class, tx::rollback);
        throw new ServiceException(e);
      }
    },
    CLOSE {
      @Override
      void hide(Transaction tx, TransactionAbortedException e) {
        assertThrows(TransactionAbortedException.class, tx::close);
      }
    };

    abstract void hide(Transaction tx, TransactionAbortedException e);
  }

  @ParameterizedTest
  @EnumSource(AbortCause.class)
  void permanentFailuresAreNotRetried(AbortCause cause) {
    for (DeviceBehavior manner : DeviceBehavior.values()) {
      for (boolean partFailed : new boolean[] {false, true}) {
        hide(cause, manner, partFailed);
      }
    }
  }

  private void hide(AbortCause cause, DeviceBehavior manner, boolean partFailed) {
    String what = cause + ", " + manner + (partFailed ? ", after a part had failed" : "");
    int[] attempts = {0};
    Task<RuntimeException> body =
        tx -> {
          if (++attempts[0] > 1) {
            return;
          }
          if (partFailed) {
            assertThrows(IOException.class, () -> db.run(JOINING, HiddenAbortsTest::fail), what);
          }
          manner.hide(tx, tx.context().abort(cause, "forced"));
        };
    if (cause.retryable()) {
      db.run(body);
      assertEquals(2, attempts[0], what);
      return;
    }
    var e = assertThrows(TransactionAbortedException.class, () -> db.run(body), what);
    assertSame(cause, e.abortCause(), what);
    assertEquals(1, attempts[0], what);
    switch (manner) {
      case WRAP, ROLL_BACK_AND_THROW ->
          assertInstanceOf(ServiceException.class, e.getSuppressed()[0], what);
      case THROW_ANOTHER ->
          assertInstanceOf(IllegalStateException.class, e.getSuppressed()[0], what);
      default -> {}
    }
  }

  private static void fail(Transaction part) throws IOException {
    throw new IOException("a part failed");
  }

  @Test
  void anOversizedStatementIsTriedOnce() {
    for (DeviceBehavior manner : DeviceBehavior.values()) {
      int[] attempts = {0};
      var e =
          assertThrows(
              TransactionAbortedException.class,
              () ->
                  db.run(
                      tx -> {
                        assertEquals(1, ++attempts[0], manner + ": retried");
                        try {
                          for (byte i = 0; ; i++) {
                            t.put(tx, new byte[] {i}, new byte[2000]);
                          }
                        } catch (TransactionAbortedException abort) {
                          manner.hide(tx, abort);
                        }
                      }),
              manner.name());
      assertSame(AbortCause.TOO_LARGE, e.abortCause(), manner.name());
    }
  }

  @Test
  void errorsPropagate() {
    assertThrows(
        OutOfMemoryError.class,
        () ->
            db.run(
                tx -> {
                  tx.context().abort(AbortCause.LOCK, "forced");
                  throw new OutOfMemoryError("on purpose");
                }));
  }

  private static final byte[] X = {1};
  private static final byte[] Y = {2};

  private void set(int value) {
    db.run(
        tx -> {
          t.put(tx, X, new byte[] {(byte) value});
          t.put(tx, Y, new byte[] {(byte) value});
        });
  }

  private static int number(byte[] value) {
    assertNotNull(value);
    return value[0];
  }

  /** Reads two records; in the first attempt another transaction changes both in between. */
  private int difference(Transaction tx) {
    int x = number(t.get(tx, X));
    if (tx.attempt() == 1) {
      CompletableFuture.runAsync(() -> set(x + 1), work -> Thread.ofPlatform().start(work)).join();
    }
    return number(t.get(tx, Y)) - x;
  }

  /** The methods that end a transaction, and what a body may do after them. */
  private static List<Consumer<Transaction>> ends() {
    List<Consumer<Transaction>> ends = new ArrayList<>();
    for (Consumer<Transaction> end :
        List.<Consumer<Transaction>>of(Transaction::rollback, Transaction::close)) {
      ends.add(
          tx -> {
            try {
              end.accept(tx);
            } catch (FoveaException e) {
              // swallowed
            }
          });
      ends.add(
          tx -> {
            try {
              end.accept(tx);
            } catch (FoveaException e) {
              throw new ServiceException(e);
            }
          });
      ends.add(
          tx -> {
            try (tx) {
              end.accept(tx);
            } catch (FoveaException e) {
              throw new TransactionAbortedException(AbortCause.USER);
            }
          });
    }
    for (Consumer<Transaction> commit :
        List.<Consumer<Transaction>>of(Transaction::commit, Transaction::commitPipelined)) {
      ends.add(
          tx -> {
            try {
              commit.accept(tx);
            } catch (FoveaException e) {
              // rejected, and the transaction is still active
            }
          });
    }
    return ends;
  }

  @Test
  void noResultIsReturnedAfterAFailedEnd() {
    set(0);
    List<Consumer<Transaction>> ends = ends();
    for (int i = 0; i < ends.size(); i++) {
      Consumer<Transaction> end = ends.get(i);
      int[] attempts = {0};
      int[] result = {-1};
      Work<Integer, RuntimeException> body =
          tx -> {
            attempts[0]++;
            int difference = difference(tx);
            end.accept(tx);
            return difference;
          };
      assertEquals(0, db.call(body), "end " + i);
      assertEquals(2, attempts[0], "end " + i);
      db.runPipelined(tx -> result[0] = body.call(tx)).await();
      assertEquals(0, result[0], "end " + i);
      assertEquals(4, attempts[0], "end " + i);
      assertEquals(0, db.submit(body).toCompletableFuture().join(), "end " + i);
      assertEquals(6, attempts[0], "end " + i);
      TxOptions once = TxOptions.defaults().attemptsMax(1);
      var last = assertThrows(TransactionAbortedException.class, () -> db.call(once, body));
      assertSame(AbortCause.VALIDATION, last.abortCause(), "end " + i);
    }
  }

  /** After swallowing the abort of its commit, a body concludes that the database is damaged. */
  @Test
  void noExceptionEscapesAFailedEnd() {
    set(0);
    for (Consumer<Transaction> end : ends()) {
      db.run(
          tx -> {
            int difference = difference(tx);
            end.accept(tx);
            if (difference != 0) {
              throw new IllegalStateException("an impossible state");
            }
          });
    }
    for (AbortCause cause : AbortCause.values()) {
      db.run(
          tx -> {
            if (difference(tx) != 0) {
              throw new TransactionAbortedException(cause);
            }
          });
    }
  }

  /** The failure of a part may be caused by inconsistent reads of that part. */
  @Test
  void aFailureOfAPartMayBeSpurious() {
    set(0);
    db.run(
        tx -> {
          try {
            db.run(
                JOINING,
                part -> {
                  if (difference(part) != 0) {
                    throw new IOException("an impossible state");
                  }
                });
          } catch (IOException e) {
            // swallowed
          }
        });
  }

  /** Another transaction may already reuse the slot of one that has ended. */
  @Test
  void aPartThatFailsAfterTheEndIsHarmless() {
    db.run(
        tx ->
            assertThrows(
                IOException.class,
                () ->
                    db.run(
                        JOINING,
                        part -> {
                          part.rollback();
                          fail(part);
                        })));
    set(1);
  }

  @Test
  void aSuccessfulEndIsFinal() {
    assertEquals(
        "rolled back",
        db.call(
            tx -> {
              t.put(tx, X, new byte[] {1});
              tx.rollback();
              return "rolled back";
            }));
    assertNull(db.read(tx -> t.get(tx, X)));
    assertEquals(
        "closed",
        db.call(
            tx -> {
              try (tx) {
                t.put(tx, X, new byte[] {1});
              }
              return "closed";
            }));
    assertNull(db.read(tx -> t.get(tx, X)));
    set(1);
    var e =
        assertThrows(
            CompletionException.class,
            () ->
                db.submit(
                        tx -> {
                          tx.rollback();
                          throw new ServiceException(null);
                        })
                    .toCompletableFuture()
                    .join());
    assertTrue(e.getCause() instanceof ServiceException);
  }

  /**
   * Reads before the close may have been of several states, so no exception inferred from them is
   * thrown.
   */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void anExceptionAfterACloseIsSuppressed(Protocol protocol) {
    List<TxRunner> runners =
        List.of(
            Database::run,
            (closed, body) -> closed.runPipelined(body),
            (closed, body) ->
                closed.read(
                    tx -> {
                      body.run(tx);
                      return 0;
                    }));
    for (TxRunner runner : runners) {
      Database closed =
          Database.inMemory(
              Options.defaults()
                  .bufferBytes(4 << 20)
                  .transactions(txs -> txs.closeTimeout(Duration.ZERO))
                  .experiments(exp -> exp.protocol(protocol)));
      Table<byte[], byte[]> table = closed.table(TableSpec.bytes("t", 10)).bytes();
      IllegalStateException inferred = new IllegalStateException("inferred from a read");
      DatabaseClosedException e =
          assertThrows(
              DatabaseClosedException.class,
              () ->
                  runner.run(
                      closed,
                      tx -> {
                        table.get(tx, new byte[] {1});
                        CompletableFuture.runAsync(closed::close).join();
                        throw inferred;
                      }));
      assertSame(inferred, e.getSuppressed()[0]);
    }
  }

  private interface TxRunner {
    void run(Database closed, Task<RuntimeException> body);
  }
}
