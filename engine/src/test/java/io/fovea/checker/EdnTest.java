package io.fovea.checker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.checker.Txn.Outcome;
import io.fovea.support.SimDisk;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class EdnTest {
  private static final Pattern LINE =
      Pattern.compile(
          "\\{:index (\\d+), :time (\\d+), :type :(invoke|ok|fail|info), :process (\\d+), :f :txn,"
              + " :value \\[((\\[(:append \\d+ \\d+|:r \\d+ (nil|\\[[\\d ]*]))])( |(?=])))*]}");

  private static Txn txn(long id, int process, Outcome outcome, long from, long to, Op... ops) {
    Txn t = new Txn(id, process);
    t.ops.addAll(List.of(ops));
    t.outcome = outcome;
    t.invoked = from;
    t.completed = to;
    return t;
  }

  private static String edn(History h) {
    StringBuilder s = new StringBuilder();
    try {
      Edn.write(h, s);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    return s.toString();
  }

  @Test
  void writesElleFormat() {
    long x = Keys.list(0, 0);
    long e1 = Elements.of(1, 0);
    long e2 = Elements.of(2, 0);
    State one = State.of(1, e1);
    History h =
        new History(
            List.of(
                txn(1, 0, Outcome.OK, 10, 30, new Op.Read(x, State.ABSENT), new Op.Append(x, one)),
                txn(2, 1, Outcome.INFO, 20, 50, new Op.Append(x, one.append(e2))),
                txn(3, 1, Outcome.FAIL, 60, 70, new Op.Read(x, one)),
                txn(4, 0, Outcome.OK, 40, 80, new Op.Read(x, one.append(e2)))));
    assertEquals(
        """
        {:index 0, :time 10, :type :invoke, :process 0, :f :txn, :value [[:r 1 nil] [:append 1 32]]}
        {:index 1, :time 20, :type :invoke, :process 1, :f :txn, :value [[:append 1 64]]}
        {:index 2, :time 30, :type :ok, :process 0, :f :txn, :value [[:r 1 nil] [:append 1 32]]}
        {:index 3, :time 40, :type :invoke, :process 0, :f :txn, :value [[:r 1 nil]]}
        {:index 4, :time 50, :type :info, :process 1, :f :txn, :value [[:append 1 64]]}
        {:index 5, :time 60, :type :invoke, :process 3, :f :txn, :value [[:r 1 nil]]}
        {:index 6, :time 70, :type :fail, :process 3, :f :txn, :value [[:r 1 nil]]}
        {:index 7, :time 80, :type :ok, :process 0, :f :txn, :value [[:r 1 [32 64]]]}
        """,
        edn(h));
  }

  /** A second life is another key; an absence is a read of the life to come. */
  @Test
  void livesBecomeKeys() {
    long x = Keys.list(0, 1);
    long grave = Keys.grave(x);
    String text =
        edn(
            new History(
                List.of(
                    txn(
                        5,
                        0,
                        Outcome.OK,
                        1,
                        2,
                        new Op.Read(x, State.ABSENT),
                        new Op.Read(grave, State.of(1, 7)),
                        new Op.Append(x, State.of(2, 160))))));
    assertTrue(
        text.contains(
            "[[:r "
                + Edn.key(x, 2)
                + " nil] [:r "
                + Edn.key(grave, 1)
                + " [7]] [:append "
                + Edn.key(x, 2)
                + " 160]]"),
        text);
  }

  @Test
  void randomHistoriesHaveTheFormat() {
    EngineLog.silence();
    Setup setup = Setup.usual("edn");
    History h;
    try (Database db = setup.open(new SimDisk(1))) {
      h = new Workload(setup, 1).run(db, 50, () -> false);
    }
    List<String> lines = edn(h).lines().toList();
    assertEquals(2 * h.txns().size(), lines.size());
    Map<String, String> open = new HashMap<>();
    for (int i = 0; i < lines.size(); i++) {
      Matcher m = LINE.matcher(lines.get(i));
      assertTrue(m.matches(), lines.get(i));
      assertEquals(i, Integer.parseInt(m.group(1)));
      boolean begins = m.group(3).equals("invoke");
      assertEquals(!begins, open.containsKey(m.group(4)), lines.get(i));
      if (begins) {
        open.put(m.group(4), m.group(3));
      } else {
        open.remove(m.group(4));
      }
    }
    assertTrue(open.isEmpty());
  }
}
