package io.fovea.catalog;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
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
final class SequenceReads {
  private final Sequences sequences;

  /** What it was told. */
  private final Map<String, @Nullable SequenceCore> seen = new HashMap<>();

  /** What it has made of that. */
  private final Map<String, @Nullable SequenceCore> now = new TreeMap<>();

  private final List<SequenceCore> made = new ArrayList<>();

  /** Those of others that are altered, and what becomes of them. */
  private final Map<SequenceCore, SequenceCore> altered = new IdentityHashMap<>();

  SequenceReads(Sequences sequences) {
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

  /** Gives one that there is another name, which none has. */
  void rename(String from, String to) {
    SequenceCore core = core(from);
    now.put(from, null);
    now.put(to, core);
    if (core != null && made.contains(core)) {
      core.rename(to);
    }
  }

  /** Puts another one in the place of one that there is. */
  SequenceCore alter(SequenceCore core, SequenceCore by) {
    if (made.contains(core)) {
      core.alter(by);
    } else {
      altered.put(core, by);
    }
    return make(by);
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
            byte[] record = made.contains(core) ? core.freeze() : core.named(name);
            change.put(CatalogKey.of(CatalogKey.SEQUENCE, name), record);
          } else if (seen.get(name) != null) {
            change.delete(CatalogKey.of(CatalogKey.SEQUENCE, name));
          }
        });
  }

  /** It has committed. */
  void publish(long lsn) {
    sequences.publish(now, made, altered.keySet(), lsn);
    // When others may use what has become of them: before, it would give values as to its maker.
    altered.forEach(SequenceCore::alter);
  }

  /** It has ended. */
  void ended(boolean committed) {
    for (SequenceCore core : made) {
      if (!committed && now.containsValue(core)) {
        core.markRolledBack();
      }
    }
  }
}
