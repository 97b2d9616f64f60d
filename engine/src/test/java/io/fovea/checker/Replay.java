package io.fovea.checker;

import java.util.HashMap;
import java.util.Map;

/** Replays a transaction's operations, separating what it saw of others from its own writes. */
final class Replay {
  /** Receives the events. */
  interface Visitor {
    /** The transaction saw this, without a previous write of the key. */
    void saw(long key, State state, boolean predicate);

    /**
     * It read an interval or a group, and the key was absent.
     *
     * @param group -1: the list did not exist; otherwise it was not in that group
     */
    void missed(long key, int group);

    /** It read an expiring list, and did not find it. */
    default void ended(long key, long high) {}

    /** It wrote this; a deleted list is absent. */
    void wrote(long key, State before, State after);

    /** It saw a state other than the one it had written. */
    void wrong(long key, String saw, State own);

    /** It found a list in a group to which it does not belong. */
    void misplaced(long key, State state, int group);
  }

  private final Map<Long, Versions> known;
  private final Map<Long, State> own = new HashMap<>();

  /** The expiry of the transaction's appends. */
  private final Map<Long, Long> ends = new HashMap<>();

  /** Takes the known keys, which scans of intervals may have missed. */
  Replay(Map<Long, Versions> known) {
    this.known = known;
  }

  void run(Txn t, Visitor v) {
    own.clear();
    ends.clear();
    for (Op op : t.ops) {
      switch (op) {
        case Op.Read r -> read(r, v);
        case Op.Timed r -> timed(r, v);
        case Op.Ends e -> ends.put(e.key(), e.end());
        case Op.Append a -> {
          own.put(a.key(), a.after());
          v.wrote(a.key(), a.after(), a.after());
        }
        case Op.Delete d -> {
          own.put(d.key(), State.ABSENT);
          v.wrote(d.key(), d.before(), State.ABSENT);
        }
        case Op.Scan s -> scan(s, v);
        case Op.GroupScan s -> group(s, v);
        case Op.Lookup l -> lookup(l, v);
      }
    }
  }

  private void read(Op.Read r, Visitor v) {
    State mine = own.get(r.key());
    if (mine == null) {
      v.saw(r.key(), r.state(), false);
    } else if (!mine.equals(r.state())) {
      v.wrong(r.key(), r.state().toString(), mine);
    }
  }

  private void timed(Op.Timed r, Visitor v) {
    if (!r.state().present() && ends.getOrDefault(r.key(), Long.MAX_VALUE) <= r.high()) {
      return; // its own: expiry is evaluated at its first read of a row, which may be later
    }
    if (own.containsKey(r.key()) || r.state().present()) {
      read(new Op.Read(r.key(), r.state()), v);
    } else {
      v.ended(r.key(), r.high());
    }
  }

  private void scan(Op.Scan s, Visitor v) {
    found(s.found(), v);
    if (s.high() - s.low() < known.size()) {
      for (long key = s.low(); key <= s.high(); key++) {
        notFound(key, s, v);
      }
    } else {
      for (long key : known.keySet()) {
        if (key >= s.low() && key <= s.high()) {
          notFound(key, s, v);
        }
      }
    }
  }

  private void notFound(long key, Op.Scan s, Visitor v) {
    if (s.found().containsKey(key)) {
      return;
    }
    State mine = own.get(key);
    if (mine == null) {
      if (known.containsKey(key)) {
        v.missed(key, -1);
      }
    } else if (mine.present()) {
      v.wrong(key, "nothing", mine);
    }
  }

  private void group(Op.GroupScan s, Visitor v) {
    found(s.found(), v);
    for (int slot = 0; slot < Keys.SLOTS; slot++) {
      long key = Keys.list(s.generation(), slot);
      inGroup(key, s.found().getOrDefault(key, State.ABSENT), s.group(), v);
    }
  }

  private void lookup(Op.Lookup l, Visitor v) {
    if (l.state().present()) {
      found(Map.of(l.key(), l.state()), v);
    }
    inGroup(l.key(), l.state(), l.group(), v);
  }

  /** Reports that a list was or was not seen in a group; its state has been reported before. */
  private void inGroup(long key, State seen, int group, Visitor v) {
    State mine = own.get(key);
    if (seen.present()) {
      if (Keys.group(seen.last()) != group) {
        v.misplaced(key, seen, group);
      }
    } else if (mine == null) {
      if (known.containsKey(key)) {
        v.missed(key, group);
      }
    } else if (mine.present() && Keys.group(mine.last()) == group) {
      v.wrong(key, "nothing in group " + group, mine);
    }
  }

  private void found(Map<Long, State> found, Visitor v) {
    found.forEach(
        (key, state) -> {
          State mine = own.get(key);
          if (mine == null) {
            v.saw(key, state, true);
          } else if (!mine.equals(state)) {
            v.wrong(key, state.toString(), mine);
          }
        });
  }
}
