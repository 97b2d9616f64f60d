package io.fovea.translations;

import io.fovea.config.Translation;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Compares translations by where lookups begin. The variants of one kind are open at once, and
 * vmcache with the first kind. The first kind has ten million records, to compare with published
 * figures; the others have four.
 */
final class KeyLocationLookups {
  /** Average visits per record beforehand, so that 95 % were visited. */
  private static final double VISITS = 3;

  /** The most records of the kinds after the first. */
  private static final long FEWER = 4_000_000;

  private static final List<Translation> KINDS =
      List.of(
          Translation.PREDICTIVE, Translation.OPTIMISTIC, Translation.VIRTUAL, Translation.DIRECT);
  private static final List<Begin> BEGINS = List.of(Begin.ROOT, Begin.FLAT, Begin.SHORTCUT);

  private final Translations figures;
  private final long records;
  private final @Nullable Path vmcache;

  KeyLocationLookups(Translations figures, long records, @Nullable Path vmcache) {
    this.figures = figures;
    this.records = records;
    this.vmcache = vmcache;
  }

  void run() {
    for (Translation kind : KINDS) {
      boolean first = kind == KINDS.getFirst();
      // Visiting all records takes long.
      long n = first ? records : Math.min(records, FEWER);
      tree(kind, first, n);
      api(kind, first, n);
    }
  }

  private void tree(Translation kind, boolean first, long n) {
    Map<String, List<String>> trees = new LinkedHashMap<>();
    for (Begin begin : BEGINS) {
      trees.put(begin.title, List.of("tree", kind.name(), String.valueOf(n), begin.name()));
    }
    List<Engine> engines = Engine.start(PoolEngine.class, trees);
    visitAll(engines, "run 2", n);
    treeLookups(kind, engines, n, 1, first);
    if (first) {
      treeLookups(kind, engines, n, 2, true);
    }
    Engine.close(engines);
  }

  private void treeLookups(
      Translation kind, List<Engine> trees, long n, int threads, boolean besideVmcache) {
    List<Engine> others = List.of();
    if (besideVmcache && vmcache != null) {
      List<String> words = List.of(vmcache.toString(), String.valueOf(n), String.valueOf(threads));
      others = Engine.start(VmcacheEngine.class, Map.of("vmcache", words));
    }
    System.out.printf(
        "%n%s: the tree alone (search, copy, validation), %,d records of 8 + 120 bytes, threads: %d%n%n",
        Translations.name(kind), n, threads);
    List<Engine> all = new ArrayList<>(trees);
    all.addAll(others);
    figures.print(all, "run " + threads, 0, true);
    Engine.close(others);
  }

  private void api(Translation kind, boolean first, long n) {
    Map<String, List<String>> databases = new LinkedHashMap<>();
    for (Begin begin : first ? List.of(Begin.values()) : BEGINS) {
      databases.put(begin.title, Translations.spec(kind, n).with(true, true, begin).words());
    }
    List<Engine> engines = Engine.start(RecordsEngine.class, databases);
    visitAll(engines, Translations.get(2, 0, n, Translations.GROUP), n);
    if (first) {
      lookups(kind, engines, n, 1, 1);
      lookups(kind, engines, n, 2, Translations.GROUP);
    }
    lookups(kind, engines, n, 1, Translations.GROUP);
    Engine.close(engines);
  }

  private void lookups(Translation kind, List<Engine> engines, long n, int threads, int each) {
    System.out.printf(
        "%n%s: the API, lookups of a read-only transaction: %d, threads: %d%n%n",
        Translations.name(kind), each, threads);
    figures.print(engines, Translations.get(threads, 0, n, each), 0, true);
  }

  /** Looks up most records at random, so that their locations are cached. */
  private void visitAll(List<Engine> engines, String command, long n) {
    long nanos = (figures.quick() ? 50 : 1000) * 1_000_000L;
    for (Engine e : engines) {
      for (double done = 0; done < VISITS * n; ) {
        done += e.ask(command + " " + nanos)[0];
      }
    }
  }
}
