package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.TimestampStore;
import io.fovea.txn.TimestampConfig.Release;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;

/**
 * The dissertation's requirements of an approximate timestamp store (section 3.1), for three
 * interleaved transactions on a store of a few buckets, of every kind and size, with resizes.
 *
 * <ul>
 *   <li>Property 1: only transactions change the timestamps of an item in use.
 *   <li>Property 2: wts is never above rts.
 *   <li>Lemma 3: timestamps never fall, and a write raises wts.
 * </ul>
 *
 * <p>The model is a map of exact words: an exact store must agree with it, the others must not be
 * below it.
 */
class TimestampsPropertiesTest {
  private static final int CONTEXTS = 3;

  enum Kind {
    PIN,
    WRITE,
    EXTEND,
    EXIT,
    RESIZE
  }

  /** A step of one context on one item; {@code by} is the change of a timestamp. */
  record Step(int ctx, Kind kind, long item, int by) {}

  /** The store and its model. */
  private static final class Model {
    final Timestamps timestamps;
    final boolean exact;

    /** The exact word of each item that is or was in use. */
    final Map<Long, Long> words = new HashMap<>();

    final List<Map<Long, Integer>> pinned =
        List.of(new HashMap<>(), new HashMap<>(), new HashMap<>());

    final boolean[] entered = new boolean[CONTEXTS];

    Model(Timestamps timestamps) {
      this.timestamps = timestamps;
      this.exact =
          timestamps.kind == TimestampStore.MEMORY || TimestampConfig.onDisk(timestamps.kind);
    }

    int pin(int ctx, long item) {
      if (!entered[ctx]) {
        timestamps.enter(ctx);
        entered[ctx] = true;
      }
      Integer inUse = null;
      for (Map<Long, Integer> of : pinned) {
        inUse = of.getOrDefault(item, inUse);
      }
      int slot = timestamps.pin(ctx, item);
      long word = timestamps.word(slot);
      assertEquals(item, timestamps.item(slot));
      assertTrue(!TidWord.isLocked(word) && TidWord.wts(word) <= TidWord.rts(word), "Property 2");
      long known = words.getOrDefault(item, 0L);
      if (inUse != null) {
        assertEquals(inUse, slot, "one item, one entry");
        assertEquals(known, word, "Property 1");
      } else if (exact) {
        assertEquals(known, word, "every item has its own slot");
        words.put(item, word);
      } else {
        assertTrue(TidWord.wts(word) >= TidWord.wts(known), "lemma 3: wts");
        assertTrue(TidWord.rts(word) >= TidWord.rts(known), "lemma 3: rts");
        words.put(item, word);
      }
      pinned.get(ctx).put(item, slot);
      return slot;
    }

    void write(int slot, long item, int by) {
      long before = timestamps.word(slot);
      assertTrue(timestamps.tryLock(slot));
      long commitTs = TidWord.rts(before) + 1 + by;
      timestamps.publish(slot, commitTs);
      long after = timestamps.word(slot);
      assertTrue(TidWord.wts(after) > TidWord.wts(before), "lemma 3: a write raises wts");
      assertEquals(TidWord.pack(commitTs, commitTs), after);
      words.put(item, after);
    }

    void extend(int slot, long item, int by) {
      long before = timestamps.word(slot);
      long commitTs = TidWord.rts(before) + by;
      assertTrue(timestamps.extend(slot, before, commitTs, false));
      long after = timestamps.word(slot);
      assertEquals(commitTs, TidWord.rts(after));
      if (TidWord.wts(after) != TidWord.wts(before)) {
        assertTrue(commitTs - TidWord.wts(before) > TidWord.DELTA_MAX, "raised unnecessarily");
        assertTrue(TidWord.wts(after) > TidWord.rts(before), "a dummy write follows all reads");
      }
      words.put(item, after);
    }

    void exit(int ctx) {
      if (entered[ctx]) {
        assertTrue(timestamps.holds(ctx));
        timestamps.exit(ctx);
        entered[ctx] = false;
        pinned.get(ctx).clear();
      }
    }

    void checkPinned() {
      for (Map<Long, Integer> of : pinned) {
        of.forEach(
            (item, slot) -> {
              assertEquals(item, timestamps.item(slot), "a slot keeps its item");
              assertEquals(words.get(item), timestamps.word(slot), "Property 1");
            });
      }
    }
  }

  @Property(tries = 500)
  void everyKindIsAnApproximateTimestampStore(
      @ForAll("steps") List<Step> steps,
      @ForAll TimestampStore kind,
      @ForAll Release release,
      @ForAll("columns") int columns) {
    try (Stores stores = new Stores()) {
      Timestamps timestamps = stores.make(CONTEXTS, kind, release, 256, 64 << 10, columns, 64);
      Model model = new Model(timestamps);
      for (Step step : steps) {
        step(model, step);
        model.checkPinned();
      }
      for (int ctx = 0; ctx < CONTEXTS; ctx++) {
        model.exit(ctx);
      }
      for (long item : List.copyOf(model.words.keySet())) {
        model.pin(0, item);
        model.exit(0);
      }
    }
  }

  private static void step(Model model, Step step) {
    switch (step.kind()) {
      case EXIT -> model.exit(step.ctx());
      case RESIZE -> model.timestamps.resize(1 << step.by() % 8);
      default -> {
        int slot = model.pin(step.ctx(), step.item());
        if (step.kind() == Kind.WRITE) {
          model.write(slot, step.item(), step.by());
        } else if (step.kind() == Kind.EXTEND) {
          model.extend(slot, step.item(), step.by());
        }
      }
    }
  }

  @Provide
  Arbitrary<List<Step>> steps() {
    return Combinators.combine(
            Arbitraries.integers().between(0, CONTEXTS - 1),
            Arbitraries.frequency(
                Tuple.of(3, Kind.PIN),
                Tuple.of(3, Kind.WRITE),
                Tuple.of(3, Kind.EXTEND),
                Tuple.of(2, Kind.EXIT),
                Tuple.of(1, Kind.RESIZE)),
            Arbitraries.longs().between(1, 40),
            Arbitraries.frequencyOf(
                Tuple.of(5, Arbitraries.integers().between(0, 20)),
                Tuple.of(1, Arbitraries.integers().between(0, 100_000))))
        .as(Step::new)
        .list()
        .ofMinSize(20)
        .ofMaxSize(300);
  }

  @Provide
  Arbitrary<Integer> columns() {
    return Arbitraries.of(1, 2, 8, 64);
  }
}
