package io.fovea.support;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Supplier;

/**
 * Power that fails before any operation of some work: what was on the disk then, and how far the
 * work had come.
 *
 * @param <S> what says how far
 */
public final class PowerCuts<S> {
  private record Cut<S>(SimDisk disk, S done) {}

  private final SimDisk disk;
  private final Supplier<S> done;
  private final List<Cut<S>> cuts = new ArrayList<>();

  /**
   * None so far.
   *
   * @param done says how far the work has come; asked before each operation
   */
  public PowerCuts(SimDisk disk, Supplier<S> done) {
    this.disk = disk;
    this.done = done;
  }

  /** Does the work, and takes a copy of the disk before each operation. */
  public void during(Runnable work) {
    disk.onOperation(n -> cuts.add(new Cut<>(disk.copy(), done.get())));
    work.run();
    disk.onOperation(n -> {});
  }

  /** How many operations it were. */
  public int size() {
    return cuts.size();
  }

  /**
   * Looks at what each of them leaves: with all writes kept that no sync was behind, or none, in
   * turn, and with some.
   */
  public void forEach(BiConsumer<SimDisk, S> look) {
    for (int i = 0; i < cuts.size(); i++) {
      Cut<S> cut = cuts.get(i);
      SimCrash other = i % 2 == 0 ? SimCrash.LOSE_ALL : SimCrash.KEEP_ALL;
      for (SimCrash how : List.of(other, SimCrash.RANDOM)) {
        look.accept(cut.disk.crash(how), cut.done);
      }
    }
  }
}
