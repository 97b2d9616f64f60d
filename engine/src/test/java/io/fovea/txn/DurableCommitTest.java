package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.BTree;
import io.fovea.btree.Position;
import io.fovea.config.Durability;
import io.fovea.error.AbortCause;
import io.fovea.error.CorruptionException;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.StorageFullException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.io.IoOp;
import io.fovea.memory.Mem;
import io.fovea.support.SimFault;
import io.fovea.txn.LoggedFixture.Logged;
import io.fovea.txn.LoggedFixture.Op;
import io.fovea.txn.TxFixture.Client;
import io.fovea.wal.LogConfig;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Commits over a real log on a simulated disk: log contents and waits. */
@Timeout(120)
class DurableCommitTest {
  private static final String LONG = TxFixture.repeat('L', 20_000);

  /** Starts a thread and returns it once it waits for a log position. */
  private static Thread waiting(LoggedFixture f, long lsn, boolean wrote, List<Throwable> thrown) {
    return waiting(Thread.ofPlatform(), f, lsn, wrote, thrown);
  }

  private static Thread waiting(
      Thread.Builder kind, LoggedFixture f, long lsn, boolean wrote, List<Throwable> thrown) {
    Thread thread =
        kind.start(
            () -> {
              try {
                f.tx.engine.await(lsn, wrote);
              } catch (Throwable t) {
                synchronized (thrown) {
                  thrown.add(t);
                }
              }
            });
    while (thread.isAlive()
        && thread.getState() != Thread.State.WAITING
        && thread.getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
    return thread;
  }

  @Test
  void aCommitIsOneRecord() {
    try (LoggedFixture f = LoggedFixture.sync()) {
      BTree a = f.tx.trees.get(0);
      BTree b = f.tx.trees.get(1);
      f.tx.run(
          c -> {
            c.put(a, "k1", "v1");
            c.insert(b, "k2", "v2");
            c.insert(a, "gone", "x");
            c.delete(a, "gone");
            return null;
          });
      f.tx.run(
          c -> {
            c.patch(a, "k1", 1, "X");
            c.patch(a, "k1", 0, "YZ");
            c.delete(b, "k2");
            return null;
          });
      f.tx.run(c -> c.get(a, "k1")); // no record
      f.tx.run(c -> c.delete(a, "absent")); // no record
      List<Logged> all = f.commits();
      assertEquals(2, all.size());
      assertEquals(
          List.of(
              new Op(CommitRecord.PUT, a.treeId(), "k1", "v1"),
              new Op(CommitRecord.PUT, b.treeId(), "k2", "v2")),
          all.get(0).ops());
      assertEquals(
          List.of(
              new Op(CommitRecord.PATCH, a.treeId(), "k1", "1:X"),
              new Op(CommitRecord.PATCH, a.treeId(), "k1", "0:YZ"),
              new Op(CommitRecord.DELETE, b.treeId(), "k2", "")),
          all.get(1).ops());
      assertEquals("YZ", f.tx.run(c -> c.get(a, "k1")));
    }
  }

  @Test
  void deleteOfAnAbsentKeyLogsNothing() {
    try (LoggedFixture f = LoggedFixture.sync()) {
      BTree t = f.tx.tree();
      f.tx.run(
          c -> {
            c.put(t, "k", "v");
            return c.delete(t, "k");
          });
      assertEquals(List.of(), f.commits());
    }
  }

  @Test
  void theRecordNamesThePagesOfLongValues() {
    try (LoggedFixture f = LoggedFixture.sync()) {
      BTree t = f.tx.tree();
      f.tx.run(
          c -> {
            c.put(t, "short", "s");
            return null;
          });
      long before = f.pagesUsed();
      f.tx.run(
          c -> {
            c.put(t, "long", LONG);
            return null;
          });
      long pages = f.pagesUsed() - before;
      assertTrue(pages >= 5, pages + " pages");
      String patched = "LXX" + LONG.substring(3);
      f.tx.run(
          c -> {
            c.patch(t, "long", 1, "X");
            c.patch(t, "long", 2, "X");
            return null;
          });
      assertEquals(patched, f.tx.run(c -> c.get(t, "long")));
      assertEquals(pages, f.pagesUsed() - before, "the old chain is free");
      f.tx.run(
          c -> {
            c.put(t, "long", "now short");
            return null;
          });
      assertEquals(before, f.pagesUsed());
      f.tx.run(
          c -> {
            c.put(t, "long", LONG);
            return null;
          });
      f.tx.run(c -> c.delete(t, "long"));
      assertEquals(before, f.pagesUsed());
      List<Logged> all = f.commits();
      Op chain = new Op(CommitRecord.CHAIN, t.treeId(), "long", "chain of " + LONG.length());
      assertEquals(new Expected(List.of(chain), pages, 0), expected(all.get(1)));
      assertEquals(new Expected(List.of(chain), pages, pages), expected(all.get(2)));
      assertEquals(
          new Expected(
              List.of(new Op(CommitRecord.PUT, t.treeId(), "long", "now short")), 0, pages),
          expected(all.get(3)));
      assertEquals(new Expected(List.of(chain), pages, 0), expected(all.get(4)));
      assertEquals(
          new Expected(List.of(new Op(CommitRecord.DELETE, t.treeId(), "long", "")), 0, pages),
          expected(all.get(5)));
    }
  }

  private record Expected(List<Op> ops, long adopted, long released) {}

  private static Expected expected(Logged l) {
    return new Expected(l.ops(), l.adopted(), l.released());
  }

  @Test
  void aLargeCommitIsAppendedInParts() {
    try (LoggedFixture f = new LoggedFixture(LoggedFixture.config(Durability.SYNC, 2048))) {
      BTree t = f.tx.tree();
      List<Op> expected = new ArrayList<>();
      f.tx.run(
          c -> {
            expected.clear();
            for (int i = 0; i < 300; i++) {
              String key = "key " + (1000 + i);
              String value = TxFixture.repeat((char) ('a' + i % 26), i * 3 % 900);
              c.put(t, key, value);
              expected.add(new Op(CommitRecord.PUT, t.treeId(), key, value));
            }
            return null;
          });
      f.tx.run(
          c -> {
            // Patches of one key in several parts.
            for (int i = 0; i < 500; i++) {
              c.patch(t, "key 1299", i % 90, "patch" + (i % 10));
            }
            return null;
          });
      List<Logged> all = f.commits();
      assertEquals(2, all.size());
      assertEquals(1, all.get(0).parts());
      assertEquals(expected, all.get(0).ops());
      assertEquals(1, all.get(1).parts());
      assertEquals(500, all.get(1).ops().size());
      for (int i = 0; i < 500; i++) {
        assertEquals(i % 90 + ":patch" + i % 10, all.get(1).ops().get(i).value());
      }
      for (Op op : expected.subList(0, 299)) {
        assertEquals(op.value(), f.tx.run(c -> c.get(t, op.key())));
      }
    }
  }

  /** The lock of a key is held from before the append until after the install. */
  @Test
  void theLogHasTheOrderOfInstalls() throws InterruptedException {
    try (LoggedFixture f = LoggedFixture.sync()) {
      BTree t = f.tx.tree();
      int keys = 5;
      f.tx.run(
          c -> {
            for (int k = 0; k < keys; k++) {
              c.put(t, "counter" + k, "0");
            }
            return null;
          });
      Thread[] threads = new Thread[4];
      for (int n = 0; n < threads.length; n++) {
        SplittableRandom random = new SplittableRandom(n);
        threads[n] =
            new Thread(
                () -> {
                  for (int i = 0; i < 150; i++) {
                    f.tx.run(
                        c -> {
                          for (int k = 0; k < 2; k++) {
                            String key = "counter" + random.nextInt(keys);
                            int value = Integer.parseInt(c.get(t, key));
                            c.put(t, key, Integer.toString(value + 1));
                          }
                          return null;
                        });
                  }
                });
      }
      Failures.runAll(threads);
      Map<String, Integer> last = new HashMap<>();
      for (Logged l : f.commits()) {
        for (Op op : l.ops()) {
          int value = Integer.parseInt(op.value());
          Integer before = last.put(op.key(), value);
          // One transaction may raise a counter twice.
          assertTrue(
              before == null ? value == 0 : value == before + 1 || value == before + 2,
              op + " after " + before);
        }
      }
      for (int k = 0; k < keys; k++) {
        String key = "counter" + k;
        assertEquals(Integer.toString(last.get(key)), f.tx.run(c -> c.get(t, key)));
      }
    }
  }

  @Test
  void readerWaitsOnlyForWhatItHasRead() throws InterruptedException {
    try (LoggedFixture f = LoggedFixture.sync()) {
      BTree fresh = f.tx.trees.get(0);
      BTree old = f.tx.trees.get(1);
      f.tx.run(
          c -> {
            c.put(fresh, "k", "1");
            c.put(old, "k", "1");
            return null;
          });
      f.disk.hold(IoOp.SYNC);
      Client writer = new Client(f.tx.begin());
      writer.put(fresh, "k", "2");
      long written = writer.commit();
      assertTrue(written > f.log.durableLsn());
      List<Throwable> thrown = new ArrayList<>();
      Thread w = waiting(f, written, true, thrown);
      f.disk.awaitHeld(1);

      // The locks are released: the new value is visible and may be overwritten.
      Client reader = new Client(f.tx.begin());
      assertEquals("2", reader.get(fresh, "k"));
      assertEquals(reader.tx.readLsn(), reader.commit());
      long seen = lastLsn(f, c -> c.get(fresh, "k"));
      assertEquals(written, seen);
      Thread r = waiting(f, seen, false, thrown);

      long untouched = lastLsn(f, c -> c.get(old, "k"));
      assertTrue(untouched > 0 && untouched <= f.log.durableLsn(), untouched + "");
      f.tx.engine.await(untouched, false); // does not hang

      assertTrue(w.isAlive());
      assertTrue(r.isAlive());
      f.disk.letGo();
      w.join();
      r.join();
      assertEquals(List.of(), thrown);
      assertTrue(f.log.durableLsn() >= written);
      TxStats stats = f.tx.engine.stats();
      assertTrue(stats.durableWaits() >= 2, stats.toString());
      assertTrue(stats.durableWaitNanos() > 0, stats.toString());
    }
  }

  private static long lastLsn(LoggedFixture f, TxFixture.Body<Object> body) {
    Client c = new Client(f.tx.begin());
    body.run(c);
    return c.commit();
  }

  /** The absence of a key, of a range, or of all keys in a leaf is also a change. */
  @Test
  void aReaderOfAnAbsentKeyWaitsForItsDelete() {
    try (LoggedFixture f = LoggedFixture.sync()) {
      BTree t = f.tx.tree();
      String value = TxFixture.repeat('v', 200);
      f.tx.run(
          c -> {
            for (int i = 1000; i < 1400; i++) {
              c.put(t, "k" + i, value);
            }
            return null;
          });
      f.log.awaitDurable(f.log.tail());
      f.disk.hold(IoOp.SYNC);
      // Leaves in the middle become small, and may merge.
      for (int i = 1100; i < 1300; i++) {
        int k = i;
        Client c = new Client(f.tx.begin());
        c.delete(t, "k" + k);
        long written = c.commit();
        assertTrue(written > f.log.durableLsn());
        assertTrue(lastLsn(f, r -> r.get(t, "k" + k)) >= written, "point read " + k);
        for (boolean descending : new boolean[] {false, true}) {
          long seen =
              lastLsn(f, r -> r.scan(t, "k" + (k - 1), true, "k" + k + "x", true, descending));
          assertTrue(seen >= written, "scan " + k + ", descending: " + descending);
        }
        long over = lastLsn(f, r -> r.scan(t, "k1050", true, "k1350", true, false));
        assertTrue(over >= written, "scan over the gap, " + k);
      }
      assertTrue(lastLsn(f, r -> r.get(t, "k1000")) > 0);
    }
  }

  /** An empty leaf is skipped, but its emptiness may be a recent change. */
  @Test
  void aScanOfAnEmptyLeafWaitsForItsDeletes() {
    try (LoggedFixture f = LoggedFixture.sync()) {
      BTree t = f.tx.tree();
      String value = TxFixture.repeat('v', 900);
      f.tx.run(
          c -> {
            for (int i = 10; i < 90; i++) {
              c.put(t, "k" + i, value);
            }
            return null;
          });
      f.log.awaitDurable(f.log.tail());
      f.disk.hold(IoOp.SYNC);
      LogSession session = f.log.session();
      session.begin(1 << 16);
      Position p = new Position();
      long end = 0;
      for (int i = 30; i < 60; i++) {
        MemorySegment key = TxFixture.bytes("k" + i);
        int body = CommitRecord.HEADER + CommitRecord.deleteBytes(3);
        session.grant(LogSession.space(body));
        long at = session.reserve(RecordType.COMMIT, body);
        CommitRecord.delete(
            session.buffer(),
            CommitRecord.header(session.buffer(), at, 0, 1, 0, 0, 0),
            t.treeId(),
            key,
            0,
            3);
        session.complete();
        end = session.recordEnd();
        session.position(session.recordStart(), end);
        assertTrue(t.remove(key, 0, 3, false, p, session)); // nothing is merged
        long written = end;
        for (boolean descending : new boolean[] {false, true}) {
          long seen = lastLsn(f, r -> r.scan(t, "k30", true, "k61", false, descending));
          assertTrue(seen >= written, "k" + i + ", descending: " + descending);
        }
      }
      session.end();
    }
  }

  /** The same holds for the gap above the last key of a tree. */
  @Test
  void aScanToTheEndWaitsForDeletesThere() {
    try (LoggedFixture f = LoggedFixture.sync()) {
      BTree t = f.tx.tree();
      f.tx.run(
          c -> {
            c.put(t, "a", "1");
            c.put(t, "z", "1");
            return null;
          });
      f.disk.hold(IoOp.SYNC);
      Client c = new Client(f.tx.begin());
      c.delete(t, "z");
      long written = c.commit();
      assertTrue(lastLsn(f, r -> r.all(t)) >= written);
      assertTrue(lastLsn(f, r -> r.scan(t, null, true, null, true, true)) >= written);
      assertTrue(lastLsn(f, r -> r.scan(t, "b", true, null, true, true)) >= written);
      assertTrue(lastLsn(f, r -> r.scan(t, "y", true, "zz", true, true)) >= written);
    }
  }

  @Test
  void aWriterWaitsForWhatItHasReadByItsOwnRecord() {
    try (LoggedFixture f = LoggedFixture.sync()) {
      BTree a = f.tx.trees.get(0);
      BTree b = f.tx.trees.get(1);
      f.disk.hold(IoOp.SYNC);
      long first =
          lastLsn(
              f,
              c -> {
                c.put(a, "k", "1");
                return null;
              });
      long second =
          lastLsn(
              f,
              c -> {
                c.put(b, "copy", c.get(a, "k"));
                return null;
              });
      assertTrue(second > first);
      assertTrue(second > f.log.durableLsn());
    }
  }

  @Test
  void anInterruptDoesNotEndTheWaitAndIsKept() throws InterruptedException {
    for (boolean virtual : new boolean[] {false, true}) {
      try (LoggedFixture f = LoggedFixture.sync()) {
        BTree t = f.tx.tree();
        f.disk.hold(IoOp.SYNC);
        long lsn =
            lastLsn(
                f,
                c -> {
                  c.put(t, "k", "v");
                  return null;
                });
        AtomicBoolean kept = new AtomicBoolean();
        AtomicBoolean before = new AtomicBoolean(true);
        Runnable wait =
            () -> {
              f.tx.engine.await(lsn, true);
              before.set(f.log.durableLsn() < lsn);
              kept.set(Thread.currentThread().isInterrupted());
            };
        Thread w = virtual ? Thread.ofVirtual().start(wait) : Thread.ofPlatform().start(wait);
        f.disk.awaitHeld(1);
        for (int i = 0; i < 5; i++) {
          w.interrupt();
          Thread.yield();
        }
        assertTrue(w.isAlive());
        f.disk.letGo();
        w.join();
        assertTrue(kept.get());
        assertFalse(before.get());
      }
    }
  }

  @Test
  void waitingVirtualThreadsUnmount() throws InterruptedException {
    try (LoggedFixture f = LoggedFixture.sync()) {
      BTree t = f.tx.tree();
      f.disk.hold(IoOp.SYNC);
      List<Throwable> thrown = new ArrayList<>();
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        String key = "k" + i;
        long lsn =
            lastLsn(
                f,
                c -> {
                  c.put(t, key, "v");
                  return null;
                });
        threads.add(waiting(Thread.ofVirtual(), f, lsn, true, thrown));
      }
      f.disk.letGo();
      for (Thread thread : threads) {
        thread.join();
      }
      assertEquals(List.of(), thrown);
    }
  }

