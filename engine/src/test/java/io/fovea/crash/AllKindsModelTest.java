package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.FoveaException;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SoakReport;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.Tag;
import net.jqwik.api.Tuple;
import net.jqwik.api.lifecycle.AfterContainer;

/**
 * Mixes all kinds of changes with crashes, between steps and within them, and compares the database
 * with a model: evolution, expiry, range deletes, snapshots, loads, catalog changes, compaction.
 *
 * <p>jqwik chooses the kinds and the crashes, and shrinks them. The content of a step follows from
 * a seed and the model's state. After a crash, all acknowledged steps must be present, and the
 * interrupted step completely or not at all; everything is read, through each index, and verified.
 */
@Tag("slow")
class AllKindsModelTest {
  private static final int DEEDS = 60;

  /** How many disk operations of a step are candidates for a crash. */
  private static final int OPERATIONS = 60;

  private static final Map<Generator.Kin, Integer> DONE = new EnumMap<>(Generator.Kin.class);
  private static int crashes;
  private static int within;

  /**
   * A step and its crash.
   *
   * @param crash null: the step completes
   * @param after the crash comes after this many disk operations; after the step if it does fewer
   */
  record Deed(Generator.Kin kin, How crash, int after) {
    @Override
    public String toString() {
      return kin + (crash == How.NONE ? "" : " " + crash + " after " + after);
    }
  }

  enum How {
    NONE,
    KEEP_ALL,
    LOSE_ALL,
    RANDOM
  }

  @Provide
  Arbitrary<List<Deed>> deeds() {
    Arbitrary<Generator.Kin> kin = Arbitraries.of(Generator.Kin.class);
    Arbitrary<How> how =
        Arbitraries.frequency(
            Tuple.of(9, How.NONE),
            Tuple.of(1, How.KEEP_ALL),
            Tuple.of(1, How.LOSE_ALL),
            Tuple.of(2, How.RANDOM));
    Arbitrary<Integer> after = Arbitraries.integers().between(1, OPERATIONS);
    return Combinators.combine(kin, how, after).as(Deed::new).list().ofMinSize(10).ofMaxSize(DEEDS);
  }

  @Property(tries = 12, shrinking = ShrinkingMode.BOUNDED)
  void matchesTheModel(@ForAll("deeds") List<Deed> deeds, @ForAll Random random) {
    long seed = random.nextLong();
    try {
      new Run(seed).all(deeds);
    } catch (Throwable e) {
      throw new AssertionError("seed " + seed + "L, " + deeds, e);
    }
  }

  @AfterContainer
  static void report() {
    SoakReport.line(
        "AllKindsModelTest", DONE + ", " + crashes + " crashes, " + within + " within a step");
    assertTrue(DONE.size() == Generator.Kin.values().length, DONE::toString);
    assertTrue(crashes > 0 && within > 0, crashes + " crashes, " + within + " within a step");
  }

  private static final class Run {
    private final Generator generator;
    private Session session;

    Run(long seed) {
      generator = new Generator(seed).timed();
      session = new Session(new SimDisk(seed), Session.timed(), false, new State());
      session.open();
      session.first();
    }

    void all(List<Deed> deeds) {
      try {
        for (Deed deed : deeds) {
          DONE.merge(deed.kin, 1, Integer::sum);
          if (deed.crash == How.NONE) {
            session.step(generator.next(session.state(), deed.kin));
          } else {
            crash(deed);
          }
        }
        session.check();
      } finally {
        session.abandon();
      }
    }

    private void crash(Deed deed) {
      SimDisk disk = session.disk;
      disk.powerOffAt(disk.operations() + deed.after);
      Step step = generator.next(session.state(), deed.kin);
      try {
        session.step(step);
      } catch (FoveaException e) {
        within++;
      }
      crashes++;
      long now = session.state().now;
      List<State> candidates =
          session.states(new Session.Bounds(session.acked(), session.begun())).stream()
              .map(s -> s.at(now))
              .toList();
      session.abandon();
      SimDisk found =
          disk.crash(
              switch (deed.crash) {
                case KEEP_ALL -> SimCrash.KEEP_ALL;
                case LOSE_ALL -> SimCrash.LOSE_ALL;
                default -> SimCrash.RANDOM;
              });
      session = new Session(found, session.options, false, candidates.getLast());
      session.open();
      session.rebase(candidates.get(Session.match(session.db(), candidates)));
    }
  }
}
