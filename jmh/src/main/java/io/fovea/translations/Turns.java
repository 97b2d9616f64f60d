package io.fovea.translations;

import io.fovea.InTurn;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * What several engines have answered to one command, round after round and in turn: so that a slow
 * moment of the machine is in the figures of all of them. A ratio is the median of the rounds'
 * ratios.
 */
final class Turns {
  private final double[][][] answers;

  private Turns(double[][][] answers) {
    this.answers = answers;
  }

  /**
   * Lets each work for some time first, for its compiler, and asks then.
   *
   * @param command whose last word is a number of nanoseconds, to be added
   * @param warmUpNanos may be 0
   */
  static Turns of(List<Engine> engines, String command, long warmUpNanos, long nanos, int rounds) {
    for (Engine e : engines) {
      if (warmUpNanos > 0) {
        e.ask(command + " " + warmUpNanos);
      }
    }
    return of(engines, command + " " + nanos, 2, rounds);
  }

  /**
   * Asks.
   *
   * @param warmUp rounds that do not count
   * @param rounds those that do
   */
  static Turns of(List<Engine> engines, String command, int warmUp, int rounds) {
    double[][][] answers = new double[engines.size()][rounds][];
    for (int round = -warmUp; round < rounds; round++) {
      for (int i = 0; i < engines.size(); i++) {
        double[] answer = engines.get(i).ask(command);
        if (round >= 0) {
          answers[i][round] = answer;
        }
      }
    }
    return new Turns(answers);
  }

  /** A figure of an engine's rounds. */
  double[] values(int engine, ToDoubleFunction<double[]> figure) {
    return Arrays.stream(answers[engine]).mapToDouble(figure).toArray();
  }

  double median(int engine, ToDoubleFunction<double[]> figure) {
    return InTurn.median(values(engine, figure));
  }

  /** Median, least and most of the rounds, as in {@code 1,234 (1,100-1,300)}. */
  String span(int engine, ToDoubleFunction<double[]> figure) {
    double[] all = values(engine, figure);
    return String.format(
        Locale.ROOT,
        "%,.0f (%,.0f-%,.0f)",
        InTurn.median(all),
        InTurn.quantile(all, 0),
        InTurn.quantile(all, 1));
  }

  /** An engine's figure by that of another one, of the same round. */
  double[] ratios(int engine, int other, ToDoubleFunction<double[]> figure) {
    double[] ratios = values(engine, figure);
    double[] others = values(other, figure);
    for (int i = 0; i < ratios.length; i++) {
      ratios[i] /= others[i];
    }
    return ratios;
  }

  /** Median and quartiles of the ratios, as in {@code 1.04 (1.02-1.06)}. */
  String ratio(int engine, int other, ToDoubleFunction<double[]> figure) {
    double[] r = ratios(engine, other, figure);
    return String.format(
        Locale.ROOT,
        "%.3f (%.2f-%.2f)",
        InTurn.median(r),
        InTurn.quantile(r, 0.25),
        InTurn.quantile(r, 0.75));
  }
}
