package io.fovea.catalog;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The sequences that a transaction has looked for, and what it makes of them: as {@link
 * CatalogTransaction} does it with tables. Giving values is no part of a transaction, so nobody
 * asks who uses a sequence that is dropped.
 *
 * <p>As its transaction.
 */
final class SequenceLooks {
  private final Sequences sequences;

  /** What it was told. */
  private final Map<String, @Nullable SequenceCore> seen = new HashMap<>();

  /** What it has made of that. */
  private final Map<String, @Nullable SequenceCore> now = new TreeMap<>();

  private final List<SequenceCore> made = new ArrayList<>();

  SequenceLooks(Sequences sequences) {
    this.sequences = sequences;
  }

  boolean knows(String name) {
    return now.containsKey(name) || seen.containsKey(name);
  }

  void see(String name) {
    seen.put(name, sequences.core(name));
  }

  @Nullable SequenceCore core(String name) {
    return now.containsKey(name) ? now.get(name) : seen.get(name);
  }

  SequenceCore make(SequenceCore core) {
    made.add(core);
    now.put(core.spec().name(), core);
    return core;
  }

  void drop(String name) {
    SequenceCore core = core(name);
    if (core != null && made.contains(core)) {
      core.drop();
    }
    now.put(name, null);
  }

  boolean changes() {
    return !now.isEmpty();
  }

  boolean areAsSeen() {
    for (Map.Entry<String, @Nullable SequenceCore> e : seen.entrySet()) {
      if (sequences.core(e.getKey()) != e.getValue()) {
        return false;
      }
    }
    return true;
  }

  /** What the catalog gets. */
  void into(CatalogChange change) {
    now.forEach(
        (name, core) -> {
          if (core != null) {
            change.put(SequenceRecord.key(core.spec()), core.freeze());
          } else if (seen.get(name) != null) {
            change.delete(CatalogKey.of(CatalogKey.SEQUENCE, name));
          }
        });
  }

  /** It has committed. */
  void publish(long lsn) {
    sequences.publish(now, lsn);
  }

  /** It has ended. */
  void ended(boolean committed) {
    for (SequenceCore core : made) {
      if (!committed && now.containsValue(core)) {
        core.never();
      }
    }
  }
}
