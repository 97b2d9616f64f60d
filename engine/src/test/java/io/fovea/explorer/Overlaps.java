package io.fovea.explorer;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLongArray;

/** Counts the uses of each feature, and the overlaps of each pair. */
final class Overlaps {
  private static final int N = Feature.values().length;

  final AtomicLongArray begun = new AtomicLongArray(N);
  final AtomicLongArray done = new AtomicLongArray(N);
  private final AtomicLongArray pairs = new AtomicLongArray(N * N);

  /** Counts the begin of an operation, which overlaps all running ones. */
  void begins(Feature feature, List<Worker> workers) {
    int f = feature.ordinal();
    begun.incrementAndGet(f);
    for (Worker other : workers) {
      for (long bits = other.busy; bits != 0; bits &= bits - 1) {
        int g = Long.numberOfTrailingZeros(bits);
        pairs.incrementAndGet(Math.min(f, g) * N + Math.max(f, g));
      }
    }
  }

  /** Counts an overlap of two features. */
  void beside(Feature a, Feature b) {
    pairs.incrementAndGet(
        Math.min(a.ordinal(), b.ordinal()) * N + Math.max(a.ordinal(), b.ordinal()));
  }

  long pair(Feature a, Feature b) {
    int i = Math.min(a.ordinal(), b.ordinal());
    int j = Math.max(a.ordinal(), b.ordinal());
    return pairs.get(i * N + j);
  }

  void add(Overlaps other) {
    for (int i = 0; i < N; i++) {
      begun.addAndGet(i, other.begun.get(i));
      done.addAndGet(i, other.done.get(i));
    }
    for (int i = 0; i < N * N; i++) {
      pairs.addAndGet(i, other.pairs.get(i));
    }
  }

  /** Returns the pairs of used features that never overlapped although they may. */
  List<String> missing(Set<Feature> used) {
    List<String> missing = new ArrayList<>();
    for (Feature a : used) {
      for (Feature b : used) {
        if (a.ordinal() < b.ordinal() && pair(a, b) == 0 && Feature.mayOverlap(a, b)) {
          missing.add(a + "+" + b);
        }
      }
    }
    return missing;
  }

  /** Returns a line per feature: its uses, and its overlaps. */
  String table() {
    Set<Feature> used = EnumSet.noneOf(Feature.class);
    for (Feature f : Feature.values()) {
      if (begun.get(f.ordinal()) > 0) {
        used.add(f);
      }
    }
    StringBuilder s = new StringBuilder();
    s.append(String.format(Locale.ROOT, "%-14s %9s %9s ", "", "begun", "done"));
    for (Feature f : used) {
      s.append(String.format(Locale.ROOT, "%7s", f.shortName()));
    }
    s.append('\n');
    for (Feature a : used) {
      s.append(
          String.format(
              Locale.ROOT, "%-14s %9d %9d ", a, begun.get(a.ordinal()), done.get(a.ordinal())));
      for (Feature b : used) {
        s.append(String.format(Locale.ROOT, "%7d", pair(a, b)));
      }
      s.append('\n');
    }
    return s.toString();
  }
}
