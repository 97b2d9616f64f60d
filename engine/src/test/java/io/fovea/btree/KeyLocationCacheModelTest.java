package io.fovea.btree;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PoolConfig;
import io.fovea.config.Translation;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Waits;
import io.fovea.wal.LogSession;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.From;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;
import net.jqwik.api.constraints.IntRange;

/**
 * Compares a key location cache with a map: a lookup returns the last location stored for its hash,
 * or nothing if it may have been evicted, even across doublings.
 */
class KeyLocationCacheModelTest {
  private static final int WAYS = 8;
  private static final int TAG_SHIFT = 54;

  /** Enough sets to overflow, and one that makes the table grow. */
  private static final int SETS = 4;

  private static final long OTHER_SET = 4000;

  /** Allows two doublings. */
  private static final long BYTES_MAX = 4 * KeyLocationCache.BYTES_MIN;

  enum What {
    LEARN,
    LOOK,
    GROW
  }

  /** An operation. Sets cover the largest table; page ids may be too large to be stored. */
  record Op(What what, int set, int tag, long pid, int slot, boolean found) {
    long hash() {
      long small = set % SETS;
      long bits = set / SETS * (KeyLocationCache.BYTES_MIN >>> KeyLocationCache.SET_SHIFT);
      return (long) tag << TAG_SHIFT | small | bits;
    }
  }

  private record Way(long set, long tag) {}

  private record Known(long pid, int slot, int line) {}

  @Provide
  Arbitrary<Op> ops() {
    return Combinators.combine(
            Arbitraries.frequency(
                Tuple.of(20, What.LEARN), Tuple.of(20, What.LOOK), Tuple.of(1, What.GROW)),
            Arbitraries.integers().between(0, 4 * SETS - 1),
            Arbitraries.integers().between(0, 12),
            Arbitraries.frequencyOf(
                Tuple.of(9, Arbitraries.longs().between(1, 1L << 31)),
                Tuple.of(1, Arbitraries.longs().between(0, Long.MAX_VALUE))),
            Arbitraries.integers().between(0, 511),
            Arbitraries.of(true, false))
        .as(Op::new);
  }

  private static final class Run implements AutoCloseable {
    private final BufferPool pool;
    private final BTree tree;
    private final KeyLocationCache places;
    private final Position p = new Position();
    private final int lineShift;
    private final int pidBits;

    /** The location of each tag of each set. */
    private Map<Way, Known> model = new HashMap<>();

    /** The last location stored in each set, which is never evicted. */
    private Set<Way> last = new HashSet<>();

    private long sets = KeyLocationCache.BYTES_MIN >>> KeyLocationCache.SET_SHIFT;

    Run(int pageShift) {
      pool =
          new BufferPool(
              new MemoryDevice(),
              PoolConfig.ofFrames(1 << pageShift, 64, Translation.PREDICTIVE),
              AllocatorState.EMPTY);
      tree = BTree.create(pool, TestTree.TREE_ID, LogSession.NONE);
      places = new KeyLocationCache(BYTES_MAX, 1 << pageShift);
      int lineBits = Math.min(8, pageShift - 6);
      lineShift = 8 - lineBits;
      pidBits = TAG_SHIFT - 1 - lineBits - (pageShift - 3);
    }

    private static Way way(long hash, long sets) {
      return new Way(hash & sets - 1, hash >>> TAG_SHIFT);
    }

    void store(Op op) {
      p.set(0, 0, op.pid, op.slot, op.found);
      places.cache(tree, op.hash(), p);
      if (op.pid == 0 || op.pid >>> pidBits != 0) {
        return; // cannot be stored; the old location stays
      }
      Way way = way(op.hash(), sets);
      model.put(way, new Known(op.pid, op.slot, HintedLeaf.line(tree, p) >>> lineShift));
      last.removeIf(other -> other.set == way.set);
      last.add(way);
    }

    void look(long hash) {
      places.setHint(tree, hash, p);
      Way way = way(hash, sets);
      Known known = model.get(way);
      if (p.pid == 0) {
        // A full set may evict any location except the last one stored.
        long all = model.keySet().stream().filter(other -> other.set == way.set).count();
        assertTrue(
            known == null || all > WAYS && !last.contains(way),
            () -> way + " was evicted: " + known);
        assertEquals(-1, p.frame);
      } else {
        assertEquals(known, new Known(p.pid, p.slot, p.line >>> lineShift), way::toString);
        assertTrue(p.found && p.frame >= 0 && p.frame < pool.frames(), p::toString);
      }
    }

    /** Overwrites another set until the table doubles, after which each set exists twice. */
    void grow() {
      long before = places.bytes();
      if (before == places.maxBytes()) {
        return;
      }
      p.set(0, 0, 1, 0, false);
      long deadline = System.nanoTime() + 60_000_000_000L;
      for (long tag = 0; places.bytes() == before; tag = tag + 1 & (1 << 10) - 1) {
        places.cache(tree, tag << TAG_SHIFT | OTHER_SET, p);
        if (tag == 0) {
          assertTrue(System.nanoTime() < deadline, "the table does not grow");
          Waits.sleep(100_000);
        }
      }
      assertEquals(2 * before, places.bytes());
      long was = sets;
      sets *= 2;
      Map<Way, Known> twice = new HashMap<>();
      Set<Way> twiceLast = new HashSet<>();
      model.forEach(
          (way, known) -> {
            for (long set = way.set; set < sets; set += was) {
              twice.put(new Way(set, way.tag), known);
              if (last.contains(way)) {
                twiceLast.add(new Way(set, way.tag));
              }
            }
          });
      model = twice;
      last = twiceLast;
    }

    @Override
    public void close() {
      List<Way> all = new ArrayList<>(model.keySet());
      places.close();
      for (Way way : all) {
        places.setHint(tree, way.tag << TAG_SHIFT | way.set, p);
        assertEquals(0, p.pid, "a closed cache finds nothing");
      }
      pool.abandon();
    }
  }

  @Property(tries = 40, edgeCases = EdgeCasesMode.NONE)
  void lastLocationOrNothing(
      @ForAll List<@From("ops") Op> ops, @ForAll @IntRange(min = 12, max = 16) int pageShift) {
    try (Run run = new Run(pageShift)) {
      for (Op op : ops) {
        switch (op.what) {
          case LEARN -> run.store(op);
          case LOOK -> run.look(op.hash());
          case GROW -> run.grow();
        }
      }
      for (Op op : ops) {
        run.look(op.hash());
      }
    }
  }
}
