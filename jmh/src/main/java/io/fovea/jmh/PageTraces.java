package io.fovea.jmh;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * Traces of page accesses: page ids from 1, in access order. The same seed gives the same trace.
 */
final class PageTraces {
  private PageTraces() {}

  /**
   * Independent draws; the probability of the page of rank k is proportional to k to the power of
   * -theta.
   */
  static int[] zipf(int pages, int length, double theta, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    double[] upTo = new double[pages];
    double sum = 0;
    for (int i = 0; i < pages; i++) {
      sum += Math.pow(i + 1, -theta);
      upTo[i] = sum;
    }
    int[] byRank = shuffled(pages, random);
    int[] trace = new int[length];
    for (int i = 0; i < length; i++) {
      int rank = Arrays.binarySearch(upTo, random.nextDouble() * sum);
      trace[i] = byRank[Math.min(rank < 0 ? ~rank : rank, pages - 1)];
    }
    return trace;
  }

  /**
   * Zipf with scans in between: after every {@code between} draws, a scan reads half of all pages
   * in order, alternating between the halves.
   */
  static int[] scans(int pages, int length, double theta, int between, long seed) {
    int[] draws = zipf(pages, length, theta, seed);
    int[] trace = new int[length];
    int drawn = 0;
    int scanned = 0;
    for (int i = 0; i < length; ) {
      for (int end = Math.min(length, i + between); i < end; i++) {
        trace[i] = draws[drawn++];
      }
      for (int end = Math.min(length, i + pages / 2); i < end; i++) {
        trace[i] = 1 + scanned++ % pages;
      }
    }
    return trace;
  }

  /**
   * A working set of a fifth of all pages that gets 19 of 20 accesses, uniformly. After each
   * interval a quarter of it is replaced.
   *
   * <p>After the drifting working set of G. Graefe et al., "In-Memory Performance for Big Data",
   * PVLDB 2014, figure 13.
   */
  static int[] drift(int pages, int length, int interval, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    int[] order = shuffled(pages, random);
    int working = pages / 5;
    int[] trace = new int[length];
    for (int i = 0; i < length; i++) {
      if (i > 0 && i % interval == 0) {
        for (int k = 0; k < working / 4; k++) {
          swap(order, random.nextInt(working), working + random.nextInt(pages - working));
        }
      }
      trace[i] = order[random.nextInt(random.nextInt(20) == 0 ? pages : working)];
    }
    return trace;
  }

  static int[] loop(int pages, int length) {
    int[] trace = new int[length];
    for (int i = 0; i < length; i++) {
      trace[i] = 1 + i % pages;
    }
    return trace;
  }

  /** Reads a trace written by an engine with {@code -javaagent:benchmarks.jar=trace=FILE}. */
  static int[] read(Path file, int most) throws IOException {
    int[] trace = new int[most];
    int length = 0;
    try (DataInputStream in =
        new DataInputStream(new BufferedInputStream(Files.newInputStream(file), 1 << 20))) {
      while (length < most) {
        trace[length] = Math.toIntExact(in.readLong());
        length++;
      }
    } catch (EOFException e) {
      // End of the file.
    }
    return Arrays.copyOf(trace, length);
  }

  private static int[] shuffled(int pages, SplittableRandom random) {
    int[] order = new int[pages];
    for (int i = 0; i < pages; i++) {
      order[i] = i + 1;
    }
    for (int i = pages - 1; i > 0; i--) {
      swap(order, i, random.nextInt(i + 1));
    }
    return order;
  }

  private static void swap(int[] a, int i, int j) {
    int x = a[i];
    a[i] = a[j];
    a[j] = x;
  }
}
