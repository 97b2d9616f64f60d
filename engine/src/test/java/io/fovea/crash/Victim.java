package io.fovea.crash;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.SimDatabase;
import io.fovea.config.Durability;
import io.fovea.config.Io;
import io.fovea.config.LeakDetection;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * Works on a real file until it is killed; prints {@code b N} before step N and {@code a N} after
 * it. {@link KillTest} starts it, kills it, and does the same steps to a model.
 *
 * <p>Usage: {@code Victim FILE SEED:STEPS,SEED:STEPS,...}: the steps that the file has seen, and
 * lastly those to do. Ends with status 0 after a clean close.
 */
final class Victim {
  private Victim() {}

  record Part(long seed, int steps) {
    Generator generator() {
      return new Generator(seed);
    }

    @Override
    public String toString() {
      return seed + ":" + steps;
    }

    static Part of(String s) {
      String[] parts = s.split(":", -1);
      return new Part(Long.parseLong(parts[0]), Integer.parseInt(parts[1]));
    }
  }

  static Options options() {
    return Options.defaults()
        .durability(Durability.SYNC)
        .device(dev -> dev.io(Io.valueOf(System.getProperty("victim.io", "AUTO"))))
        .bufferBytes(600_000)
        .memory(mem -> mem.timestampBytes(1 << 20))
        .transactions(txs -> txs.maxActive(4))
        .log(
            log ->
                log.maxBytes(512 << 10)
                    .bufferBytes(64 << 10)
                    .segmentBytes(64 << 10)
                    .checkpointInterval(Duration.ZERO))
        .transactions(txs -> txs.leakDetection(LeakDetection.OFF));
  }

  /** Returns the model after some parts. */
  static State model(List<Part> parts) {
    State state = new State();
    for (Part p : parts) {
      Generator g = p.generator();
      for (int i = 0; i < p.steps; i++) {
        state = state.copy();
        g.next(state).apply(state);
      }
    }
    return state;
  }

  public static void main(String[] args) {
    Path file = Path.of(args[0]);
    List<Part> parts = List.of(args[1].split(",", -1)).stream().map(Part::of).toList();
    Part mine = parts.getLast();
    State state = model(parts.subList(0, parts.size() - 1));
    PrintStream out = System.out;
    Database db = Database.open(file, options());
    out.println("open");
    Generator g = mine.generator();
    for (int i = 0; i < mine.steps; i++) {
      out.println("b " + (i + 1));
      Step step = g.next(state);
      if (step instanceof Step.Reopen) {
        db.close();
        db = Database.open(file, options());
      } else {
        step.run(db, state.copy());
      }
      state = state.copy();
      step.apply(state);
      out.println("a " + (i + 1));
      out.flush();
    }
    if (mine.seed % 2 == 0) {
      SimDatabase.checkpoint(db);
    }
    db.close();
    out.println("closed");
    System.exit(0);
  }
}
