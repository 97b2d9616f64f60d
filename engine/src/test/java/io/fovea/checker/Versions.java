package io.fovea.checker;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongToIntFunction;

/**
 * All versions of one key, in order.
 *
 * <pre>
 *   0        1     2       3          4         5        6
 *   nothing  [a]   [a b]   nothing    [c]       [c d]    nothing
 *            life 1 ....   deleted    life 2 ...         deleted
 * </pre>
 *
 * <b>Why the order is known.</b> Within a life no element is removed from a list, and none occurs
 * twice. So each list that is read shows the order of the appends before it, and all lists of a
 * life must be prefixes of the longest (as in Elle, Kingsbury and Alvaro, VLDB 2020). Lives are
 * numbered: a transaction that deletes a list records it in the key's grave, a list that is never
 * deleted. One that begins a life has read the grave, and numbers the life accordingly. So a list
 * carries its life's number, and a grave identifies the transactions that ended lives. A read
 * determines its version as follows:
 *
 * <ul>
 *   <li>a list: exactly one version;
 *   <li>absent, with the grave read in the same transaction, of length n: the deletion of life n,
 *       or a state that is wrong already for that reason;
 *   <li>absent, or not in a group: one of several versions, from the first to the last that fit; if
 *       a transaction with unknown outcome may have written another one, also that.
 * </ul>
 *
 * A read of one of the versions a to b follows the write of a (or it would have seen an earlier
 * one) and precedes the write of b + 1. Both edges hold for each of them, so no false anomaly is
 * reported; but a wrong read between two fitting versions may be missed.
 */
final class Versions {
  /** The writer of the state before the first transaction. */
  static final int NOBODY = -1;

  /** The writer of a version that is not in the history. */
  static final int UNKNOWN = -2;

  private static final class Life {
    long[] longest = new long[0];
    int deleter = NOBODY;
  }

  final long key;
  private final List<Life> lives = new ArrayList<>();
  private int[] writers;
  private int[] firsts;
  private int[] groups;
  private boolean[] passing;

  /** When the list with a last element expires. */
  private final Map<Long, Long> ends = new HashMap<>();

  /** Whether a transaction with unknown outcome may have ended the last life. */
  private boolean maybeGone;

  /** Whether a transaction with unknown outcome may have written another version. */
  private boolean maybeWritten;

  /** The earliest expiry that a transaction with unknown outcome may have set. */
  private long maybeEnd = Long.MAX_VALUE;

  Versions(long key) {
    this.key = key;
    arrange(e -> UNKNOWN); // if it is never seen or written, it has one version
  }

  private Life life(int number) {
    while (lives.size() < number) {
      lives.add(new Life());
    }
    return lives.get(number - 1);
  }

  /** Sets when a list that ends in an element expires. */
  void ends(long element, long time) {
    ends.put(element, time);
  }

  /** Returns when a list expires; never if not set. */
  long end(State s) {
    return ends.getOrDefault(s.last(), Long.MAX_VALUE);
  }

  /** Registers a list that was seen or written. */
  void list(State s) {
    Life life = life(s.life());
    if (s.list().length > life.longest.length) {
      life.longest = s.list();
    }
  }

  /**
   * Registers the end of a life; returns the transaction that ended it before, or {@link #NOBODY}.
   */
  int deleted(int number, int txn) {
    Life life = life(number);
    int before = life.deleter;
    if (before == NOBODY || before == txn) {
      life.deleter = txn;
      return NOBODY;
    }
    return before;
  }

  /**
   * Registers a write of a transaction with unknown outcome whose elements were not seen. An
   * absence, also from a group, may be its only visible effect.
   *
   * @param deleted whether it has deleted the list
   */
  void maybe(boolean deleted) {
    maybeWritten = true;
    maybeGone |= deleted;
  }

  /** Registers an expiry that such a transaction may have set and that no read contradicts. */
  void maybeEnds(long time) {
    maybeEnd = Math.min(maybeEnd, time);
  }

  /** Returns whether an expired version may follow the known ones of some life. */
  boolean mayHaveEnded(long time) {
    return maybeEnd <= time;
  }

  /** Returns whether a version outside a group, or an absent one, may follow the last. */
  boolean mayBeWithout(int group) {
    return group < 0 ? maybeGone : maybeWritten;
  }

