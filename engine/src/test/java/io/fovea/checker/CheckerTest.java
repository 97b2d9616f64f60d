package io.fovea.checker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.checker.Anomaly.Kind;
import io.fovea.checker.Txn.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Hand-written histories: one for each anomaly, and similar ones without. */
class CheckerTest {
  private static final long X = Keys.list(0, 0);
  private static final long Y = Keys.list(0, 3);
  private static final long MORTAL = Keys.list(0, 1);
  private static final long GRAVE = Keys.grave(MORTAL);

  private final List<Txn> txns = new ArrayList<>();

  private Txn txn(long id, Outcome outcome, Op... ops) {
    Txn t = new Txn(id, 0);
    t.ops.addAll(List.of(ops));
    t.outcome = outcome;
    t.invoked = id;
    txns.add(t);
    return t;
  }

  private void ok(long id, Op... ops) {
    txn(id, Outcome.OK, ops);
  }

  /** Returns the element that identifies a transaction. */
  private static long e(long txn) {
    return Elements.of(txn, 0);
  }

  private static State life(int life, long... txns) {
    long[] list = new long[txns.length];
    for (int i = 0; i < list.length; i++) {
      list[i] = e(txns[i]);
    }
    return State.of(life, list);
  }

  private static State list(long... txns) {
    return life(1, txns);
  }

  private static Op read(long key, long... txns) {
    return new Op.Read(key, txns.length == 0 ? State.ABSENT : list(txns));
  }

  private static Op append(long key, long... txns) {
    return new Op.Append(key, list(txns));
  }

  private static Op scan(Object... found) {
    Map<Long, State> m = new java.util.TreeMap<>();
    for (int i = 0; i < found.length; i += 2) {
      m.put((Long) found[i], (State) found[i + 1]);
    }
    return new Op.Scan(Keys.list(0, 0), Keys.list(0, Keys.SLOTS - 1), m);
  }

  private void finds(Kind kind, String... words) {
    Checker.Report r = Checker.check(new History(txns));
    assertEquals(
        List.of(kind),
        r.anomalies().stream().map(Anomaly::kind).distinct().toList(),
        () -> r.anomalies().toString());
    for (String w : words) {
      assertTrue(r.anomalies().getFirst().text().contains(w), () -> r.anomalies().toString());
    }
  }

  private void clean() {
    Checker.check(new History(txns)).requireClean(txns);
  }

  @Test
  void emptyHistoryIsClean() {
    clean();
  }

  @Test
  void serialHistoryIsClean() {
    ok(1, append(X, 1), append(Y, 1));
    ok(2, read(X, 1), append(X, 1, 2));
    ok(3, read(X, 1, 2), read(Y, 1));
    ok(4, scan(X, list(1, 2), Y, list(1)));
    clean();
  }

  /** Serializable does not mean strictly serializable: a late reader may see an early state. */
  @Test
  void readerOfAnOldStateIsClean() {
    ok(1, append(X, 1));
    ok(2, append(X, 1, 2));
    ok(3, read(X, 1));
    ok(4, read(X));
    clean();
  }

  @Test
  void g0() {
    ok(1, append(X, 1), append(Y, 2, 1));
    ok(2, append(X, 1, 2), append(Y, 2));
    finds(Kind.G0, "T1 inserted 0=[1] before T2 appended 2 to 0");
  }

  @Test
  void g1aOfARead() {
    txn(1, Outcome.FAIL, append(X, 1));
    ok(2, read(X, 1));
    finds(Kind.G1A, "T2 read 0=[1], but T1");
  }

  @Test
  void g1aOfAGrave() {
    ok(1, new Op.Append(MORTAL, life(1, 1)));
    txn(2, Outcome.FAIL, new Op.Delete(MORTAL, life(1, 1)), append(GRAVE, 2));
    ok(3, read(GRAVE, 2));
    finds(Kind.G1A);
  }

  @Test
  void g1b() {
    Txn t = txn(1, Outcome.OK);
    State twice = list(1).append(Elements.of(1, 1));
    t.ops.add(append(X, 1));
    t.ops.add(new Op.Append(X, twice));
    ok(2, read(X, 1));
    ok(3, new Op.Read(X, twice));
    finds(Kind.G1B, "T2 read 0=[1], but T1 changed that later");
  }

  @Test
  void g1c() {
    ok(1, append(X, 1), read(Y, 2));
    ok(2, append(Y, 2), read(X, 1));
    finds(Kind.G1C, "T1 inserted 0=[1] before T2 read 0=[1]");
  }

  @Test
  void gSingle() {
    ok(1, append(X, 1), append(Y, 1));
    ok(2, append(X, 1, 2), append(Y, 1, 2));
    ok(3, read(X, 1), read(Y, 1, 2));
    finds(Kind.G_SINGLE, "T3 read 0=[1] before T2 appended 2 to 0", "before T3 read 3=[1 2]");
  }

  @Test
  void gSingleOfAPhantom() {
    ok(1, append(Y, 1));
    ok(2, append(X, 2), append(Y, 1, 2));
    ok(3, scan(Y, list(1, 2)));
    finds(Kind.G_SINGLE, "T3 did not find 0 before T2 inserted 0=[2]");
  }