  @Test
  void withoutSyncCommitsDoNotWait() {
    try (LoggedFixture f = new LoggedFixture(LoggedFixture.config(Durability.ASYNC, 1 << 16))) {
      BTree t = f.tx.tree();
      f.log.awaitDurable(f.log.tail());
      f.disk.hold(IoOp.SYNC);
      for (int i = 0; i < 20; i++) {
        String key = "k" + i;
        Client c = new Client(f.tx.begin());
        c.put(t, key, "v");
        long lsn = c.commit();
        f.tx.engine.await(lsn, true);
        assertTrue(lsn > f.log.durableLsn());
        Client r = new Client(f.tx.begin());
        assertEquals("v", r.get(t, key));
        assertEquals(0, r.commit());
      }
      assertEquals(0, f.tx.engine.stats().durableWaits());
      f.disk.letGo();
      assertEquals(20, f.commits().size());
    }
  }

  /** A failure after the chains were written and before the append has no effect. */
  @Test
  void aFailureBeforeTheAppendReleasesEverything() {
    // Parts of 1 KiB: the counts of a commit may take 256 bytes.
    try (LoggedFixture f = new LoggedFixture(LoggedFixture.config(Durability.SYNC, 1024))) {
      BTree t = f.tx.tree();
      List<BTree> many = new ArrayList<>();
      LogSession session = f.log.session();
      session.begin(0);
      for (int i = 0; i < 100; i++) {
        many.add(BTree.create(f.tx.pool, 100 + i, session));
      }
      session.end();
      f.tx.run(
          c -> {
            c.put(t, "k", "old");
            return null;
          });
      long used = f.pagesUsed();
      Client c = new Client(f.tx.begin());
      c.put(t, "k", "new");
      for (int i = 0; i < 30; i++) {
        c.put(t, "long" + i, LONG);
      }
      for (BTree other : many) {
        c.put(other, "k", "new");
      }
      var e = assertThrows(TransactionAbortedException.class, c::commit);
      assertEquals(AbortCause.TOO_LARGE, e.abortCause());
      assertEquals(used, f.pagesUsed());
      assertEquals(1, f.commits().size());
      assertEquals(Long.MAX_VALUE, f.log.minActive());
      assertEquals("old", f.tx.run(r -> r.get(t, "k")));
      assertNull(f.tx.run(r -> r.get(t, "long3")));
      f.tx.run( // no lock is left
          r -> {
            r.put(t, "k", "newer");
            r.put(t, "long3", LONG);
            return null;
          });
      assertEquals(LONG, f.tx.run(r -> r.get(t, "long3")));
      assertEquals(1, f.tx.engine.stats().aborts()[AbortCause.TOO_LARGE.ordinal()]);
    }
  }

