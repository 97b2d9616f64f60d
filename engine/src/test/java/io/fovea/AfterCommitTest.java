package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.DurabilityLostException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.io.IoOp;
import io.fovea.schema.TableSpec;
import io.fovea.support.Logged;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.support.SimStorage;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests when actions registered with {@code Transaction.afterCommit} run. */
@Timeout(value = 3, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AfterCommitTest {
  private static final TxOptions JOINING = TxOptions.defaults().joining();

  private final SimDisk disk = new SimDisk(1);
  private Database db = open();
  private Table<byte[], byte[]> table = db.table(TableSpec.bytes("t", 8)).bytes();

  private final List<String> ran = Collections.synchronizedList(new ArrayList<>());

  private Database open() {
    return SimDatabase.open(new SimStorage(disk), Options.defaults().bufferBytes(4 << 20));
  }

  @AfterEach
  void close() {
    disk.letGo();
    db.close();
  }

  private void put(Transaction tx, int key) {
    table.put(tx, new byte[] {(byte) key}, new byte[] {1});
  }

  private boolean isThere(Transaction tx, int key) {
    return table.exists(tx, new byte[] {(byte) key});
  }

  private boolean isThere(int key) {
    return db.read(tx -> isThere(tx, key));
  }

  private List<String> ran() {
    List<String> all = List.copyOf(ran);
    ran.clear();
    return all;
  }

  private Thread thread(Runnable work) {
    return Thread.ofPlatform().start(work);
  }

  @Test
  void actionsRunOnceInOrderAfterCommit() {
    Thread self = Thread.currentThread();
    Consumer<Transaction> body =
        tx -> {
          put(tx, 1);
          Runnable one =
              () -> {
                assertSame(self, Thread.currentThread());
                assertFalse(tx.isActive());
                ran.add(isThere(1) ? "one" : "the action ran too early");
              };
          tx.afterCommit(one);
          tx.afterCommit(() -> ran.add("two"));
          tx.afterCommit(one);
          assertEquals(List.of(), ran);
        };
    List<String> all = List.of("one", "two", "one");
    db.run(body::accept);
    assertEquals(all, ran());
    assertEquals(
        "result",
        db.call(
            tx -> {
              body.accept(tx);
              return "result";
            }));
    assertEquals(all, ran());
    try (Transaction tx = db.begin()) {
      body.accept(tx);
      tx.commit();
      assertEquals(all, ran());
    }
    assertEquals(List.of(), ran());
  }

  @Test
  void readOnlyTransactionsRunActions() {
    db.read(
        tx -> {
          tx.afterCommit(() -> ran.add("read"));
          return isThere(tx, 1);
        });
    assertEquals(List.of("read"), ran());
    db.run(tx -> tx.afterCommit(() -> ran.add("nothing")));
    assertEquals(List.of("nothing"), ran());
    try (Database then = db.snapshot()) {
      then.run(tx -> tx.afterCommit(() -> ran.add("snapshot")));
    }
    assertEquals(List.of("snapshot"), ran());
  }

  @Test
  void actionsDoNotRunWithoutCommit() {
    Consumer<Transaction> body =
        tx -> {
          put(tx, 1);
          tx.afterCommit(() -> ran.add("never"));
        };
    db.run(
        tx -> {
          body.accept(tx);
          tx.rollback();
        });
    db.run(
        tx -> {
          try (tx) {
            body.accept(tx);
          }
        });
    assertThrows(
        IOException.class,
        () ->
            db.run(
                tx -> {
                  body.accept(tx);
                  throw new IOException("no");
                }));
    assertThrows(
        TransactionAbortedException.class,
        () ->
            db.run(
                tx -> {
                  body.accept(tx);
                  try {
                    db.run(
                        JOINING,
                        part -> {
                          throw new IOException("a part");
                        });
                  } catch (IOException e) {
                    // swallowed
                  }
                }));
    try (Transaction tx = db.begin()) {
      body.accept(tx);
    }
    try (Transaction tx = db.begin()) {
      body.accept(tx);
      tx.rollback();
    }
    try (Transaction tx = db.begin()) {
      isThere(tx, 1);
      body.accept(tx);
      CompletableFuture.runAsync(() -> db.run(x -> put(x, 1)), this::thread).join();
      assertThrows(TransactionAbortedException.class, tx::commit);
    }
    var submitted =
        db.submit(
            tx -> {
              body.accept(tx);
              tx.rollback();
              return 1;
            });
    assertEquals(1, submitted.toCompletableFuture().join());
    assertEquals(List.of(), ran());
  }

  @Test
  void actionsOfAbortedAttemptsDoNotRun() {
    db.run(
        tx -> {
          boolean there = isThere(tx, 1);
          int attempt = tx.attempt();
          if (attempt < 3) {
            CompletableFuture.runAsync(() -> db.run(x -> put(x, 1)), this::thread).join();
          }
          put(tx, there ? 1 : 2);
          put(tx, 1);
          tx.afterCommit(() -> ran.add("attempt " + attempt));
        });
    assertEquals(List.of("attempt 3"), ran());
  }

  @Test
  void actionsOfJoinedPartsRunAfterTheOuterCommit() {
    db.run(
        tx -> {
          tx.afterCommit(() -> ran.add("whole"));
          db.run(JOINING, part -> part.afterCommit(() -> ran.add("part")));
          assertEquals(List.of(), ran);
        });
    assertEquals(List.of("whole", "part"), ran());
  }

  @Test
  void actionsWaitForDurability() throws Exception {
    disk.hold(IoOp.SYNC);
    Thread runs =
        thread(
            () ->
                db.run(
                    tx -> {
                      put(tx, 1);
                      tx.afterCommit(() -> ran.add("durable"));
                    }));
    disk.awaitHeld(1);
    assertEquals(List.of(), ran());
    disk.letGo();
    runs.join();
    assertEquals(List.of("durable"), ran());
  }

  @Test
  void actionsDoNotRunIfDurabilityIsLost() throws Exception {
    disk.hold(IoOp.SYNC);
    CompletableFuture<Void> runs =
        CompletableFuture.runAsync(
            () ->
                db.run(
                    tx -> {
                      put(tx, 1);
                      tx.afterCommit(() -> ran.add("never"));
                    }),
            this::thread);
    var submitted =
        db.submit(
            tx -> {
              put(tx, 2);
              tx.afterCommit(() -> ran.add("never"));
              return 1;
            });
    disk.awaitHeld(1);
    disk.fail(SimFault.from(1).of(IoOp.SYNC));
    disk.letGo();
    ExecutionException e = assertThrows(ExecutionException.class, runs::get);
    assertInstanceOf(DurabilityLostException.class, e.getCause());
    assertThrows(CompletionException.class, () -> submitted.toCompletableFuture().join());
    assertEquals(List.of(), ran());
    disk.heal();
    assertThrows(DurabilityLostException.class, db::close);
    db = open();
    table = db.table(TableSpec.bytes("t", 8)).bytes();
  }

  @Test
  void exceptionsOfActionsAreOnlyLogged() {
    List<String> lines =
        Logged.warnings(
            () -> {
              int result =
                  db.call(
                      tx -> {
                        put(tx, 1);
                        tx.afterCommit(
                            () -> {
                              throw new TransactionAbortedException(
                                  io.fovea.error.AbortCause.VALIDATION);
                            });
                        tx.afterCommit(
                            () -> {
                              throw new StackOverflowError();
                            });
                        tx.afterCommit(() -> ran.add("third"));
                        assertEquals(1, tx.attempt());
                        return 7;
                      });
              assertEquals(7, result);
            });
    assertEquals(List.of("third"), ran());
    assertTrue(isThere(1));
    assertEquals(2, lines.size(), lines.toString());
    assertTrue(lines.get(0).contains("afterCommit"), lines.get(0));
  }

  @Test
  void actionsMayRunOtherTransactions() {
    TxOptions pessimistic = TxOptions.defaults().pessimisticAfterAborts(0);
    db.run(
        pessimistic,
        tx -> {
          assertTrue(tx.isPessimistic());
          put(tx, 1);
          tx.afterCommit(
              () -> {
                assertThrows(InvalidUseException.class, () -> put(tx, 2));
                assertThrows(InvalidUseException.class, () -> tx.afterCommit(() -> {}));
                db.run(
                    pessimistic,
                    next -> {
                      assertNotSame(tx, next);
                      assertTrue(next.isPessimistic());
                      assertTrue(isThere(next, 1));
                      put(next, 2);
                      next.afterCommit(() -> ran.add("its own"));
                    });
                db.run(JOINING, next -> put(next, 3));
                ran.add("done");
              });
        });
    assertEquals(List.of("its own", "done"), ran());
    assertTrue(isThere(2) && isThere(3));
    db.run(
        tx ->
            assertThrows(
                InvalidUseException.class,
                () -> db.run(x -> {}))); // the thread may begin another body
  }

  @Test
  void actionsAreAddedByTheOwnerWhileActive() {
    Transaction tx = db.begin();
    var e =
        assertThrows(
            CompletionException.class,
            () -> CompletableFuture.runAsync(() -> tx.afterCommit(() -> {}), this::thread).join());
    assertInstanceOf(InvalidUseException.class, e.getCause());
    assertThrows(NullPointerException.class, () -> tx.afterCommit(null));
    tx.commit();
    assertThrows(InvalidUseException.class, () -> tx.afterCommit(() -> {}));
  }

  @Test
  void actionsAreRefusedAheadOfTheLog() {
    var refused =
        assertThrows(
            InvalidUseException.class,
            () ->
                db.runPipelined(
                    tx -> {
                      put(tx, 1);
                      tx.afterCommit(() -> ran.add("never"));
                    }));
    assertTrue(refused.getMessage().contains("ahead of the log"), refused.getMessage());
    assertFalse(isThere(1));
    try (Transaction tx = db.begin()) {
      put(tx, 1);
      tx.afterCommit(() -> ran.add("done"));
      assertThrows(InvalidUseException.class, tx::commitPipelined);
      tx.commit();
    }
    assertEquals(List.of("done"), ran());
  }

  @Test
  void actionsOfSubmitRunBeforeTheStageCompletes() {
    disk.hold(IoOp.SYNC);
    var stage =
        db.submit(
                tx -> {
                  put(tx, 1);
                  tx.afterCommit(() -> ran.add("action"));
                  return 1;
                })
            .thenAccept(v -> ran.add("stage"))
            .toCompletableFuture();
    disk.awaitHeld(1);
    assertEquals(List.of(), ran());
    disk.letGo();
    stage.join();
    assertEquals(List.of("action", "stage"), ran());
    db.submit(
            TxOptions.defaults(),
            Runnable::run,
            tx -> {
              tx.afterCommit(() -> ran.add("action"));
              return 1;
            })
        .toCompletableFuture()
        .join();
    assertEquals(List.of("action"), ran());
  }
}
