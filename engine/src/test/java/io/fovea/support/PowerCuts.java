package io.fovea.support;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.function.Supplier;

/**
 * Power failures before each operation of some work, with the disk and the progress at that time.
 *
 * @param <S> the progress
 */
public final class PowerCuts<S> {
  private record Cut<S>(SimDisk disk, S done) {}

  /** One of this many cuts is tried, and the first one of each stage of the work. */
  private static final Sample SAMPLE = Sample.oneOf(4);

  private final SimDisk disk;
  private final Supplier<S> done;
  private final List<Cut<S>> cuts = new ArrayList<>();

  /** Records cuts of a disk; {@code done} returns the progress before each operation. */
  public PowerCuts(SimDisk disk, Supplier<S> done) {
    this.disk = disk;
    this.done = done;
  }

  /** Does the work, and copies the disk before each operation. */
  public void during(Runnable work) {
    disk.onOperation(n -> cuts.add(new Cut<>(disk.copy(), done.get())));
    work.run();
    disk.onOperation(n -> {});
  }

  /** Returns the number of cuts. */
  public int size() {
    return cuts.size();
  }

  /**
   * Tries a sample of cuts: with all unsynced writes kept or lost, alternately, and with a random
   * subset of them. Includes the first cut of each stage, that is, of each distinct progress.
   */
  public void forEach(BiConsumer<SimDisk, S> look) {
    forEach(look, true);
  }

  /** Tries a sample without the first cuts of stages, for work with many short stages. */
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
      // Uses the stride as well, so that a sample has both.
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