  /** Returns where a list differs from the longest of its life; -1 if it is a prefix. */
  int departs(State s) {
    long[] longest = life(s.life()).longest;
    return Arrays.mismatch(longest, 0, s.list().length, s.list(), 0, s.list().length);
  }

  long longest(int life, int place) {
    return life(life).longest[place];
  }

  /** Numbers the versions, when all lists and deletes are known. */
  void arrange(LongToIntFunction writerOf) {
    int n = 1;
    for (Life life : lives) {
      n += life.longest.length + 1;
    }
    if (!lives.isEmpty() && lives.getLast().deleter == NOBODY) {
      n--;
    }
    writers = new int[n];
    groups = new int[n];
    firsts = new int[lives.size() + 1];
    passing = new boolean[n];
    writers[0] = NOBODY;
    groups[0] = -1;
    int v = 1;
    for (int l = 0; l < lives.size(); l++) {
      Life life = lives.get(l);
      firsts[l] = v;
      for (long e : life.longest) {
        groups[v] = Keys.group(e);
        writers[v++] = writerOf.applyAsInt(e);
      }
      if (v < n) {
        groups[v] = -1;
        writers[v++] = life.deleter == NOBODY ? UNKNOWN : life.deleter;
      }
    }
    firsts[lives.size()] = v;
    Map<Integer, Integer> last = new HashMap<>();
    for (int i = n - 1; i > 0; i--) {
      passing[i] = writers[i] >= 0 && last.putIfAbsent(writers[i], i) != null;
    }
  }

  int count() {
    return writers.length;
  }

  int writer(int version) {
    return writers[version];
  }

  /** Returns whether the writer of a version overwrote it in the same transaction. */
  boolean passing(int version) {
    return passing[version];
  }

  /** Returns the version of a list. */
  int of(State s) {
    return firsts[s.life() - 1] + s.list().length - 1;
  }

  /** Returns the version that follows the end of a life, or -1; for 0 the initial state. */
  int dead(int life) {
    if (life == 0) {
      return 0;
    }
    if (life > lives.size()) {
      return -1;
    }
    int v = firsts[life] - 1;
    return groups[v] < 0 ? v : -1;
  }

  /**
   * Returns the first or last version outside a group; for group -1, the first or last absent one.
   */
  int without(int group, boolean first) {
    int from = first ? 0 : writers.length - 1;
    int step = first ? 1 : -1;
    for (int v = from; v >= 0 && v < writers.length; v += step) {
      boolean fits = group < 0 ? groups[v] < 0 : groups[v] != group;
      if (fits && !passing[v]) {
        return v;
      }
    }
    return 0;
  }

  /**
   * Returns the first or last version of a life, or of all lives, that may have expired by a time.
   *
   * @param life its number; 0: before the first one; below 0: unknown
   * @return -1 if there is none
   */
  int ended(int life, long time, boolean first) {
    if (life > lives.size()) {
      return -1;
    }
    int low = life <= 0 ? 0 : firsts[life - 1];
    int high = life < 0 ? writers.length : life == 0 ? 1 : firsts[life];
    int step = first ? 1 : -1;
    for (int v = first ? low : high - 1; v >= low && v < high; v += step) {
      if (!passing[v]) {
        State s = state(v);
        if (!s.present() || end(s) <= time) {
          return v;
        }
      }
    }
    return -1;
  }

  /**
   * Returns the last version of a life; if no later life is known, or the life is not known, the
   * number of versions.
   *
   * @param life its number; 0: before the first one; below 0: unknown
   */
  int lastOf(int life) {
    return life < 0 || life >= lives.size() ? count() : Math.max(0, firsts[life] - 1);
  }

  State state(int version) {
    for (int l = lives.size() - 1; l >= 0; l--) {
      if (version >= firsts[l]) {
        int n = version - firsts[l] + 1;
        long[] longest = lives.get(l).longest;
        return n > longest.length ? State.ABSENT : new State(l + 1, Arrays.copyOf(longest, n));
      }
    }
    return State.ABSENT;
  }

  /** Describes the write of a version. */
  String describeWrite(int version) {
    State s = state(version);
    if (!s.present()) {
      return "deleted " + Keys.name(key);
    }
    return s.list().length == 1
        ? "inserted " + Keys.name(key) + "=" + s
        : "appended " + Elements.name(s.last()) + " to " + Keys.name(key);
  }
}
