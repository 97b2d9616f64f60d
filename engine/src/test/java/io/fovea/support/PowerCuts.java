package io.fovea.support;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
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

  /** One of so many cuts is looked at, and the first one of each stage of the work. */
  private static final Sample SAMPLE = Sample.oneOf(4);

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
   * Looks at what a sample of them leaves: with all writes kept that no sync was behind, or none,
   * in turn, and with some. The first cut after each stage, as {@code done} tells them apart, is
   * always among them.
   */
  public void forEach(BiConsumer<SimDisk, S> look) {
    forEach(look, true);
  }

  /** The same without the first cuts of stages: for work of many small ones. */
  public void forEachOfSample(BiConsumer<SimDisk, S> look) {
    forEach(look, false);
  }

  private void forEach(BiConsumer<SimDisk, S> look, boolean stages) {
    for (int i = 0; i < cuts.size(); i++) {
      Cut<S> cut = cuts.get(i);
      boolean first = i == 0 || !Objects.equals(cut.done, cuts.get(i - 1).done);
      if (!SAMPLE.has(i) && !(stages && first)) {
        continue;
      }
      // By the stride as well, so that a sample has both.
      SimCrash other = (i + i / SAMPLE.stride()) % 2 == 0 ? SimCrash.LOSE_ALL : SimCrash.KEEP_ALL;
      Sample.run(
          i,
          n -> {
            for (SimCrash how : List.of(other, SimCrash.RANDOM)) {
              look.accept(cut.disk.crash(how), cut.done);
            }
          });
    }
  }
}
