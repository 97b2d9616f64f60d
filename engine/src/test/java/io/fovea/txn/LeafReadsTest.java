package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.BTree;
import io.fovea.error.TransactionAbortedException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Scans by leaves find what scans by items find, read no items, detect every change, and switch to
 * items if there are too many leaves.
 */
class LeafReadsTest {
  private static final int KEYS = 3_000;

  private static TxFixture fixture(int frames) {
    return new TxFixture(Configs.contexts(16), frames, 2, FaultInjection.NONE.byLeaves());
  }

  private static String key(int n) {
    return String.format(Locale.ROOT, "key%06d", n);
  }

  private static void fill(TxFixture f, int keys) {
    for (int first = 0; first < keys; first += 100) {
      int from = first;
      f.run(
          c -> {
            for (int n = from; n < Math.min(keys, from + 100); n++) {
              c.put(f.tree(), key(2 * n), TxFixture.repeat('v', 20 + n % 50));
            }
            return null;
          });
    }
  }

  private static TxFixture.Client reader(TxFixture f) {
    return new TxFixture.Client(f.engine.begin(true, 0, false));
  }

  private static long made(TxFixture f) {
    return f.engine.timestamps().stats().materialised();
  }

  @Property(tries = 15)
  void scansFindAllRecords(@ForAll long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    try (TxFixture f = fixture(512)) {
      TreeMap<String, String> model = new TreeMap<>();
      for (int round = 0; round < 3; round++) {
        boolean longValues = round == 2; // outside of the leaves, so read by items
        f.run(c -> change(c, f.tree(), model, new SplittableRandom(seed), longValues));
        long before = made(f);
        for (int i = 0; i < 60; i++) {
          String low = random.nextInt(5) == 0 ? null : some(random);
          String high = random.nextInt(5) == 0 ? null : some(random);
          boolean li = random.nextBoolean();
          boolean hi = random.nextBoolean();
          boolean down = random.nextBoolean();
          TxFixture.Client c = reader(f);
          assertEquals(
              expected(model, low, li, high, hi, down),
              c.scan(f.tree(), low, li, high, hi, down),
              () -> low + " " + li + " to " + high + " " + hi + ", down: " + down);
          c.commit();
        }
        if (!longValues) {
          assertEquals(before, made(f), "no item was read");
        }
      }
    }
  }

  /** Makes the same changes whenever it runs; idempotent. */
  private static Void change(
      TxFixture.Client c,
      BTree tree,
      TreeMap<String, String> model,
      SplittableRandom random,
      boolean longValues) {
    int size = model.size();
    for (int i = 0; i < 400; i++) {
      String key = some(random) + size;
      if (random.nextInt(4) == 0) {
        c.delete(tree, key);
        model.remove(key);
      } else {
        String value =
            TxFixture.repeat('w', random.nextInt(longValues && i % 20 == 0 ? 3_000 : 120));
        c.put(tree, key, value);
        model.put(key, value);
      }
    }
    return null;
  }

  private static String some(SplittableRandom random) {
    StringBuilder s = new StringBuilder(random.nextBoolean() ? "prefix" : "");
    for (int n = 1 + random.nextInt(6); n > 0; n--) {
      s.append((char) ('a' + random.nextInt(4)));
    }
    return s.toString();
  }

  private static List<String> expected(
      TreeMap<String, String> model,
      String low,
      boolean li,
      String high,
      boolean hi,
      boolean down) {
    List<String> out = new ArrayList<>();
    for (var e : (down ? model.descendingMap() : model).entrySet()) {
      int l = low == null ? 1 : e.getKey().compareTo(low);
      int h = high == null ? -1 : e.getKey().compareTo(high);
      if ((l > 0 || l == 0 && li) && (h < 0 || h == 0 && hi)) {
        out.add(e.getKey() + "=" + e.getValue());
      }
    }
    return out;
  }

  @Test
  void aScanOfAnEmptyRangeNoticesInserts() {
    try (TxFixture f = fixture(512)) {
      fill(f, KEYS);
      for (boolean down : new boolean[] {false, true}) {
        TxFixture.Client scanner = reader(f);
        assertEquals(List.of(), scanner.scan(f.tree(), key(1001), true, key(1001), true, down));
        f.run(
            c -> {
              c.put(f.tree(), key(1001), "came");
              return null;
            });
        assertThrows(TransactionAbortedException.class, scanner::commit);
        f.run(c -> c.delete(f.tree(), key(1001)));
        again(f);
      }
    }
  }

  /** After an abort the context uses items once, and then leaves again. */
  private static void again(TxFixture f) {
    for (int i = 0; i < 64; i++) {
      TxFixture.Client c = reader(f);
      c.scan(f.tree(), key(0), true, key(10), true, false);
      c.commit();
    }
  }

  @Test
  void afterAnAbortTheContextUsesItemsForAWhile() {
    try (TxFixture f = fixture(512)) {
      fill(f, KEYS);
      TxFixture.Client scanner = reader(f);
      scanner.scan(f.tree(), key(100), true, key(110), true, false);
      int context = scanner.tx.context();
      f.run(
          c -> {
            c.put(f.tree(), key(112), "a neighbour");
            return null;
          });
      assertThrows(TransactionAbortedException.class, scanner::commit);
      boolean byItems = false;
      for (int i = 0; i < 64 && !byItems; i++) {
        long before = made(f);
        TxFixture.Client c = reader(f);
        boolean same = c.tx.context() == context;
        c.scan(f.tree(), key(2000 + 20 * i), true, key(2010 + 20 * i), true, false);
        c.commit();
        byItems = same && made(f) > before;
      }
      assertTrue(byItems, "one scan was to use items");
      again(f);
      long before = made(f);
      again(f);
      assertEquals(before, made(f), "no further scan was to");
    }
  }

