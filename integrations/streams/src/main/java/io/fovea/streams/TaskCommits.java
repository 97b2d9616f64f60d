package io.fovea.streams;

import java.util.ArrayList;
import java.util.List;

/**
 * Commits the stores of one task in one transaction.
 *
 * <p>Kafka Streams commits the stores of a task one after the other. Each is <i>staged</i>, and the
 * last one commits all: rows, changelog offsets and positions of all stores become durable
 * together. Writing or closing a staged store commits what is staged so far.
 *
 * <p>Threading: guarded by the monitor. Only one thread at a time processes a task, so the monitor
 * is uncontended.
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

  /** Stages a store, to be committed with the others of its task. */
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

  /** Commits the staged stores. */
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
      TableWrites.run(instance, all, false); // their rows are committed, so the offsets may stay
      for (StoreState s : all) {
        s.written();
        s.sensors().committed();
      }
    } finally {
      all.forEach(StoreState::endWriting);
    }
  }
}