  @Test
  void lostUpdateOfTwoAppends() {
    ok(1, append(X, 1));
    ok(2, read(X, 1), append(X, 1, 2));
    ok(3, read(X, 1), append(X, 1, 3));
    finds(Kind.LOST_UPDATE, "T2 and T3 both appended to 0=[1]");
  }

  @Test
  void lostUpdateOfTwoDeletes() {
    ok(1, new Op.Append(MORTAL, life(1, 1)));
    ok(2, new Op.Delete(MORTAL, life(1, 1)), append(GRAVE, 2));
    ok(3, new Op.Delete(MORTAL, life(1, 1)), append(GRAVE, 2, 3));
    finds(Kind.LOST_UPDATE, "T2 and T3 both deleted life 1 of 1");
  }

  @Test
  void lostUpdateByAStaleRead() {
    ok(1, append(X, 1));
    ok(2, append(X, 1, 2));
    ok(3, read(X, 1), append(X, 1, 2, 3));
    finds(Kind.LOST_UPDATE, "T3 read 0=[1] before T2 appended 2");
  }

  @Test
  void g2Item() {
    ok(1, append(X, 1), append(Y, 1));
    ok(2, read(X, 1), append(Y, 1, 2));
    ok(3, read(Y, 1), append(X, 1, 3));
    finds(Kind.G2_ITEM, "T2 read 0=[1] before T3", "T3 read 3=[1] before T2");
  }

  @Test
  void g2OfPhantoms() {
    ok(1, scan(), append(X, 1));
    ok(2, scan(), append(Y, 2));
    finds(Kind.G2, "T1 did not find 3 before T2 inserted 3=[2]");
  }

  @Test
  void g2ByTheIndex() {
    int g = Keys.group(e(1));
    ok(1, new Op.GroupScan(0, g, Map.of()), append(X, 1));
    long other = 2;
    while (Keys.group(e(other)) != g) {
      other++;
    }
    ok(other, new Op.GroupScan(0, g, Map.of()), append(Y, other));
    finds(Kind.G2);
  }

  @Test
  void g2ByTheUniqueIndex() {
    ok(1, lookup(Y, 2), append(X, 1));
    ok(2, lookup(X, 1), append(Y, 2));
    finds(Kind.G2);
  }

  @Test
  void absentFromAGroupWhenInAnother() {
    int elsewhere = (Keys.group(e(1)) + 1) % Keys.GROUPS;
    ok(1, append(X, 1));
    ok(2, read(X, 1), new Op.Lookup(X, elsewhere, State.ABSENT));
    clean();
  }

  @Test
  void lookupThatMissesItsOwnList() {
    ok(1, append(X, 1), lookup(X, 1));
    finds(Kind.INTERNAL);
  }

  @Test
  void aLookupInTheWrongGroup() {
    ok(1, append(X, 1));
    ok(2, new Op.Lookup(X, (Keys.group(e(1)) + 1) % Keys.GROUPS, list(1)));
    finds(Kind.IMPOSSIBLE_READ, "where it does not belong");
  }

  /** Looks up a list, without success, where a transaction's first element would put it. */
  private static Op lookup(long key, long txn) {
    return new Op.Lookup(key, Keys.group(e(txn)), State.ABSENT);
  }

  @Test
  void impossibleReads() {
    ok(1, append(X, 1));
    ok(2, read(X, 1, 99));
    finds(Kind.IMPOSSIBLE_READ, "which no transaction appended");
  }

  @Test
  void aDuplicateElement() {
    ok(1, append(X, 1));
    ok(2, append(X, 1, 2));
    ok(3, read(X, 1, 2, 1));
    finds(Kind.IMPOSSIBLE_READ, "with a duplicate element");
  }

  @Test
  void itsOwnFuture() {
    ok(1, append(X, 1));
    ok(2, read(X, 1, 2), append(X, 1, 2));
    finds(Kind.IMPOSSIBLE_READ, "before it appended");
  }

  @Test
  void aScanOfTheWrongGroup() {
    ok(1, append(X, 1));
    ok(2, new Op.GroupScan(0, (Keys.group(e(1)) + 1) % Keys.GROUPS, Map.of(X, list(1))));
    finds(Kind.IMPOSSIBLE_READ, "where it does not belong");
  }

  @Test
  void incompatibleOrders() {
    ok(1, append(X, 1));
    ok(2, append(Y, 2));
    ok(3, append(Y, 3));
    txns.removeLast();
    txn(3, Outcome.INFO, append(X, 1, 3));
    txn(4, Outcome.INFO, append(X, 1, 3, 4));
    ok(5, read(X, 1, 3, 4));
    ok(6, read(X, 1, 4));
    finds(Kind.INCOMPATIBLE_ORDER, "T6 read 0=[1 4]");
  }

  @Test
  void internal() {
    ok(1, append(X, 1), read(X));
    finds(Kind.INTERNAL, "T1 read 0=nothing, but its own is [1]");
  }

  @Test
  void internalOfAScan() {
    ok(1, append(X, 1), scan());
    finds(Kind.INTERNAL);
  }

