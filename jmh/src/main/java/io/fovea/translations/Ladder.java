package io.fovea.translations;

import io.fovea.Markdown;
import io.fovea.config.Translation;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * Descents through pages of links under each translation, by fill of the pool and number of
 * threads. {@code DIRECT} does not support a fill above 1.
 */
final class Ladder {
  private static final ToDoubleFunction<double[]> NANOS = a -> a[1] / a[0];

  private static final List<Translation> KINDS =
      List.of(
          Translation.LATCHED,
          Translation.OPTIMISTIC_CHAINED,
          Translation.OPTIMISTIC,
          Translation.PREDICTIVE_HASHED,
          Translation.PREDICTIVE,
          Translation.SWIZZLED,
          Translation.VIRTUAL,
          Translation.DIRECT);

  private final Translations figures;
  private final int[] threadCounts;
  private final double[] fills;
  private final int bufferMiB;

  /** By number of threads, kind and fill. */
  private final String[][][] cells;

  private final String[][][] ratios;

  Ladder(Translations figures, int[] threadCounts, double[] fills) {
    this.figures = figures;
    this.threadCounts = threadCounts;
    this.fills = fills;
    this.bufferMiB = figures.quick() ? 16 : 256;
    this.cells = new String[threadCounts.length][KINDS.size()][fills.length];
    this.ratios = new String[threadCounts.length][KINDS.size()][fills.length];
  }

  void run() {
    for (int f = 0; f < fills.length; f++) {
      measure(f);
    }
    Object[] heads =
        Arrays.stream(fills).mapToObj(d -> String.format(Locale.ROOT, "fill %s", d)).toArray();
    for (int t = 0; t < threadCounts.length; t++) {
      System.out.printf(
          "%nns per descent and thread, %s, pool %d MiB (least-most of %d slices):%n%n",
          threads(t), bufferMiB, figures.rounds());
      Markdown.head("kind", heads);
      for (int k = 0; k < KINDS.size(); k++) {
        Markdown.line(KINDS.get(k).name(), (Object[]) cells[t][k]);
      }
    }
    for (int t = 0; t < threadCounts.length; t++) {
      System.out.printf("%nTime of PREDICTIVE by that of another, %s (quartiles):%n%n", threads(t));
      Markdown.head("PREDICTIVE over", heads);
      for (int k = 0; k < KINDS.size(); k++) {
        if (KINDS.get(k) != Translation.PREDICTIVE) {
          String goal = KINDS.get(k) == Translation.DIRECT ? " (goal 1.02 at .95)" : "";
          Markdown.line(KINDS.get(k).name() + goal, (Object[]) ratios[t][k]);
        }
      }
    }
  }

  private String threads(int t) {
    return threadCounts[t] + (threadCounts[t] == 1 ? " thread" : " threads");
  }

  private void measure(int f) {
    Map<String, List<String>> arguments = new LinkedHashMap<>();
    for (Translation kind : KINDS) {
      if (kind != Translation.DIRECT || fills[f] < 1) {
        arguments.put(
            kind.name(),
            List.of("links", kind.name(), String.valueOf(fills[f]), String.valueOf(bufferMiB)));
      }
    }
    List<Engine> engines = Engine.start(PoolEngine.class, arguments);
    List<String> titles = engines.stream().map(e -> e.title).toList();
    int predictive = titles.indexOf(Translation.PREDICTIVE.name());
    for (int t = 0; t < threadCounts.length; t++) {
      int threads = threadCounts[t];
      Turns turns = figures.turns(engines, "run " + threads, t > 0);
      for (int k = 0; k < KINDS.size(); k++) {
        int i = titles.indexOf(KINDS.get(k).name());
        cells[t][k][f] = i < 0 ? "-" : turns.span(i, a -> threads * NANOS.applyAsDouble(a));
        ratios[t][k][f] = i < 0 ? "-" : turns.ratio(predictive, i, NANOS);
      }
    }
    Engine.close(engines);
  }
}
