package io.fovea.streams;

import java.util.ArrayList;
import java.util.List;

/**
 * The commits of the stores of one task, which are one transaction.
 *
 * <p>Kafka Streams commits the stores of a task one after the other. Each is <i>staged</i>, and the
 * last one commits all: rows, changelog offsets and positions of all stores of the task are durable
 * together, or lost together. A store that is written, or closed, while it is staged commits what
 * is staged so far.
 *
 * <p>Threading: the monitor guards it. One thread at a time has a task, so nobody waits.
 */
final class TaskCommits {
  private final Instance instance;
  private final List<StoreState> staged = new ArrayList<>();
  private int stores;

  TaskCommits(Instance instance) {
    this.instance = instance;
  }

  synchronized void opened() {
    stores++;
  }

  synchronized void closed(StoreState store) {
    stores--;
    finish();
  }

  /** A store is to be committed with the others of its task. */
  synchronized void stage(StoreState store) {
    if (staged.contains(store)) {
      finish();
    }
    staged.add(store);
    store.setStaged(true);
    if (staged.size() >= stores) {
      finish();
    }
  }

  /** Commits what is staged. */
  synchronized void finish() {
    if (staged.isEmpty()) {
      return;
    }
    List<StoreState> all = new ArrayList<>(staged);
    staged.clear();
    all.forEach(s -> s.setStaged(false));
    all.removeIf(s -> !s.isChanged());
    if (all.isEmpty()) {
      return;
    }
    all.forEach(StoreState::keepViews);
    all.forEach(StoreState::beginWriting);
    try {
      TableWrites.run(instance, all, false); // their rows are committed ones
      for (StoreState s : all) {
        s.written();
        s.sensors().committed();
      }
    } finally {
      all.forEach(StoreState::endWriting);
    }
  }
}
