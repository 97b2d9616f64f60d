package io.fovea.checker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.checker.Script.Actor;
import io.fovea.config.Protocol;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The ten interleavings of the Hermitage project (M. Kleppmann, github.com/ept/hermitage) with
 * variants, write skew, phantoms and the read-only anomaly. Each transaction has its own thread;
 * the order of steps is given. The results are compared with all serial orders and with the
 * checker, and {@link Commits} names the transactions that must commit.
 */
@Tag("slow")
class HermitageTest {
  private static final long X = Keys.list(0, 0);

  private static final long Y = Keys.list(0, 3);

  /** Two absent keys. */
  private static final long NEW = Keys.list(0, 6);

  private static final long NEWER = Keys.list(0, 9);

  /** An interval with all of them. */
  private static final long LOW = Keys.list(0, 0);

  private static final long HIGH = Keys.list(0, Keys.SLOTS - 1);

  /** A third record, in another interval. */
  private static final long Z = Keys.list(1, 0);

  /** A record that may be deleted. */
  private static final long MORTAL = Keys.list(0, 1);

  static Stream<Setup> setups() {
    return Setup.all().stream().filter(s -> s.options().transactions().maxActive() > 1);
  }

  /** Returns the setups whose lists have indexes. */
  static Stream<Setup> withIndexes() {
    return setups().filter(s -> !s.cutsRanges());
  }

  /**
   * The transactions that must commit, in the order of their begins: {@code c} for one that must,
   * {@code -} for one that may abort. Without this, an engine that aborts everything would pass.
   *
   * <ul>
   *   <li>Optimistic protocols: the first to commit, and others unless their reads are outdated.
   *   <li>Two-phase locking without waiting: the one with all its locks. A transaction that meets a
   *       foreign lock aborts at once, so the last one commits.
   *   <li>Timestamp ordering: those that follow the order of the begins. With versions, also a
   *       reader of an older version; but a writer is too late if a later transaction has read.
   * </ul>
   *
   * @param occ Kung and Robinson's protocol, which aborts a transaction that has read what another
   *     has committed since its begin, even if it read the newer version
   * @param sto timestamp ordering
   * @param mvto timestamp ordering with versions
   */
  private record Commits(
      String tictoc, String silo, String occ, String locking, String sto, String mvto) {
    static Commits of(String optimistic, String locking, String sto, String mvto) {
      return new Commits(optimistic, optimistic, optimistic, locking, sto, mvto);
    }

    Commits occ(String other) {
      return new Commits(tictoc, silo, other, locking, sto, mvto);
    }

    String of(Protocol protocol) {
      return switch (protocol) {
        case TICTOC -> tictoc;
        case SILO -> silo;
        case OCC -> occ;
        case TWO_PHASE_LOCKING -> locking;
        case STO -> sto;
        case MVTO -> mvto;
      };
    }

    void require(Setup setup, String outcomes) {
      String must = of(setup.options().experiments().protocol());
      assertEquals(must.length(), outcomes.length());
      for (int i = 0; i < must.length(); i++) {
        int number = i + 1;
        assertTrue(
            must.charAt(i) != 'c' || outcomes.charAt(i) == 'c',
            () -> setup + ": transaction " + number + " must commit: " + outcomes);
      }
    }
  }

  private static void play(Setup setup, Commits commits, Consumer<Script> steps) {
    try (Script s = new Script(setup)) {
      s.seed(X, Y, Z, MORTAL);
      steps.accept(s);
      commits.require(setup, s.outcomes());
      History h = s.history();
      assertTrue(SerialOracle.isSerializable(h), () -> setup + ": " + h.txns());
      Checker.check(h).requireClean(setup);
    }
  }

  /** Plays steps of two transactions. */
  private static void play(Setup setup, Commits commits, BiConsumer<Actor, Actor> steps) {
    play(setup, commits, s -> steps.accept(s.begin(), s.begin()));
  }

  /** G0, dirty write. */
  @ParameterizedTest
  @MethodSource("setups")
  void g0WriteCycles(Setup setup) {
    play(
        setup,
        Commits.of("c-", "c-", "c-", "-c"),
        (t1, t2) -> {
          t1.append(X);
          t2.append(X);
          t1.append(Y);
          t1.commit();
          t2.append(Y);
          t2.commit();
        });
  }

  /** G1a, aborted read. */
  @ParameterizedTest
  @MethodSource("setups")
  void g1aAbortedReads(Setup setup) {
    play(
        setup,
        Commits.of("-c", "--", "--", "-c"),
        (t1, t2) -> {
          t1.append(X);
          t2.read(X);
          t2.scan(LOW, HIGH);
          t1.rollback();
          t2.read(X);
          t2.scan(LOW, HIGH);
          t2.commit();
        });
  }