  @Test
  void livesAreClean() {
    ok(1, new Op.Append(MORTAL, life(1, 1)));
    ok(2, new Op.Read(MORTAL, life(1, 1)), new Op.Delete(MORTAL, life(1, 1)), append(GRAVE, 2));
    ok(3, read(MORTAL), read(GRAVE, 2), new Op.Append(MORTAL, life(2, 3)));
    ok(4, new Op.Read(MORTAL, life(2, 3)), read(GRAVE, 2));
    ok(5, read(MORTAL));
    clean();
  }

  /** It is unknown whether the inserter committed: the key has one version, or two. */
  @Test
  void absenceOfAKeyThatMayNeverHaveExisted() {
    txn(1, Outcome.INFO, new Op.Append(MORTAL, life(1, 1)));
    ok(2, read(GRAVE), scan());
    assertTrue(Checker.check(new History(txns)).clean());
  }

  /** It saw the first life as deleted, and a write that followed the second life. */
  @Test
  void gSingleOfADelete() {
    ok(1, new Op.Append(MORTAL, life(1, 1)));
    ok(2, new Op.Delete(MORTAL, life(1, 1)), append(GRAVE, 2));
    ok(3, new Op.Append(MORTAL, life(2, 3)), append(X, 3));
    ok(4, read(MORTAL), read(GRAVE, 2), read(X, 3));
    finds(Kind.G_SINGLE, "T4 did not find 1 before T3 inserted 1=life 2 [3]");
  }

  /** The absence may precede the first life or follow it. */
  @Test
  void ambiguousAbsenceIsClean() {
    ok(1, new Op.Append(MORTAL, life(1, 1)), append(X, 1));
    ok(2, new Op.Delete(MORTAL, life(1, 1)), append(GRAVE, 2));
    ok(3, read(MORTAL), read(X, 1));
    clean();
  }

  @Test
  void anUnknownOutcomeThatWasSeenIsACommit() {
    ok(1, append(X, 1), append(Y, 1));
    txn(2, Outcome.INFO, append(X, 1, 2), append(Y, 1, 2));
    ok(3, read(X, 1, 2), read(Y, 1));
    finds(Kind.G_SINGLE, "T3 read 3=[1] before T2");
  }

  /** The only visible effect of a delete may be that the list is absent. */
  @Test
  void anUnknownDeleteMayExplainAnAbsence() {
    ok(1, new Op.Append(MORTAL, life(1, 1)), append(X, 1));
    ok(2, append(X, 1, 2));
    txn(3, Outcome.INFO, new Op.Delete(MORTAL, life(1, 1)), append(GRAVE, 3));
    ok(4, read(MORTAL), read(X, 1, 2));
    clean();
    ok(5, read(MORTAL), read(GRAVE), read(X, 1, 2));
    finds(Kind.G_SINGLE, "T5 did not find 1 before T1");
  }

  /** Without the unknown delete this is an anomaly. */
  @Test
  void anAbsenceMustPrecedeTheFirstLife() {
    ok(1, new Op.Append(MORTAL, life(1, 1)), append(X, 1));
    ok(2, append(X, 1, 2));
    ok(4, read(MORTAL), read(X, 1, 2));
    finds(Kind.G_SINGLE, "T4 did not find 1 before T1");
  }

  @Test
  void anUnknownOutcomeThatWasNotSeenIsIgnored() {
    ok(1, append(X, 1));
    txn(2, Outcome.INFO, read(X, 1), append(X, 1, 2));
    ok(3, read(X, 1), append(X, 1, 3));
    clean();
  }

  @Test
  void lostCommits() {
    ok(1, append(X, 1));
    ok(2, append(X, 1, 2));
    ok(3, read(X, 1));
    clean();
    txns.forEach(t -> t.completed = t.invoked);
    txns.getLast().barrier = true;
    finds(Kind.LOST_COMMIT, "T2 was acknowledged before the crash, and T3 began after it");
  }

  /** The shortest cycle is reported. */
  @Test
  void longCyclesAreFound() {
    int n = 40;
    for (int i = 1; i <= n; i++) {
      ok(i, read(key(i)), append(key(i % n + 1), i));
    }
    Checker.Report r = Checker.check(new History(txns));
    assertEquals(Kind.G2_ITEM, r.anomalies().getFirst().kind());
    assertEquals(n, r.anomalies().getFirst().txns().size());
  }

  private static long key(int i) {
    return Keys.list(i, 0);
  }

  @Test
  void aLongHistoryIsCheckedQuickly() {
    int n = 100_000;
    long key = 0;
    List<Long> list = new ArrayList<>();
    for (int i = 1; i <= n; i++) {
      if (list.size() == 20) {
        list.clear();
        key += 3;
      }
      long[] before = list.stream().mapToLong(Long::longValue).toArray();
      list.add((long) i);
      long[] after = list.stream().mapToLong(Long::longValue).toArray();
      ok(i, read(key, before), append(key, after), read(key + 3));
    }
    Checker.Report r = Checker.check(new History(txns)).requireClean("long");
    assertEquals(n, r.committed());
  }
}
