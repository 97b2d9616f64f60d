package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.BTree;
import io.fovea.btree.Position;
import io.fovea.config.Durability;
import io.fovea.txn.TxFixture.Client;
import io.fovea.wal.Log;
import io.fovea.wal.LogReader;
import io.fovea.wal.RecordType;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The leaf that a commit's operation names is where the key was last found or missed. */
@Timeout(60)
class CommitLeavesTest {
  private static final int KEYS = 2000;

  private static String key(int i) {
    return String.format("%06d", 10 * i);
  }

  private static LoggedFixture fixture(int partBytes) {
    LoggedFixture f = new LoggedFixture(LoggedFixture.config(Durability.SYNC, partBytes));
    for (BTree t : f.tx.trees) {
      run(
          f,
          c -> {
            for (int i = 0; i < KEYS; i++) {
              c.put(t, key(i), "value " + (10_000 + i));
            }
          });
    }
    return f;
  }

  private static void run(LoggedFixture f, Consumer<Client> body) {
    f.tx.run(
        c -> {
          body.accept(c);
          return null;
        });
  }

  /** Returns the leaves that the last commit's operations name, per record. */
  private static List<List<Long>> named(LoggedFixture f) {
    f.log.awaitDurable(f.log.tail());
    List<List<Long>> all = new ArrayList<>();
    CommitCursor c = new CommitCursor();
    boolean ended = true;
    try (LogReader reader =
        LogReader.open(f.disk.device("log"), LoggedFixture.DATABASE, Log.FIRST_LSN)) {
      while (reader.next()) {
        int type = reader.type();
        if (type == RecordType.COMMIT || type == RecordType.COMMIT_PART) {
          if (ended) {
            all.clear();
          }
          c.open(type, reader.segment(), reader.body(), reader.bodyLength());
          List<Long> leaves = new ArrayList<>();
          while (c.next()) {
            leaves.add(c.leaf());
          }
          all.add(leaves);
          ended = type == RecordType.COMMIT;
        }
      }
    }
    return all;
  }

  private static long leaf(BTree t, String key) {
    Position p = new Position();
    t.find(TxFixture.bytes(key), 0, TxFixture.length(key), p);
    return p.pid;
  }

  @Test
  void theLeafOfTheRead() {
    try (LoggedFixture f = fixture(1 << 16)) {
      BTree a = f.tx.trees.get(0);
      BTree b = f.tx.trees.get(1);
      List<Long> expected =
          List.of(
              leaf(a, key(5)),
              leaf(b, key(1900)),
              leaf(b, key(1900)),
              leaf(a, key(1000)),
              leaf(a, key(77) + "x"),
              leaf(b, key(3)));
      assertTrue(expected.stream().distinct().count() >= 4, expected::toString);
      run(
          f,
          c -> {
            c.put(a, key(5), c.get(a, key(5))); // read and written
            c.patch(b, key(1900), 0, "V"); // two operations
            c.patch(b, key(1900), 2, "L");
            c.delete(a, key(1000));
            c.insert(a, key(77) + "x", "new");
            c.put(b, key(3), "blind");
          });
      assertEquals(List.of(expected), named(f));
    }
  }

  @Test
  void followersNameTheLeafOfTheFirst() {
    try (LoggedFixture f = fixture(1 << 16)) {
      BTree a = f.tx.trees.get(0);
      long expected = leaf(a, key(500) + "a");
      run(
          f,
          c -> {
            for (char x = 'a'; x < 'z'; x++) {
              c.put(a, key(500) + x, TxFixture.repeat(x, 400));
            }
          });
      assertTrue(
          expected != leaf(a, key(500) + "a") || expected != leaf(a, key(500) + "y"),
          "it was split");
      List<List<Long>> named = named(f);
      assertEquals(1, named.size());
      assertEquals(25, named.get(0).size());
      for (long leaf : named.get(0)) {
        assertEquals(expected, leaf);
      }
    }
  }

  /** Each part is readable on its own, and starts without a known leaf. */
  @Test
  void partsStartWithoutALeaf() {
    try (LoggedFixture f = fixture(1024)) {
      BTree a = f.tx.trees.get(0);
      List<Long> expected = new ArrayList<>();
      for (int i = 0; i < KEYS; i += 5) {
        expected.add(leaf(a, key(i)));
      }
      run(
          f,
          c -> {
            for (int i = 0; i < KEYS; i += 5) {
              c.patch(a, key(i), 1, "X");
            }
          });
      List<List<Long>> named = named(f);
      assertTrue(named.size() > 5, named.size() + " parts");
      assertEquals(expected, named.stream().flatMap(List::stream).toList());
      run(
          f,
          c -> {
            for (int i = 0; i < 200; i++) {
              c.put(a, key(KEYS + i), "value " + i);
            }
          });
      List<Long> last = named(f).stream().flatMap(List::stream).toList();
      assertEquals(200, last.size());
      assertNotEquals(0L, last.get(0));
    }
  }
}
