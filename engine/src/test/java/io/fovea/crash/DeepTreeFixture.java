package io.fovea.crash;

import io.fovea.crash.State.Pk;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * A small database with all structures of a file: trees of three levels (long keys that differ
 * late, so that separators are long), long values, free pages, indexes with hints.
 */
final class DeepTreeFixture {
  private static final int KEYS = 220;

  /** A group that the generator does not use, and so does not delete. */
  private static final int GROUP = 9;

  private DeepTreeFixture() {}

  record Base(SimDisk disk, State state) {}

  /** Creates a database that is either closed cleanly or left as after a kill. */
  static Base make(boolean clean, long seed) {
    SimDisk disk = new SimDisk(seed);
    Session s = new Session(disk, Session.small(), false, new State());
    s.open();
    s.first();
    // First, so that the rest does not depend on the generator.
    s.steps(new Generator(seed, 64, false, true), 30);
    Random r = new Random(seed);
    List<Step.Op> ops = new ArrayList<>();
    for (int i = 0; i < KEYS; i++) {
      int length = i % 9 == 0 ? 1100 + r.nextInt(14_000) : 700 + r.nextInt(300);
      ops.add(new Step.Put("bytes", key(i), Step.bytes(length, i + 1)));
      if (ops.size() == 20) {
        s.step(new Step.Transact(List.copyOf(ops), true));
        ops.clear();
      }
    }
    for (int i = 0; i < 6; i++) {
      // Keys that end within their heads.
      ops.add(
          new Step.Put("bytes", new Pk(GROUP, "" + (char) ('A' + i)), Step.bytes(1100, 500 + i)));
    }
    s.step(new Step.Transact(List.copyOf(ops), true));
    // Free pages.
    ops.clear();
    for (int i = 0; i < KEYS; i += 9) {
      ops.add(new Step.Delete("bytes", key(i)));
    }
    s.step(new Step.Transact(ops.subList(0, 6), true));
    if (clean) {
      s.close();
    } else {
      s.step(new Step.Checkpoint());
      s.steps(new Generator(seed + 1, 64, false, false), 10);
      ops.clear();
      for (int i = 1; i < KEYS; i += 9) {
        ops.add(new Step.Put("bytes", key(i), Step.bytes(900, i + 1000)));
      }
      s.step(new Step.Transact(List.copyOf(ops), true));
      s.abandon();
    }
    return new Base(disk.crash(SimCrash.KEEP_ALL), s.state());
  }

  /** Returns keys of which four at a time share their first 84 characters. */
  static Pk key(int i) {
    StringBuilder name = new StringBuilder();
    Random r = new Random(i / 4);
    while (name.length() < 84) {
      name.append((char) ('a' + r.nextInt(26)));
    }
    return new Pk(GROUP, name.append(i % 4).toString());
  }
}
