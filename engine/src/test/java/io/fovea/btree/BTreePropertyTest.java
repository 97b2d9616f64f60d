package io.fovea.btree;

import io.fovea.buffer.PoolConfig;
import io.fovea.config.Translation;
import io.fovea.io.MemoryDevice;
import io.fovea.support.Records;
import io.fovea.support.TestEnvironment;
import io.fovea.support.UnreliableDeviceState;
import java.util.Arrays;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** Sequences of operations under any options, with shrinking. */
class BTreePropertyTest {
  /** One operation, on a key of a few hundred and on {@code run} neighbors. */
  record Op(What what, int key, int length, int run) {}

  enum What {
    PUT,
    DELETE,
    PATCH,
    GET,
    SUCCESSOR,
    SCAN,
    SCAN_BACK
  }

  @Provide
  Arbitrary<Op> ops() {
    return Combinators.combine(
            Arbitraries.frequencyOf(
                net.jqwik.api.Tuple.of(6, Arbitraries.just(What.PUT)),
                net.jqwik.api.Tuple.of(4, Arbitraries.just(What.DELETE)),
                net.jqwik.api.Tuple.of(3, Arbitraries.of(What.class))),
            Arbitraries.integers().between(0, 3000),
            Arbitraries.frequencyOf(
                net.jqwik.api.Tuple.of(5, Arbitraries.integers().between(0, 80)),
                net.jqwik.api.Tuple.of(1, Arbitraries.integers().between(900, 20_000))),
            Arbitraries.integers().between(1, 300))
        .as(Op::new);
  }

  /** Keys with different lengths and shared prefixes, in numeric order or not. */
  private static byte[] key(int number, int style) {
    return switch (style) {
      case 0 -> TestTree.bytes(number);
      case 1 -> TestTree.bytes("x".repeat(number % 50) + number);
      case 2 -> TestTree.bytes("shared by all of them/" + Integer.reverse(number));
      default -> Arrays.copyOf(TestTree.bytes((long) number << 16), 3 + number % 300);
    };
  }

  @Property(tries = 60, edgeCases = EdgeCasesMode.NONE)
  void likeASortedMap(
      @ForAll List<@net.jqwik.api.From("ops") Op> ops,
      @ForAll @net.jqwik.api.constraints.IntRange(min = 0, max = 3) int style,
      @ForAll @net.jqwik.api.constraints.IntRange(min = 12, max = 16) int pageShift,
      @ForAll @net.jqwik.api.constraints.IntRange(min = 64, max = 300) int frames,
      @ForAll Translation translation,
      @ForAll TestEnvironment environment,
      @ForAll long seed) {
    UnreliableDeviceState deviceState = environment.deviceState(seed);
    int some = environment.smallest() ? PoolConfig.FRAMES_MIN : frames;
    int count = translation == Translation.DIRECT ? 2000 : some; // enough for the whole file
    try (TestTree t =
        environment
            .making(
                () ->
                    new TestTree(
                        deviceState.on(new MemoryDevice()),
                        Records.with(
                            PoolConfig.ofFrames(1 << pageShift, count, translation),
                            "frameHints",
                            environment.hints())))
            .cachingLocations()) {
      for (Op op : ops) {
        boolean alone = op.what != What.PUT && op.what != What.DELETE || op.length > 80;
        for (int n = op.key; n < op.key + (alone ? 1 : op.run); n++) {
          byte[] key = key(n, style);
          environment.patiently(() -> operation(t, op, key));
        }
      }
      deviceState.faults(false);
      t.freeStrays();
      t.checkAll();
    }
  }

  private static void operation(TestTree t, Op op, byte[] key) {
    switch (op.what) {
      case PUT -> t.put(key, new byte[op.length]);
      case DELETE -> t.delete(key);
      case PATCH -> t.patch(key, op.length / 2, new byte[op.run / 30]);
      case GET -> t.checkLocate(key);
      case SUCCESSOR -> t.checkSuccessor(key);
      case SCAN -> t.checkScan(key, op.run % 2 == 0, false);
      case SCAN_BACK -> t.checkScan(key, op.run % 2 == 0, true);
    }
  }
}