  @Test
  void abortLogsNothing() {
    try (LoggedFixture f = LoggedFixture.sync()) {
      BTree t = f.tx.tree();
      f.tx.run(
          c -> {
            c.put(t, "a", "1");
            return null;
          });
      Client loser = new Client(f.tx.begin());
      loser.get(t, "a");
      loser.put(t, "b", LONG);
      f.tx.run(
          c -> {
            c.put(t, "a", "2");
            return null;
          });
      long used = f.pagesUsed();
      assertThrows(TransactionAbortedException.class, loser::commit);
      assertEquals(used, f.pagesUsed());
      assertEquals(2, f.commits().size());
      assertEquals(Long.MAX_VALUE, f.log.minActive());
    }
  }

  /** The record is in the log but cannot be installed: others would see half of it. */
  @Test
  void aFailureAfterTheAppendStopsTheDatabase() {
    LoggedFixture f = LoggedFixture.sync();
    try {
      BTree t = f.tx.trees.get(0);
      BTree other = f.tx.trees.get(1);
      f.tx.run(
          c -> {
            c.put(t, "k", "1");
            c.put(other, "k", "1");
            return null;
          });
      Client reader = new Client(f.tx.begin());
      // Dead bytes in the leaf's header matter only if space is needed.
      Position p = new Position();
      t.find(TxFixture.bytes("k"), 0, 1, p);
      Mem.putShort(f.tx.pool.pages(), f.tx.pool.base(p.frame) + 42, Short.MAX_VALUE);
      long tail = f.log.tail();
      Client c = new Client(f.tx.begin());
      c.put(other, "k", "2");
      c.put(t, "k", "longer");
      var lost = assertThrows(DurabilityLostException.class, c::commit);
      assertTrue(lost.mayHaveCommitted());
      assertTrue(lost.getCause() instanceof CorruptionException, "" + lost.getCause());
      assertNotNull(f.tx.engine.poison());
      assertThrows(DurabilityLostException.class, () -> f.tx.begin());
      // A running transaction does not see the part that is installed.
      assertThrows(RuntimeException.class, () -> reader.get(other, "k"));
      assertEquals(tail, f.log.minActive(), "the redo point stays before the record");
      assertEquals(2, f.commits().size());
    } finally {
      f.crash();
    }
  }

