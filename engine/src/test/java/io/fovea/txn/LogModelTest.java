package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.BTree;
import io.fovea.config.Durability;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.support.TestEnvironment;
import io.fovea.txn.LoggedFixture.Logged;
import io.fovea.txn.LoggedFixture.Op;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The log of random threads, applied to a sorted map, yields the contents of the trees. */
class LogModelTest {
  @Property(tries = 12)
  void theLogDescribesTheTrees(
      @ForAll long seed,
      @ForAll @IntRange(min = 4, max = 60) int keys,
      @ForAll boolean inParts,
      @ForAll boolean sync)
      throws InterruptedException {
    TxConfig config = config(inParts, sync);
    try (LoggedFixture f = new LoggedFixture(config)) {
      run(f, seed, keys, 60, TestEnvironment.PLAIN);
    }
  }

  private static TxConfig config(boolean inParts, boolean sync) {
    return LoggedFixture.config(
        sync ? Durability.SYNC : Durability.ASYNC, inParts ? 1024 : 1 << 16);
  }

  @ParameterizedTest
  @EnumSource
  void inEnvironment(TestEnvironment environment) {
    environment.each(
        3,
        (deviceState, seed) -> {
          try (LoggedFixture f =
              environment.making(
                  () ->
                      new LoggedFixture(
                          config(seed % 2 == 0, seed % 3 == 0), environment, deviceState))) {
            run(f, seed, 200, environment.steps(150), environment);
            assertTrue(
                !environment.smallest() || environment.delays() || f.tx.pool.stats().misses() > 20,
                "it fits");
          }
        });
  }

  private static void run(
      LoggedFixture f, long seed, int keys, int transactions, TestEnvironment environment)
      throws InterruptedException {
    int page = f.tx.pool.pageSize();
    Thread[] threads = new Thread[3];
    for (int n = 0; n < threads.length; n++) {
      SplittableRandom random = new SplittableRandom(seed + n);
      threads[n] =
          new Thread(
              () -> {
                for (int i = 0; i < transactions; i++) {
                  long once = random.nextLong();
                  environment.patiently(
                      () ->
                          f.tx.run(
                              c -> {
                                SplittableRandom r = new SplittableRandom(once); // repeatable
                                for (int k = 1 + r.nextInt(6); k > 0; k--) {
                                  step(
                                      c,
                                      f.tx.trees.get(r.nextInt(2)),
                                      "key" + r.nextInt(keys),
                                      page,
                                      r);
                                }
                                return null;
                              }));
                }
              });
    }
    Failures.runAll(threads);
    f.deviceState.faults(false);
    List<TreeMap<String, String>> model = List.of(new TreeMap<>(), new TreeMap<>());
    long pages = 0;
    for (Logged l : f.commits()) {
      pages += l.adopted() - l.released();
      for (Op op : l.ops()) {
        apply(model.get(op.tree() - f.tx.tree().treeId()), op);
      }
    }
    long chainPages = 0;
    for (int t = 0; t < 2; t++) {
      BTree tree = f.tx.trees.get(t);
      List<String> found = new ArrayList<>();
      for (String record : f.tx.run(c -> c.all(tree))) {
        int split = record.indexOf('=');
        int length = record.length() - split - 1;
        boolean isLong = length > page / 4;
        chainPages += isLong ? (length + page - 49) / (page - 48) : 0;
        found.add(isLong ? record.substring(0, split + 1) + "chain of " + length : record);
      }
      List<String> expected = new ArrayList<>();
      model.get(t).forEach((k, v) -> expected.add(k + "=" + v));
      assertEquals(expected, found);
    }
    assertEquals(chainPages, pages);
    assertEquals(Long.MAX_VALUE, f.log.minActive());
  }

  private static void step(TxFixture.Client c, BTree t, String key, int page, SplittableRandom r) {
    switch (r.nextInt(8)) {
      case 0, 1, 2 -> c.put(t, key, value(r, r.nextInt(300)));
      case 3 -> c.put(t, key, value(r, page / 4 + 1 + r.nextInt(3 * page)));
      case 4 -> c.delete(t, key);
      case 5 -> {
        try {
          c.insert(t, key, value(r, r.nextInt(900)));
        } catch (DuplicateKeyException e) {
          // exists
        }
      }
      default -> {
        try {
          c.patch(t, key, r.nextInt(200), value(r, r.nextInt(20)));
        } catch (InvalidUseException e) {
          // absent or shorter
        }
      }
    }
  }

  private static String value(SplittableRandom r, int length) {
    return TxFixture.repeat((char) ('a' + r.nextInt(26)), length);
  }

  private static void apply(TreeMap<String, String> map, Op op) {
    switch (op.kind()) {
      case CommitRecord.PUT, CommitRecord.CHAIN -> map.put(op.key(), op.value());
      case CommitRecord.DELETE -> map.remove(op.key());
      default -> {
        int colon = op.value().indexOf(':');
        int at = Integer.parseInt(op.value().substring(0, colon));
        String bytes = op.value().substring(colon + 1);
        String old = map.get(op.key());
        map.put(op.key(), old.substring(0, at) + bytes + old.substring(at + bytes.length()));
      }
    }
  }
}
