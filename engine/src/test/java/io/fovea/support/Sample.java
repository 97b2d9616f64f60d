package io.fovea.support;

import java.util.SplittableRandom;

/**
 * A sample of numbered cases: one of every n, starting at a case that differs from run to run, so
 * that successive runs cover all of them.
 *
 * <p>{@code -Dsample.seed=N} repeats a run; {@code -Dsample.all=true} takes every case.
 */
public final class Sample {
  private static final boolean ALL = Boolean.getBoolean("sample.all");
  private static final long SEED = Long.getLong("sample.seed", System.nanoTime() & 0xFFFFFF);

  private final int stride;
  private final int first;

  private Sample(int stride) {
    this.stride = ALL ? 1 : stride;
    this.first = new SplittableRandom(SEED).nextInt(this.stride);
  }

  /** Samples one of every {@code stride} cases. */
  public static Sample oneOf(int stride) {
    return new Sample(stride);
  }

  /** Returns whether every case is taken: by {@code -Dsample.all=true}. */
  public static boolean all() {
    return ALL;
  }

  /** Returns the number of rounds: {@code few}, or {@code many} if every case is taken. */
  public static int rounds(int few, int many) {
    return ALL ? many : few;
  }

  /** Returns a number that differs from run to run, at which a test can begin its own numbering. */
  public static int seed() {
    return (int) SEED;
  }

  /** Returns whether a case is in the sample. */
  public boolean has(int number) {
    return number % stride == first;
  }

  /** Returns the first case of the sample, below {@link #stride}. */
  public int first() {
    return first;
  }

  /** Returns the distance from one case to the next. */
  public int stride() {
    return stride;
  }

  /** A test of one case. */
  public interface Body {
    /** Tests it. */
    void run(int number) throws Exception;
  }

  /** Tests a case; if it fails, the message says how to repeat it. */
  public static void run(int number, Body body) {
    try {
      body.run(number);
    } catch (Throwable e) {
      throw failed("case " + number, e);
    }
  }

  /** Tests the sampled cases from 0 up to a number, exclusive. */
  public void forEach(int to, Body body) {
    for (int i = first; i < to; i += stride) {
      run(i, body);
    }
  }

  /**
   * Asserts that the cases reached what they are meant to test: more than {@code least} times if
   * all cases are taken, and at least once in a sample, whose yield differs from run to run.
   */
  public static void requireMet(int met, int least, String what) {
    if (met <= (ALL ? least : 0)) {
      throw new AssertionError(met + " " + what + ", -Dsample.seed=" + SEED);
    }
  }

  /** Returns a failure that says how to repeat it. */
  public static AssertionError failed(String what, Throwable e) {
    return new AssertionError(what + ", -Dsample.seed=" + SEED + ": " + e, e);
  }
}
