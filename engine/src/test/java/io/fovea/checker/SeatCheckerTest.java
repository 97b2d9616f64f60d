package io.fovea.checker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.SimDatabase;
import io.fovea.checker.Anomaly.Kind;
import io.fovea.checker.SeatTxn.Where;
import io.fovea.support.SimDisk;
import io.fovea.txn.FaultInjection;
import io.fovea.txn.FaultInjection.Step;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Hand-written histories of seats, with and without anomalies; and broken engines. */
@Timeout(value = 15, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SeatCheckerTest {
  private static final int ROWS = 3;
  private static final int ROUNDS_MAX = 400;

  private final List<SeatTxn> all = new ArrayList<>();

  private SeatTxn txn() {
    SeatTxn t = new SeatTxn(all.size() + 1);
    t.committed = true;
    all.add(t);
    return t;
  }

  /** Returns a transaction that exchanges rows 0 and 1 in their initial state. */
  private SeatTxn exchange() {
    SeatTxn t = txn();
    t.saw(0, 0, 0, 0);
    t.saw(1, 0, 1, 0);
    t.wrote(0, 1, 1);
    t.wrote(1, 1, 0);
    return t;
  }

  private static void look(SeatTxn t, int low, int high, Runnable found) {
    t.looks();
    found.run();
    t.looked(Where.seats(low, high));
  }

  private void expect(Kind kind) {
    Checker.Report report = SeatChecker.check(ROWS, all);
    assertTrue(report.has(kind), () -> kind + " expected, found " + report.anomalies());
  }

  private void expectNothing() {
    assertEquals(List.of(), SeatChecker.check(ROWS, all).anomalies());
  }

  @Test
  void serialHistory() {
    SeatTxn before = txn();
    before.saw(0, 0, 0, 0);
    SeatTxn x = exchange();
    SeatTxn after = txn();
    look(after, 0, 0, () -> after.saw(1, 1, 0, x.id));
    look(after, 1, 1, () -> after.saw(0, 1, 1, x.id));
    look(after, 9, 9, () -> {});
    look(x, 1, 1, () -> x.saw(0, 1, 1, x.id));
    expectNothing();
  }

  @Test
  void bothTookTheSameSeat() {
    exchange();
    exchange();
    expect(Kind.LOST_UPDATE);
  }

  @Test
  void halfAnExchange() {
    SeatTxn x = exchange();
    SeatTxn t = txn();
    t.saw(0, 0, 0, 0);
    t.saw(1, 1, 0, x.id);
    expect(Kind.G_SINGLE);
  }

  /**
   * Row 1 was not found in the seat that it took when row 2 was moved, although the move of row 2
   * was seen.
   */
  @Test
  void aRowThatWasNotFound() {
    SeatTxn x = txn();
    x.saw(1, 0, 1, 0);
    x.saw(2, 0, 2, 0);
    x.wrote(1, 1, 8);
    x.wrote(2, 1, 9);
    SeatTxn t = txn();
    look(t, 8, 8, () -> {});
    t.saw(2, 1, 9, x.id);
    expect(Kind.G_SINGLE);
  }

  @Test
  void writeSkew() {
    SeatTxn a = txn();
    a.saw(0, 0, 0, 0);
    a.saw(1, 0, 1, 0);
    a.wrote(0, 1, 7);
    SeatTxn b = txn();
    b.saw(0, 0, 0, 0);
    b.saw(1, 0, 1, 0);
    b.wrote(1, 1, 8);
    expect(Kind.G2_ITEM);
  }

  @Test
  void writeSkewByLooks() {
    SeatTxn a = txn();
    look(a, 8, 8, () -> {});
    a.saw(0, 0, 0, 0);
    a.wrote(0, 1, 7);
    SeatTxn b = txn();
    look(b, 7, 7, () -> {});
    b.saw(1, 0, 1, 0);
    b.wrote(1, 1, 8);
    expect(Kind.G2);
  }

  @Test
  void aMissingRow() {
    look(txn(), 0, 9, () -> {});
    expect(Kind.IMPOSSIBLE_READ);
  }

  @Test
  void aRowInTwoSeats() {
    SeatTxn t = txn();
    t.saw(0, 0, 0, 0);
    look(t, 0, 0, () -> {});
    expect(Kind.INTERNAL);
  }

  @Test
  void ownWritesNotSeen() {
    SeatTxn x = exchange();
    x.saw(0, 0, 0, 0);
    expect(Kind.INTERNAL);
  }

  @Test
  void abortedRead() {
    SeatTxn x = exchange();
    x.committed = false;
    SeatTxn t = txn();
    t.saw(0, 1, 1, x.id);
    expect(Kind.G1A);
  }

  @Test
  void intermediateRead() {
    SeatTxn x = exchange();
    SeatTxn t = txn();
    t.saw(0, 1, -1, x.id);
    expect(Kind.G1B);
  }

  /** A seat that it had found free was reported as taken; it has written nothing. */
  @Test
  void aDuplicateThatNoOrderExplains() {
    SeatTxn t = exchange();
    t.told = true;
    expectNothing();
    t.contradiction = "free, but taken";
    expect(Kind.CONTRADICTION);
  }

  /** Random load detects the omission of each of these steps within some rounds. */
  @ParameterizedTest
  @EnumSource(names = {"VALIDATION", "MISSING_ENTRY_READ"})
  void isFoundAtRandom(Step broken) throws InterruptedException {
    EngineLog.silence();
    Setup setup = Setup.usual("broken").faults(FaultInjection.without(broken));
    for (int round = 1; round <= ROUNDS_MAX; round++) {
      if (!SeatChecker.check(Seats.HOT, history(setup, round)).clean()) {
        return;
      }
    }
    throw new AssertionError(broken + " was not detected in " + ROUNDS_MAX + " rounds");
  }

  private static List<SeatTxn> history(Setup setup, int round) throws InterruptedException {
    List<SeatTxn> found = new ArrayList<>();
    List<Seats> clients = new ArrayList<>();
    Database db = setup.open(new SimDisk(round));
    try {
      Seats.create(db, Seats.HOT, 20);
      AtomicLong ids = new AtomicLong();
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < setup.threads(); i++) {
        Seats client = new Seats(db, Seats.HOT, ids, new SplittableRandom(round * 31 + i), 0);
        clients.add(client);
        threads.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      try {
                        for (int n = 0; n < 100; n++) {
                          client.transaction();
                        }
                      } catch (RuntimeException | AssertionError e) {
                        // The broken engine may fail; what it did until then still counts.
                      }
                    }));
      }
      for (Thread t : threads) {
        t.join();
      }
    } finally {
      SimDatabase.abandon(db);
    }
    clients.forEach(c -> found.addAll(c.done()));
    return found;
  }
}
