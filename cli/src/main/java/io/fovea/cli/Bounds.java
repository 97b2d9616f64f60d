package io.fovea.cli;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A key range. Each bound is the first parts of a key, as words of the command line, and represents
 * all keys that begin with them.
 *
 * <pre>
 *   PART 1                  1...                  all that begin with 1
 *   PART 1 --from 5         1 5... to 1...        of those: from 5 on
 *   PART 1 --after 5        behind 1 5...         of those: after all that begin with 5
 *   PART 1 --to 9           1... to before 1 9    of those: below 9
 * </pre>
 *
 * @param parts the common first parts; a part of an index may be null
 * @param from after the parts: the lower bound, inclusive; empty for none; a part of an index may
 *     be null
 * @param after after the parts: the lower bound, exclusive; empty for none
 * @param to after the parts: the upper bound, exclusive; empty for none
 */
record Bounds(
    List<@Nullable String> parts,
    List<? extends @Nullable String> from,
    List<String> after,
    List<String> to) {
  /** Whether there are bounds other than the common parts. */
  boolean isBounded() {
    return !from.isEmpty() || !after.isEmpty() || !to.isEmpty();
  }

  /** Whether the range includes all keys. */
  boolean isAll() {
    return parts.isEmpty() && !isBounded();
  }

  /** The lower bound; empty for none. */
  List<@Nullable String> low() {
    return behind(after.isEmpty() ? from : after);
  }

  /** Whether keys that begin with the lower bound are included. */
  boolean isLowIncluded() {
    return after.isEmpty();
  }

  /** The upper bound; empty for none. */
  List<@Nullable String> high() {
    return behind(to);
  }

  /** Whether keys that begin with the upper bound are included. */
  boolean isHighIncluded() {
    return to.isEmpty();
  }

  /** The smallest byte string above all with a prefix; empty if there is none. */
  static byte[] above(byte[] prefix) {
    int n = prefix.length;
    while (n > 0 && prefix[n - 1] == (byte) 0xFF) {
      n--;
    }
    byte[] next = Arrays.copyOf(prefix, n);
    if (n > 0) {
      next[n - 1]++;
    }
    return next;
  }

  private List<@Nullable String> behind(List<? extends @Nullable String> more) {
    List<@Nullable String> all = new ArrayList<>(parts);
    all.addAll(more);
    return all;
  }
}