  /** The log has failed, but pages can be written: a waiting thread gets an error. */
  @Test
  void aCommitWhoseLogFailsIsInDoubt() throws InterruptedException {
    LoggedFixture f = LoggedFixture.sync();
    try {
      BTree t = f.tx.tree();
      f.tx.run(
          c -> {
            for (int i = 0; i < 3; i++) {
              c.put(t, "k" + i, TxFixture.repeat('v', 900));
            }
            return null;
          });
      f.disk.hold(IoOp.SYNC);
      Position p = new Position();
      t.find(TxFixture.bytes("k1"), 0, 2, p);
      assertEquals(p.frame, t.pool().fixShared(p.pid));
      AtomicReference<Throwable> thrown = new AtomicReference<>();
      long tail = f.log.tail();
      Thread w =
          new Thread(
              () -> {
                Client c = new Client(f.tx.begin());
                c.put(t, "k1x", TxFixture.repeat('w', 1000)); // the leaf is split
                c.put(t, "k1y", TxFixture.repeat('w', 1000));
                try {
                  f.tx.engine.await(c.commit(), true);
                } catch (Throwable e) {
                  thrown.set(e);
                }
              });
      w.start();
      while (f.log.tail() == tail) {
        Thread.onSpinWait();
      }
      f.log.fail(new IllegalStateException("the device has failed"));
      t.releaseShared(p);
      w.join();
      var lost = (DurabilityLostException) thrown.get();
      assertNotNull(lost);
      assertTrue(lost.mayHaveCommitted());
      assertThrows(DurabilityLostException.class, () -> f.tx.begin());
    } finally {
      f.crash();
    }
  }

