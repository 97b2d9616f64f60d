package io.fovea.translations;

import io.fovea.InTurn;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * The answers of several engines to one command, round after round and in turn, so that slow phases
 * of the machine affect all of them. A ratio is the median of the rounds' ratios.
 */
final class Turns {
  private final double[][][] answers;

  private Turns(double[][][] answers) {
    this.answers = answers;
  }

  /**
   * Warms up each engine, then asks in rounds.
   *
   * @param command a command whose last word, nanoseconds, is appended
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

  /** Asks in rounds. */
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

  /** Returns a figure of an engine by round. */
  double[] values(int engine, ToDoubleFunction<double[]> figure) {
    return Arrays.stream(answers[engine]).mapToDouble(figure).toArray();
  }

  double median(int engine, ToDoubleFunction<double[]> figure) {
    return InTurn.median(values(engine, figure));
  }

  /** Formats median, minimum and maximum of the rounds, as in {@code 1,234 (1,100-1,300)}. */
  String span(int engine, ToDoubleFunction<double[]> figure) {
    double[] all = values(engine, figure);
    return String.format(
        Locale.ROOT,
        "%,.0f (%,.0f-%,.0f)",
        InTurn.median(all),
        InTurn.quantile(all, 0),
        InTurn.quantile(all, 1));
  }

  /** Returns the ratios of an engine's figure to another one's in the same round. */
  double[] ratios(int engine, int other, ToDoubleFunction<double[]> figure) {
    double[] ratios = values(engine, figure);
    double[] others = values(other, figure);
    for (int i = 0; i < ratios.length; i++) {
      ratios[i] /= others[i];
    }
    return ratios;
  }

  /** Formats median and quartiles of the ratios, as in {@code 1.04 (1.02-1.06)}. */
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
