package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.BTree;
import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PoolConfig;
import io.fovea.buffer.PoolLog;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.InvalidUseException;
import io.fovea.index.StatementContext;
import io.fovea.io.IoOp;
import io.fovea.io.MemoryDevice;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.txn.Tx;
import io.fovea.txn.TxConfig;
import io.fovea.txn.TxEngine;
import io.fovea.wal.Log;
import io.fovea.wal.LogConfig;
import io.fovea.wal.LogSession;
import io.fovea.wal.LogStart;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When the result, rollback or exception of a transaction is released to the caller. */
@Tag("slow")
@Timeout(60)
class TransactionDurabilityTest {
  private final Database db = Database.inMemory(Options.defaults());
  private final SimDisk disk = new SimDisk(1);
  private final Log log =
      Log.open(
          disk.device("log"),
          LogConfig.DEFAULT,
          new LogStart(new UUID(1, 2), 1, Log.FIRST_LSN, Log.FIRST_LSN));
  private final BufferPool pool =
      new BufferPool(
          new MemoryDevice(),
          PoolConfig.of(4096, 4 << 20),
          AllocatorState.EMPTY,
          PoolLog.of(log),
          null);
  private final TxEngine engine = new TxEngine(TxConfig.DEFAULT, 4096, log);
  private final BTree tree = tree();
  private final MemorySegment key = Arena.ofAuto().allocate(8, 8);
  private final MemorySegment value = Arena.ofAuto().allocate(8, 8);

  private BTree tree() {
    LogSession session = log.session();
    session.begin(0);
    BTree made = BTree.create(pool, 10, session);
    session.end();
    log.awaitDurable(log.tail());
    return made;
  }

  @AfterEach
  void close() {
    disk.letGo();
    log.abandon();
    pool.abandon();
    engine.close();
    db.close();
  }

  private Transaction begin() {
    StatementContext statementContext = new StatementContext();
    assertTrue(statementContext.claim());
    Tx tx = engine.begin(false, 0, false);
    return new Transaction(db, statementContext, tx, 1, null, true);
  }

  private void put(Transaction t) {
    t.context().put(tree, key, 0, 8, value, 0, 8);
  }

  private int get(Transaction t) {
    return t.context().get(tree, key, 0, 8, value, 0, 8);
  }

  private void putInDoubt() {
    disk.hold(IoOp.SYNC);
    Tx tx = engine.begin(false, 0, false);
    tx.put(tree, key, 0, 8, value, 0, 8);
    assertTrue(tx.commit(tx.epoch()) > log.durableLsn());
  }