  /** G1b, intermediate read. */
  @ParameterizedTest
  @MethodSource("setups")
  void g1bIntermediateReads(Setup setup) {
    play(
        setup,
        Commits.of("c-", "c-", "c-", "-c"),
        (t1, t2) -> {
          t1.append(X);
          t2.read(X);
          t1.append(X);
          t1.commit();
          t2.read(X);
          t2.commit();
        });
  }

  /** G1c, circular information flow. */
  @ParameterizedTest
  @MethodSource("setups")
  void g1cCircularInformationFlow(Setup setup) {
    play(
        setup,
        Commits.of("c-", "-c", "-c", "-c"),
        (t1, t2) -> {
          t1.append(X);
          t2.append(Y);
          t1.read(Y);
          t2.read(X);
          t1.commit();
          t2.commit();
        });
  }

  /** OTV, observed transaction vanishes. */
  @ParameterizedTest
  @MethodSource("setups")
  void otvObservedTransactionVanishes(Setup setup) {
    play(
        setup,
        Commits.of("c-c", "c-c", "c-c", "--c").occ("c--"),
        s -> {
          Actor t1 = s.begin();
          Actor t2 = s.begin();
          Actor t3 = s.begin();
          t1.append(X, Y);
          t2.append(X);
          t1.commit();
          t3.read(X);
          t2.append(Y);
          t3.read(Y);
          t2.commit();
          t3.read(Y, X);
          t3.commit();
        });
  }

  /** PMP, predicate-many-preceders, by reads. */
  @ParameterizedTest
  @MethodSource("setups")
  void pmpPredicateManyPreceders(Setup setup) {
    play(
        setup,
        Commits.of("-c", "c-", "-c", "cc"),
        (t1, t2) -> {
          t1.scan(NEW, HIGH);
          t2.append(NEW);
          t2.commit();
          t1.scan(LOW, HIGH);
          t1.commit();
        });
  }

  /** PMP by writes: one transaction changes what the other is about to delete by a predicate. */
  @ParameterizedTest
  @MethodSource("setups")
  void pmpByWrites(Setup setup) {
    play(
        setup,
        Commits.of("c-", "c-", "c-", "-c"),
        (t1, t2) -> {
          t1.append(X, Y);
          for (long key : t2.scan(LOW, HIGH).keySet()) {
            if (key == MORTAL) {
              t2.delete(key);
            }
          }
          t1.append(MORTAL);
          t1.commit();
          t2.scan(LOW, HIGH);
          t2.commit();
        });
  }

  /** P4, lost update. */
  @ParameterizedTest
  @MethodSource("setups")
  void p4LostUpdate(Setup setup) {
    play(
        setup,
        Commits.of("c-", "-c", "-c", "-c"),
        (t1, t2) -> {
          t1.read(X);
          t2.read(X);
          t1.append(X);
          t2.append(X);
          t1.commit();
          t2.commit();
          assertFalse(t1.committed() && t2.committed());
        });
  }

  /** G-single, read skew. */
  @ParameterizedTest
  @MethodSource("setups")
  void gSingleReadSkew(Setup setup) {
    play(
        setup,
        Commits.of("-c", "c-", "-c", "cc"),
        (t1, t2) -> {
          t1.read(X);
          t2.read(X, Y);
          t2.append(X, Y);
          t2.commit();
          t1.read(Y);
          t1.commit();
        });
  }

  /** G-single, where the second read is of an interval. */
  @ParameterizedTest
  @MethodSource("setups")
  void gSingleByPredicates(Setup setup) {
    play(
        setup,
        Commits.of("-c", "c-", "-c", "cc"),
        (t1, t2) -> {
          t1.scan(NEW, HIGH);
          t2.append(NEW, Z);
          t2.commit();
          t1.scan(Keys.list(1, 0), Keys.list(1, 2));
          t1.commit();
        });
  }

  /** G-single, where the reader deletes what it finds. */
  @ParameterizedTest
  @MethodSource("setups")
  void gSingleByWrites(Setup setup) {
    play(
        setup,
        Commits.of("-c", "c-", "-c", "-c"),
        (t1, t2) -> {
          t1.read(X);
          t2.scan(LOW, HIGH);
          t2.append(X, MORTAL);
          t2.commit();
          t1.delete(MORTAL);
          t1.commit();
          assertFalse(t1.committed() && t2.committed());
        });
  }

