package io.fovea.checker;

import java.util.Arrays;

/**
 * The value of a key: absent, or the list of one of its lives.
 *
 * @param life how often the key had been inserted, from 1; 0 if absent
 * @param list the elements appended in that life, oldest first; empty if absent
 */
record State(int life, long[] list) {
  /** The key is absent; after which life is not specified. */
  static final State ABSENT = new State(0, new long[0]);

  static State of(int life, long... list) {
    return new State(life, list);
  }

  boolean present() {
    return life > 0;
  }

  long last() {
    return list[list.length - 1];
  }

  State append(long element) {
    long[] longer = Arrays.copyOf(list, list.length + 1);
    longer[list.length] = element;
    return new State(life, longer);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof State s && life == s.life && Arrays.equals(list, s.list);
  }

  @Override
  public int hashCode() {
    return life * 31 + Arrays.hashCode(list);
  }

  @Override
  public String toString() {
    if (!present()) {
      return "nothing";
    }
    StringBuilder s = new StringBuilder();
    for (long e : list) {
      s.append(s.isEmpty() ? "" : " ").append(Elements.name(e));
    }
    return (life == 1 ? "[" : "life " + life + " [") + s + "]";
  }
}