  @Test
  void aFullLogRefusesWritesAndAllowsReads() {
    LogConfig small = new LogConfig(128 << 10, 64 << 10, 5_000_000, 16 << 10);
    try (LoggedFixture f =
        new LoggedFixture(LoggedFixture.config(Durability.SYNC, 1 << 12), 512, small)) {
      BTree t = f.tx.tree();
      f.disk.capacity(512 << 10);
      String value = TxFixture.repeat('v', 500);
      int done = 0;
      StorageFullException full = null;
      while (full == null && done < 5000) {
        String key = "k" + done % 50;
        try {
          f.tx.run(
              c -> {
                c.put(t, key, value);
                return null;
              });
          done++;
        } catch (StorageFullException e) {
          full = e;
        }
      }
      assertNotNull(full, done + " commits");
      assertEquals(value, f.tx.run(c -> c.get(t, "k1")));
      assertEquals(Long.MAX_VALUE, f.log.minActive());
      f.disk.capacity(64 << 20);
      boolean again = false;
      while (!again) {
        try {
          f.tx.run(
              c -> {
                c.put(t, "k1", "there is space again");
                return null;
              });
          again = true;
        } catch (StorageFullException e) {
          Thread.onSpinWait();
        }
      }
      assertEquals("there is space again", f.tx.run(c -> c.get(t, "k1")));
      assertEquals(done + 1, f.commits().size());
    }
  }