  /** Runs work in another thread, which waits until the disk is released. */
  private @org.jspecify.annotations.Nullable Throwable waits(Runnable work) {
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    Thread thread =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    work.run();
                    assertEquals(log.tail(), log.durableLsn());
                  } catch (Throwable e) {
                    thrown.set(e);
                  }
                });
    while (thread.isAlive()
        && thread.getState() != Thread.State.WAITING
        && thread.getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
    assertTrue(thread.isAlive(), "the thread did not wait: " + thrown.get());
    // A waiting thread holds nothing that others need.
    assertEquals(0, engine.active());
    disk.letGo();
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    return thrown.get();
  }

  @Test
  void aCommitReturnsWhenDurable() {
    disk.hold(IoOp.SYNC);
    assertNull(
        waits(
            () -> {
              Transaction t = begin();
              put(t);
              t.commitAndWait();
            }));
  }

  @Test
  void aReadOnlyCommitWaitsForWhatItRead() {
    putInDoubt();
    assertNull(
        waits(
            () -> {
              Transaction t = begin();
              assertEquals(8, get(t));
              t.commitAndWait();
            }));
  }

  @Test
  void aRollbackInABodyWaitsForWhatWasRead() {
    putInDoubt();
    assertNull(
        waits(
            () -> {
              Transaction t = begin();
              get(t);
              t.rollback();
            }));
  }

  @Test
  void anExceptionWaitsForWhatWasRead() {
    putInDoubt();
    assertNull(
        waits(
            () -> {
              Transaction t = begin();
              get(t);
              assertNull(t.failed(new IllegalStateException("it is 0")));
            }));
  }

  @Test
  void aRollbackOfUnseenWritesDoesNotWait() {
    putInDoubt();
    Transaction t = begin();
    put(t);
    t.rollback();
    Transaction u = begin();
    u.commitAndWait();
    Transaction v = begin();
    assertNull(v.failed(new IllegalStateException()));
    assertTrue(log.durableLsn() < log.tail());
  }

  @Test
  void anUnknownOutcomeIsReported() {
    Transaction late = begin();
    put(late);
    disk.fail(SimFault.once(1).of(IoOp.SYNC));
    Transaction t = begin();
    put(t);
    var lost = assertThrows(DurabilityLostException.class, t::commitAndWait);
    assertTrue(lost.mayHaveCommitted());
    assertFalse(t.isActive());
    var use = assertThrows(InvalidUseException.class, t::rollback);
    assertTrue(use.getMessage().contains("may have committed"), use.getMessage());
    // A body that swallows, wraps or replaces the exception does not hide it.
    assertSame(lost, assertThrows(DurabilityLostException.class, t::throwIfFailed));
    assertNull(t.failed(lost));
    RuntimeException wrapped = new IllegalStateException(lost);
    assertSame(lost, assertThrows(DurabilityLostException.class, () -> t.failed(wrapped)));
    assertEquals(0, lost.getSuppressed().length, "it is the cause of the other exception");
    RuntimeException another = new IllegalStateException();
    assertSame(lost, assertThrows(DurabilityLostException.class, () -> t.failed(another)));
    assertSame(another, lost.getSuppressed()[0]);

    var refused = assertThrows(DurabilityLostException.class, late::commitAndWait);
    assertFalse(refused.mayHaveCommitted());
    var aborted = assertThrows(InvalidUseException.class, late::rollback);
    assertTrue(aborted.getMessage().contains("was aborted"), aborted.getMessage());
  }

  @Test
  void resultsOfLostReadsAreNotReleased() {
    putInDoubt();
    Transaction reader = begin();
    get(reader);
    Transaction thrower = begin();
    get(thrower);
    Transaction roller = begin();
    get(roller);
    Transaction innocent = begin();
    log.fail(new IllegalStateException("the device has failed"));
    var read = assertThrows(DurabilityLostException.class, reader::commitAndWait);
    assertFalse(read.mayHaveCommitted());
    var cause = new IllegalStateException("it is 0");
    var e = assertThrows(DurabilityLostException.class, () -> thrower.failed(cause));
    assertEquals(cause, e.getSuppressed()[0]);
    var rolled = assertThrows(DurabilityLostException.class, roller::rollback);
    assertSame(rolled, assertThrows(DurabilityLostException.class, roller::throwIfFailed));
    innocent.commitAndWait(); // it has read nothing in doubt
    assertEquals(0, engine.active());
  }

  private Transaction beginExplicit() {
    StatementContext statementContext = new StatementContext();
    assertTrue(statementContext.claim());
    Tx tx = engine.begin(false, 0, false);
    Transaction t = new Transaction(db, statementContext, tx, 1, null, false);
    return t;
  }

  @Test
  void aCommitAheadOfTheLogReturnsAReceipt() {
    disk.hold(IoOp.SYNC);
    Transaction t = beginExplicit();
    put(t);
    CommitHandle commitHandle = t.commitPipelined();
    assertFalse(t.isActive());
    assertFalse(commitHandle.isDurable());
    assertNull(waits(commitHandle::await));
    assertTrue(commitHandle.isDurable());
    commitHandle.await();
  }

  @Test
  void aReceiptCoversReads() {
    putInDoubt();
    Transaction t = beginExplicit();
    assertEquals(8, get(t));
    CommitHandle commitHandle = t.commitPipelined();
    assertFalse(commitHandle.isDurable());
    assertNull(waits(commitHandle::await));
    assertTrue(commitHandle.isDurable());
  }

  @Test
  void anEmptyReceiptDoesNotWait() {
    putInDoubt();
    CommitHandle commitHandle = beginExplicit().commitPipelined();
    assertTrue(commitHandle.isDurable());
    commitHandle.await();
    assertTrue(log.durableLsn() < log.tail());
  }

  @Test
  void aReceiptReportsLostDurability() {
    disk.fail(SimFault.once(1).of(IoOp.SYNC));
    Transaction t = beginExplicit();
    put(t);
    CommitHandle commitHandle = t.commitPipelined();
    var lost = assertThrows(DurabilityLostException.class, commitHandle::await);
    assertTrue(lost.mayHaveCommitted());
    assertTrue(
        assertThrows(DurabilityLostException.class, commitHandle::isDurable).mayHaveCommitted());
  }

  @Test
  void aBodyDoesNotCommitAheadOfTheLog() {
    Transaction t = begin();
    put(t);
    assertThrows(InvalidUseException.class, t::commitPipelined);
    assertTrue(t.isActive());
    t.commitAndWait();
  }

  @Test
  void theRetryLoopAlwaysReturnsAReceipt() {
    RowTable table =
        db.table(TableSpec.of("t", KeySpec.of(FieldType.INT32), Layout.define().build()));
    CommitHandle written = db.runPipelined(tx -> table.insert(tx, table.key().set(1), table.row()));
    assertTrue(written.isDurable()); // there is no log
    assertTrue(db.runPipelined(Transaction::rollback).isDurable());
    assertThrows(
        IllegalStateException.class,
        () ->
            db.runPipelined(
                tx -> {
                  throw new IllegalStateException();
                }));
    assertThrows(InvalidUseException.class, () -> db.run(tx -> db.runPipelined(other -> {})));
  }
}
