package io.fovea.translations;

import io.fovea.config.Translation;
import io.fovea.jmh.PointLookup;
import io.fovea.jmh.TranslationLadder;
import io.fovea.memory.Granules;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.LongUnaryOperator;
import java.util.function.Supplier;

/**
 * A pool without transactions: the pages of links of {@link TranslationLadder}, or the tree of
 * {@link PointLookup}. See {@link Engine}.
 *
 * <pre>
 *   links KIND FILL BUFFER_MIB       the arguments
 *   tree KIND RECORDS [BEGIN]
 *   run THREADS NANOS                descents or lookups: number, nanoseconds
 * </pre>
 */
final class PoolEngine {
  /** Creates workers, which are kept, each with its own random sequence. */
  private final Supplier<LongUnaryOperator> worker;

  private final List<LongUnaryOperator> workers = new ArrayList<>();
  private final ExecutorService threads =
      Executors.newCachedThreadPool(
          r -> {
            Thread t = new Thread(r);
            t.setDaemon(true);
            return t;
          });

  private PoolEngine(Supplier<LongUnaryOperator> worker) {
    this.worker = worker;
  }

  private double[] run(String[] words) {
    int n = Integer.parseInt(words[1]);
    long nanos = Long.parseLong(words[2]);
    List<Future<Long>> running = new ArrayList<>();
    while (workers.size() < n) {
      workers.add(worker.get());
    }
    long start = System.nanoTime();
    for (LongUnaryOperator w : workers.subList(0, n)) {
      running.add(threads.submit(() -> w.applyAsLong(start + nanos)));
    }
    long done = 0;
    try {
      for (Future<Long> f : running) {
        done += f.get();
      }
    } catch (InterruptedException | ExecutionException e) {
      throw new IllegalStateException(e);
    }
    return new double[] {done, System.nanoTime() - start};
  }

  /** The child process. */
  public static void main(String[] args) throws IOException, Granules.RefusedException {
    Supplier<LongUnaryOperator> worker;
    if (args[0].equals("links")) {
      TranslationLadder ladder = new TranslationLadder();
      ladder.translation = Translation.valueOf(args[1]);
      ladder.fill = Double.parseDouble(args[2]);
      ladder.bufferMiB = Integer.parseInt(args[3]);
      ladder.setUp();
      worker =
          () -> {
            TranslationLadder.Walker w = new TranslationLadder.Walker();
            w.setUp();
            return until -> ladder.descents(w, until);
          };
    } else {
      PointLookup lookup = new PointLookup();
      lookup.translation = Translation.valueOf(args[1]);
      lookup.records = Integer.parseInt(args[2]);
      lookup.pageSize = 4096;
      lookup.begin = args.length > 3 ? args[3] : "ROOT";
      lookup.load();
      worker =
          () -> {
            PointLookup.Worker w = new PointLookup.Worker();
            return until -> lookup.lookups(w, until);
          };
    }
    Engine.serve(new PoolEngine(worker)::run);
  }
}
