package io.fovea.cli;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Between which keys records are looked for. Each bound is the first parts of a key, as words of
 * the command line, and stands for all keys that begin with them.
 *
 * <pre>
 *   PART 1                  1...                  all that begin with 1
 *   PART 1 --from 5         1 5... to 1...        of those: from 5 on
 *   PART 1 --after 5        behind 1 5...         of those: behind 5, and what begins with it
 *   PART 1 --to 9           1... to before 1 9    of those: up to what is below 9
 * </pre>
 *
 * @param parts what all begin with; a part of an index may be null
 * @param from behind the parts: the first; empty for none
 * @param after behind the parts: that before the first; empty for none
 * @param to behind the parts: that behind the last; empty for none
 */
record Bounds(
    List<@Nullable String> parts, List<String> from, List<String> after, List<String> to) {
  /** Whether there is more than what all begin with. */
  boolean isBounded() {
    return !from.isEmpty() || !after.isEmpty() || !to.isEmpty();
  }

  /** Whether it is all there is. */
  boolean isAll() {
    return parts.isEmpty() && !isBounded();
  }

  /** The lower bound; empty for none. */
  List<@Nullable String> low() {
    return behind(after.isEmpty() ? from : after);
  }

  /** Whether what begins with the lower bound belongs to it. */
  boolean isLowIncluded() {
    return after.isEmpty();
  }

  /** The upper bound; empty for none. */
  List<@Nullable String> high() {
    return behind(to);
  }

  /** Whether what begins with the upper bound belongs to it. */
  boolean isHighIncluded() {
    return to.isEmpty();
  }

  /** The smallest byte string above all that begin with a prefix; empty if there is none. */
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

  private List<@Nullable String> behind(List<String> more) {
    List<@Nullable String> all = new ArrayList<>(parts);
    all.addAll(more);
    return all;
  }
}
