package io.fovea.catalog;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A transaction's lookups and changes of sequences, like those of tables in {@link
 * CatalogTransaction}. Values are not transactional, so uses of a dropped sequence are not checked.
 * Confined to the transaction's thread.
 */
final class SequenceReads {
  private final Sequences sequences;

  /** Results of lookups. */
  private final Map<String, @Nullable SequenceCore> seen = new HashMap<>();

  /** Changes relative to {@link #seen}. */
  private final Map<String, @Nullable SequenceCore> now = new TreeMap<>();

  private final List<SequenceCore> made = new ArrayList<>();

  /** Altered sequences that other transactions created, and their successors. */
  private final Map<SequenceCore, SequenceCore> altered = new IdentityHashMap<>();

  SequenceReads(Sequences sequences) {
    this.sequences = sequences;
  }

  boolean knows(String name) {
    return now.containsKey(name) || seen.containsKey(name);
  }

  void addLookup(String name) {
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

  /** Renames a sequence to an unused name. */
  void rename(String from, String to) {
    SequenceCore core = core(from);
    now.put(from, null);
    now.put(to, core);
    if (core != null && made.contains(core)) {
      core.rename(to);
    }
  }

  /** Replaces a sequence. */
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

  boolean lookupsUnchanged() {
    for (Map.Entry<String, @Nullable SequenceCore> e : seen.entrySet()) {
      if (sequences.core(e.getKey()) != e.getValue()) {
        return false;
      }
    }
    return true;
  }

  /** Adds the changes to the catalog change. */
  void addTo(CatalogChange change) {
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

  void publish(long lsn) {
    sequences.publish(now, made, altered.keySet(), lsn);
    // After publication: until then the successor serves only the transaction that created it.
    altered.forEach(SequenceCore::alter);
  }

  void ended(boolean committed) {
    for (SequenceCore core : made) {
      if (!committed && now.containsValue(core)) {
        core.markRolledBack();
      }
    }
  }
}