  /** The timestamp of a scan by leaves is that of the last commit, whatever it changed. */
  @Test
  void readsByItemsMustHoldAtTheTimestampOfTheLeaves() {
    try (TxFixture f = fixture(512)) {
      fill(f, KEYS);
      for (boolean changes : new boolean[] {true, false}) {
        TxFixture.Client reader = reader(f);
        reader.get(f.tree(), key(0));
        reader.scan(f.tree(), key(4000), true, key(4100), true, true);
        f.run(
            c -> {
              c.put(f.trees.get(1), key(1), "a change elsewhere");
              if (changes) {
                c.put(f.tree(), key(0), "other");
              }
              return null;
            });
        if (changes) {
          assertThrows(TransactionAbortedException.class, reader::commit);
          again(f);
        } else {
          assertTrue(reader.tx.readsValid());
          reader.commit();
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void tooManyLeavesAreReadByItems(boolean down) {
    try (TxFixture f = fixture(64)) {
      fill(f, KEYS);
      List<String> all = f.run(c -> c.all(f.tree()));
      if (down) {
        all = all.reversed();
      }
      for (int at = 0; at < 40; at++) {
        TxFixture.Client scanner = reader(f);
        assertEquals(all, scanner.scan(f.tree(), null, true, null, true, down));
        String comes = key(2 * (at * KEYS / 40) + 1);
        f.run(
            c -> {
              c.put(f.tree(), comes, "came");
              c.put(f.trees.get(1), "seen", "yes");
              return null;
            });
        // Read together with later data, so the scan cannot precede it.
        assertThrows(
            TransactionAbortedException.class,
            () -> {
              scanner.get(f.trees.get(1), "seen");
              scanner.commit();
            },
            comes);
        scanner.rollback();
        f.run(c -> c.delete(f.tree(), comes));
      }
    }
  }

  /** Money moves between accounts that are created and deleted; each scan finds all of it. */
  @ParameterizedTest
  @ValueSource(ints = {96, 512})
  void scansSeeWholeCommits(int frames) throws InterruptedException {
    int accounts = 400;
    try (TxFixture f = fixture(frames)) {
      f.run(
          c -> {
            for (int n = 0; n < accounts; n++) {
              c.put(f.tree(), key(n), "100" + TxFixture.repeat(' ', 40));
            }
            return null;
          });
      AtomicReference<Throwable> failed = new AtomicReference<>();
      AtomicBoolean over = new AtomicBoolean();
      AtomicInteger up = new AtomicInteger();
      AtomicInteger down = new AtomicInteger();
      List<Thread> writers = new ArrayList<>();
      for (int t = 0; t < 2; t++) {
        SplittableRandom random = new SplittableRandom(t);
        writers.add(
            thread(
                failed,
                () -> {
                  // Until each reader has run, because these two threads may occupy both
                  // processors.
                  for (int i = 0;
                      (i < 1_000 || up.get() < 2 || down.get() < 2) && failed.get() == null;
                      i++) {
                    int from = random.nextInt(accounts);
                    int to = random.nextInt(accounts);
                    f.run(c -> move(c, f.tree(), key(from), key(to)));
                  }
                }));
      }
      List<Thread> readers = new ArrayList<>();
      for (AtomicInteger scans : List.of(up, down)) {
        readers.add(
            thread(
                failed,
                () -> {
                  while (!over.get() && failed.get() == null) {
                    assertEquals(100L * accounts, sum(f, scans == down));
                    scans.incrementAndGet();
                  }
                }));
      }
      for (Thread t : writers) {
        t.join();
      }
      over.set(true);
      for (Thread t : readers) {
        t.join();
      }
      if (failed.get() != null) {
        throw new AssertionError(failed.get());
      }
      assertEquals(100L * accounts, sum(f, false));
    }
  }

  private static Thread thread(AtomicReference<Throwable> failed, Runnable body) {
    return Thread.ofPlatform()
        .start(
            () -> {
              try {
                body.run();
              } catch (Throwable t) {
                failed.compareAndSet(null, t);
              }
            });
  }

  /** Moves everything of an account, and deletes the account. */
  private static Void move(TxFixture.Client c, BTree tree, String from, String to) {
    String has = c.get(tree, from);
    if (has == null || from.equals(to)) {
      return null;
    }
    String other = c.get(tree, to);
    long sum = amount(has) + (other == null ? 0 : amount(other));
    c.delete(tree, from);
    c.put(tree, to, sum + TxFixture.repeat(' ', 40));
    return null;
  }

  private static long amount(String value) {
    return Long.parseLong(value.strip());
  }

  private static long sum(TxFixture f, boolean down) {
    try (Attempts attempts = f.engine.attempts(1_000)) {
      while (true) {
        TxFixture.Client c = new TxFixture.Client(f.engine.begin(true, 0, attempts));
        try {
          long sum = 0;
          for (String s : c.scan(f.tree(), null, true, null, true, down)) {
            sum += amount(s.substring(s.indexOf('=') + 1));
          }
          c.commit();
          return sum;
        } catch (TransactionAbortedException e) {
          c.rollback();
        }
        attempts.backOff();
      }
    }
  }
}
