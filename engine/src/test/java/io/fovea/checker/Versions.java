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
 * <b>Why the order is known.</b> Within a life nothing is ever taken out of a list and no element
 * comes twice, so each list that is read tells the whole order of the appends before it, and all
 * lists of a life must be beginnings of the longest (as in Elle, Kingsbury and Alvaro, VLDB 2020).
 * Lives are numbered: who deletes a list enters that into the key's grave, a list that is never
 * deleted itself, and who begins a new life has read the grave and gives the life the next number.
 * So a list carries its life's number, and a grave says who ended which. What a read says of the
 * version that it saw:
 *
 * <ul>
 *   <li>a list: exactly which one;
 *   <li>nothing, with the grave read in the same transaction, n deep: what was left of life n, or a
 *       state that is wrong already by that;
 *   <li>nothing, or not in a group: one of several versions, from the first to the last that fit;
 *       where a transaction of unknown end may have written one more, that may be it.
 * </ul>
 *
 * A read that saw one of the versions a to b happened after the write of a (or it would have seen
 * an earlier one) and before the write of b + 1. Both edges hold whichever it was, so nothing is
 * reported that is not there; what is lost is that a read between two fitting versions may hide.
 */
final class Versions {
  /** The state before the first transaction. */
  static final int NOBODY = -1;

  /** A version that no one wrote whom the history knows. */
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

  /** Until when the list with a last element is there, of one that ends by itself. */
  private final Map<Long, Long> ends = new HashMap<>();

  /** Whether somebody of whom nothing is known may have ended the last life. */
  private boolean maybeGone;

  /** Whether somebody of whom nothing is known may have written one version more. */
  private boolean maybeWritten;

  /** The earliest time at which a list may have ended that such a one has written. */
  private long maybeEnd = Long.MAX_VALUE;

  Versions(long key) {
    this.key = key;
    arrange(e -> UNKNOWN); // nobody may ever see or make a list of it: it has one version then
  }

  private Life life(int number) {
    while (lives.size() < number) {
      lives.add(new Life());
    }
    return lives.get(number - 1);
  }

  /** A list that ends in an element is there until a time. */
  void ends(long element, long time) {
    ends.put(element, time);
  }

  /** When a list ends; never where nobody has said so. */
  long end(State s) {
    return ends.getOrDefault(s.last(), Long.MAX_VALUE);
  }

  /** A list that somebody has seen or made. */
  void list(State s) {
    Life life = life(s.life());
    if (s.list().length > life.longest.length) {
      life.longest = s.list();
    }
  }

  /**
   * A life that somebody has ended.
   *
   * @return who had ended it before, or {@link #NOBODY}
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
   * A transaction that may have committed, and of which nobody has seen an element, has written the
   * key. That it was not there, or not in a group, may be all that is seen of that.
   *
   * @param deleted whether it has deleted the list
   */
  void maybe(boolean deleted) {
    maybeWritten = true;
    maybeGone |= deleted;
  }

  /**
   * Such a transaction has said until when the list is there, and nobody has seen it before that.
   */
  void maybeEnds(long time) {
    maybeEnd = Math.min(maybeEnd, time);
  }

  /** Whether there may be a version of some life, behind those that are known, that has ended. */
  boolean mayHaveEnded(long time) {
    return maybeEnd <= time;
  }

  /** Whether there may be a version behind the last one that is not in a group, or not at all. */
  boolean mayBeWithout(int group) {
    return group < 0 ? maybeGone : maybeWritten;
  }

  /** At which place a list is no beginning of the longest of its life; -1 where it is one. */
  int departs(State s) {
    long[] longest = life(s.life()).longest;
    return Arrays.mismatch(longest, 0, s.list().length, s.list(), 0, s.list().length);
  }

  long longest(int life, int place) {
    return life(life).longest[place];
  }

  /** Numbers the versions; all lists and deletes are known now. */
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

  /** Who has written a version. */
  int writer(int version) {
    return writers[version];
  }

  /** Whether who wrote it went on to write another. */
  boolean passing(int version) {
    return passing[version];
  }

  /** Which version a list is. */
  int of(State s) {
    return firsts[s.life() - 1] + s.list().length - 1;
  }

  /** What is left of the life of a number, or -1; 0 is the state at the beginning. */
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

  /** The first or last version that is not in a group; for group -1: that is not there at all. */
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
   * The first or last version of a life that may have ended by a time, or of all lives.
   *
   * @param life its number, 0 for before the first one; below 0 where it is not known
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
   * The last version of a life; one more than there are where no later life is known, or where it
   * is not known which life it is.
   *
   * @param life its number, 0 for before the first one; below 0 where it is not known
   */
  int lastOf(int life) {
    return life < 0 || life >= lives.size() ? count() : Math.max(0, firsts[life] - 1);
  }

  /** A version as a state. */
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

  /** What the writer of a version did. */
  String deed(int version) {
    State s = state(version);
    if (!s.present()) {
      return "deleted " + Keys.name(key);
    }
    return s.list().length == 1
        ? "inserted " + Keys.name(key) + "=" + s
        : "appended " + Elements.name(s.last()) + " to " + Keys.name(key);
  }
}