  /** G2-item, write skew on two records. */
  @ParameterizedTest
  @MethodSource("setups")
  void g2ItemWriteSkew(Setup setup) {
    play(
        setup,
        Commits.of("c-", "-c", "-c", "-c"),
        (t1, t2) -> {
          t1.read(X, Y);
          t2.read(X, Y);
          t1.append(X);
          t2.append(Y);
          t1.commit();
          t2.commit();
          assertFalse(t1.committed() && t2.committed());
        });
  }

  /** G2: both read an absent key and insert it. */
  @ParameterizedTest
  @MethodSource("setups")
  void g2AntiDependencyCycles(Setup setup) {
    play(
        setup,
        Commits.of("c-", "-c", "-c", "-c"),
        (t1, t2) -> {
          t1.scan(NEW, HIGH);
          t2.scan(NEW, HIGH);
          t1.append(NEW);
          t2.append(NEWER);
          t1.commit();
          t2.commit();
          assertFalse(t1.committed() && t2.committed());
        });
  }

  /** G2 with two edges, the second by a reader in between. */
  @ParameterizedTest
  @MethodSource("setups")
  void g2ByTwoEdges(Setup setup) {
    play(
        setup,
        Commits.of("-cc", "c-c", "-cc", "-cc"),
        s -> {
          Actor t1 = s.begin();
          t1.scan(LOW, HIGH);
          Actor t2 = s.begin();
          t2.append(Y);
          t2.commit();
          Actor t3 = s.begin(true);
          t3.scan(LOW, HIGH);
          t3.commit();
          t1.append(X);
          t1.commit();
        });
  }

  /** One transaction deletes a record that the other reads, both ways round. */
  @ParameterizedTest
  @MethodSource("setups")
  void writeSkewByDeletes(Setup setup) {
    play(
        setup,
        Commits.of("-c", "-c", "-c", "-c"),
        (t1, t2) -> {
          t1.read(X, MORTAL);
          t2.read(X, MORTAL);
          t1.delete(MORTAL);
          t2.append(X);
          t2.commit();
          t1.commit();
          assertFalse(t1.committed() && t2.committed());
        });
  }

  /** Phantoms below, between and above the records of an ascending scan. */
  @ParameterizedTest
  @MethodSource("setups")
  void phantomsByRange(Setup setup) {
    for (long phantom : new long[] {Keys.list(0, 2), Keys.list(0, 5), Keys.list(0, 11)}) {
      play(
          setup,
          Commits.of("-c", "c-", "-c", "cc"),
          (t1, t2) -> {
            t1.scan(Keys.list(0, 2), HIGH);
            t2.append(phantom, Z);
            t2.commit();
            t1.read(Z);
            t1.commit();
          });
    }
  }

  /** A record is inserted into a group that was read by the index. */
  @ParameterizedTest
  @MethodSource("setups")
  void phantomsByIndex(Setup setup) {
    // Without an index nothing is read, so only timestamps can conflict.
    Commits commits =
        setup.cutsRanges()
            ? Commits.of("cc", "cc", "-c", "cc").occ("-c")
            : Commits.of("-c", "c-", "-c", "cc");
    for (int group = 0; group < Keys.GROUPS; group++) {
      int looked = group;
      play(
          setup,
          commits,
          (t1, t2) -> {
            t1.group(0, looked);
            t2.append(NEW, NEWER, X, Y, Z);
            t2.commit();
            t1.read(Z);
            t1.commit();
          });
    }
  }

  /** Both transactions read all groups and insert a record into one. */
  @ParameterizedTest
  @MethodSource("withIndexes")
  void writeSkewByIndex(Setup setup) {
    play(
        setup,
        Commits.of("-c", "c-", "-c", "-c"),
        (t1, t2) -> {
          for (int g = 0; g < Keys.GROUPS; g++) {
            t1.group(0, g);
            t2.group(0, g);
          }
          t1.append(NEW);
          t2.append(NEWER);
          t2.commit();
          t1.commit();
          assertFalse(t1.committed() && t2.committed());
        });
  }

  /**
   * Fekete, O'Neil, O'Neil, A read-only transaction anomaly under snapshot isolation, 2004: without
   * the reader the other two are serializable, with it they are not.
   */
  @ParameterizedTest
  @MethodSource("setups")
  void readOnlyAnomaly(Setup setup) {
    play(
        setup,
        Commits.of("-cc", "c-c", "-cc", "-cc"),
        s -> {
          Actor withdrawal = s.begin();
          withdrawal.read(X, Y);
          Actor deposit = s.begin();
          deposit.read(Y);
          deposit.append(Y);
          deposit.commit();
          Actor report = s.begin(true);
          report.read(X, Y);
          report.commit();
          withdrawal.append(X);
          withdrawal.commit();
        });
  }
}
