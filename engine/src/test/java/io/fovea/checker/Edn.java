package io.fovea.checker;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes histories in the format of Elle's list-append checker.
 *
 * <pre>
 *   {:index 0, :time 17, :type :invoke, :process 3, :f :txn, :value [[:r 5 nil] [:append 7 96]]}
 *   {:index 1, :time 30, :type :ok, :process 3, :f :txn, :value [[:r 5 [64 65]] [:append 7 96]]}
 * </pre>
 *
 * <p>Elle has no deletes, so each life of a key becomes a key. A read of an absent key becomes an
 * empty read of its next life, or is omitted if that is unknown. A scan becomes reads of what it
 * found; what it did not find cannot be expressed, so only {@link Checker} finds phantoms. After an
 * unknown outcome a process continues under another number; so do overlapping transactions of a
 * snapshot.
 */
final class Edn {
  private Edn() {}

  private record Line(long time, int order, String type, Txn txn, int process) {}

  /** Writes a history, one operation per line. */
  static void write(History history, Appendable out) throws IOException {
    int processes = 1;
    for (Txn t : history.txns()) {
      processes = Math.max(processes, t.process + 1);
    }
    Map<Integer, Integer> now = new HashMap<>();
    Map<Integer, Long> ended = new HashMap<>();
    List<Line> lines = new ArrayList<>();
    for (Txn t : history.txns()) {
      Long last = ended.put(t.process, t.completed);
      if (last != null && t.invoked < last) {
        now.merge(t.process, processes, Integer::sum);
      }
      int process = now.computeIfAbsent(t.process, p -> p);
      lines.add(new Line(t.invoked, 1, "invoke", t, process));
      String end =
          switch (t.outcome) {
            case OK -> "ok";
            case FAIL -> "fail";
            case INFO -> "info";
          };
      lines.add(new Line(t.completed, 0, end, t, process));
      if (t.outcome == Txn.Outcome.INFO) {
        now.put(t.process, process + processes);
      }
    }
    lines.sort(Comparator.comparingLong(Line::time).thenComparingInt(Line::order));
    int index = 0;
    for (Line l : lines) {
      out.append("{:index " + index++)
          .append(", :time " + l.time)
          .append(", :type :" + l.type)
          .append(", :process " + l.process)
          .append(", :f :txn, :value [" + value(l.txn, l.type.equals("ok")) + "]}\n");
    }
  }

  private static String value(Txn t, boolean read) {
    Map<Long, Integer> graves = new HashMap<>();
    for (Op op : t.ops) {
      if (op instanceof Op.Read r && Keys.isGrave(r.key())) {
        graves.putIfAbsent(r.key(), r.state().list().length);
      }
    }
    List<String> all = new ArrayList<>();
    for (Op op : t.ops) {
      switch (op) {
        case Op.Read r -> read(r.key(), r.state(), graves, read, all);
        case Op.Append a ->
            all.add("[:append " + key(a.key(), a.after().life()) + " " + a.after().last() + "]");
        case Op.Delete d -> {
          // expressed by its append to the grave
        }
        case Op.Timed t2 -> {
          // expiry cannot be expressed
          if (t2.state().present()) {
            read(t2.key(), t2.state(), graves, read, all);
          }
        }
        case Op.Ends e -> {}
        case Op.Scan s -> s.found().forEach((k, state) -> read(k, state, graves, read, all));
        case Op.GroupScan s -> s.found().forEach((k, state) -> read(k, state, graves, read, all));
        case Op.Lookup l -> {
          // absence from a group cannot be expressed
          if (l.state().present()) {
            read(l.key(), l.state(), graves, read, all);
          }
        }
      }
    }
    return String.join(" ", all);
  }

  private static void read(
      long key, State state, Map<Long, Integer> graves, boolean read, List<String> all) {
    if (state.present()) {
      StringBuilder list = new StringBuilder();
      for (long e : state.list()) {
        list.append(list.isEmpty() ? "" : " ").append(e);
      }
      all.add("[:r " + key(key, state.life()) + (read ? " [" + list + "]]" : " nil]"));
    } else if (Keys.isImmortal(key)) {
      all.add("[:r " + key(key, 1) + " nil]");
    } else {
      Integer grave = graves.get(Keys.grave(key));
      if (grave != null) {
        all.add("[:r " + key(key, grave + 1) + " nil]");
      }
    }
  }

  /** Returns the number of one life of a key. */
  static long key(long key, int life) {
    return (key << 16) + life;
  }
}