  @Test
  void aFailedSyncIsFinal() {
    LoggedFixture f = LoggedFixture.sync();
    try {
      BTree t = f.tx.tree();
      f.tx.run(
          c -> {
            c.put(t, "k", "durable");
            return null;
          });
      Client early = new Client(f.tx.begin());
      assertEquals("durable", early.get(t, "k"));
      Client late = new Client(f.tx.begin());
      late.put(t, "other", "v");
      f.disk.fail(SimFault.once(1).of(IoOp.SYNC));
      Client c = new Client(f.tx.begin());
      c.put(t, "k", "lost?");
      long lsn = c.commit();
      var e = assertThrows(DurabilityLostException.class, () -> f.tx.engine.await(lsn, true));
      assertTrue(e.mayHaveCommitted());
      // A reader of durable data has a valid result.
      f.tx.engine.await(early.commit(), false);
      // A later commit has no effect, and reports this.
      var refused = assertThrows(DurabilityLostException.class, late::commit);
      assertFalse(refused.mayHaveCommitted());
      assertThrows(DurabilityLostException.class, f.tx::begin);
      assertThrows(
          DurabilityLostException.class, () -> f.tx.engine.await(lsn, false), "a reader of it");
    } finally {
      f.crash();
    }
  }

  @Test
  void anAsyncCommitInFlightIsInDoubtWhenDurabilityIsLost() {
    LoggedFixture f = new LoggedFixture(LoggedFixture.config(Durability.ASYNC, 1 << 16));
    try {
      BTree t = f.tx.tree();
      Client c = new Client(f.tx.begin());
      c.put(t, "k", "v");
      f.disk.hold(IoOp.SYNC);
      long lsn = c.commit();
      f.log.fail(new IllegalStateException("the device has failed"));
      var e = assertThrows(DurabilityLostException.class, () -> f.tx.engine.await(lsn, true));
      assertTrue(e.mayHaveCommitted());
      assertThrows(DurabilityLostException.class, f.tx::begin);
    } finally {
      f.crash();
    }
  }

  /** A close that cannot make the log durable abandons it, including the commit's record. */
  @Test
  void aCommitWhoseLogIsAbandonedIsInDoubt() {
    LoggedFixture f = LoggedFixture.sync();
    try {
      BTree t = f.tx.tree();
      Client c = new Client(f.tx.begin());
      c.put(t, "k", "v");
      long lsn = c.commit();
      f.log.abandon();
      var lost = assertThrows(DurabilityLostException.class, () -> f.tx.engine.await(lsn, true));
      assertTrue(lost.mayHaveCommitted());
      assertThrows(
          DatabaseClosedException.class, () -> f.tx.engine.await(lsn, false), "a reader of it");
    } finally {
      f.crash();
    }
  }
}
