package io.fovea;

import io.fovea.btree.TreeVerifier;
import io.fovea.config.Translation;
import io.fovea.faults.FaultAgent;
import io.fovea.index.HintPoison;
import io.fovea.schema.EntryHints;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The benefit of hints in the entries of secondary indexes, the cost of wrong hints, and how long
 * hints stay correct: figures 4 to 6 and table 1 of Otaki et al., Enhancing Transaction Processing
 * through Indirection Skipping, PVLDB 18 (11), 2025.
 *
 * <pre>
 *   java -cp jmh/target/benchmarks.jar io.fovea.SecondaryLookups FIGURE [RECORDS [ROUNDS]]
 *
 *   sizes    4a: ns per lookup by type of hint, over records of 10 to 1000 bytes
 *   stale    4b: ns per lookup over shares of wrong hints, by part of the hint; no repair
 *   robust   5: share of correct hints after inserts, deletes, updates; -Dbeyond=true: the pool holds
 *            only the data before them
 *   repair   6: ns per lookup during changes of hints: with repair, without, without hints;
 *            -Dmix=50/10/40 for page/frame/slot of the changes (10/10/80), -Dthreads=10 (1);
 *            -Dlookups=10000000 (the paper's) of each index instead of rounds: the share correct at the
 *            end depends on how many changes there were
 *   table    table 1: pages and MiB of the index by type of hint
 *   engines  latched table and predictive translation, each without hints and with all; also with
 *           cached key locations, which are not in the paper; one lookup and {@value #GROUP} per
 *           transaction. Each in a separate JVM; -Dsets=5 repeats with new JVMs, and prints medians
 *           with ranges
 *   poison   full hints, none, and random hints that are all wrong; one lookup and {@value #GROUP} per
 *           transaction
 *
 *   stale and poison: with -Djdk.attach.allowAttachSelf=true -XX:+EnableDynamicAgentLoading
 *
 *   -DpageSize=16384 (the paper's; 4096)   -Dsize=100 bytes per record, except for sizes
 *   -Dgroup=64 lookups per transaction, except for engines and poison
 * </pre>
 *
 * <p>One million records with one entry each, in memory unless stated otherwise; keys of 8 bytes,
 * unique indexes. All candidates are open at the same time: indexes of one table, or engines
 * ({@link SecondaryEngine}). A round is a piece of {@value InTurn#PIECE_MILLIS} ms of each in turn,
 * so that changes in the speed of the machine affect all of them. The first quarter of the ROUNDS
 * is warm-up. Prints Markdown: the median of nanoseconds per lookup and, in brackets, the median
 * and quartiles of the ratio to the first column or line in the same round. A lookup is {@link
 * RowIndex#get}, over all entries in random order.
 */
public final class SecondaryLookups {
  private static final int GROUP = 64;
  private static final int ROUNDS = 100;
  private static final int SETS = 5;

  private final int pageSize = Integer.getInteger("pageSize", 4096);
  final int size = Integer.getInteger("size", 100);
  final int group = Integer.getInteger("group", GROUP);
  final int records;
  final int rounds;

  private SecondaryLookups(int records, int rounds) {
    this.records = records;
    this.rounds = rounds;
  }

  /** Runs the benchmark. */
  public static void main(String[] args) throws Exception {
    String figure = args.length > 0 ? args[0] : "";
    SecondaryLookups b =
        new SecondaryLookups(
            args.length > 1 ? Integer.parseInt(args[1]) : 1_000_000,
            args.length > 2 ? Integer.parseInt(args[2]) : ROUNDS);
    switch (figure) {
      case "sizes" -> b.sizes();
      case "stale" -> b.stale();
      case "robust" -> new HintRobustness(b).run();
      case "repair" -> new HintRepair(b).run();
      case "table" -> b.table();
      case "engines" -> b.engines();
      case "poison" -> b.poison();
      default -> {
        System.err.println(
            "SecondaryLookups sizes|stale|robust|repair|table|engines|poison [RECORDS [ROUNDS]]");
        System.exit(1);
      }
    }
  }

  /** Opens a store in memory, with space for an additional share of records. */
  SecondaryStore store(int bytes, int spread, double share, EntryHints... kinds) {
    return new SecondaryStore(
        records, pageSize, bytes, spread, share, Translation.PREDICTIVE, Hints.ALL, false, kinds);
  }

  // ---------------------------------------------------------------------------------- the figures

  private void sizes() {
    Markdown.head("bytes of a record", (Object[]) EntryHints.values());
    for (int bytes : new int[] {10, 50, 100, 200, 500, 1000}) {
      try (SecondaryStore s = store(bytes, 1, 1, EntryHints.values())) {
        List<InTurn.Piece> pieces = new ArrayList<>();
        s.indexes.forEach(i -> pieces.add(s.walk(i, group)::run));
        Markdown.line(bytes + " (" + s.bytes + ")", (Object[]) InTurn.run(rounds, pieces).cells());
      }
    }
  }

  private void stale() {
    FaultAgent.loadHints();
    Markdown.head("% wrong", "page", "frame", "slot", "all");
    try (SecondaryStore s = store(size, 1, 1, EntryHints.NONE, EntryHints.PAGE_FRAME_SLOT)) {
      s.db.schema().hintUse().repairs = false;
      List<InTurn.Piece> pieces = new ArrayList<>();
      pieces.add(s.walk(s.indexes.get(0), group)::run);
      for (int p = 0; p <= 100; p += 20) {
        pieces.add(poisoned(s, 1, new HintPoison(p, 0, 0, false), group));
        pieces.add(poisoned(s, 1, new HintPoison(0, p, 0, false), group));
        pieces.add(poisoned(s, 1, new HintPoison(0, 0, p, false), group));
        pieces.add(poisoned(s, 1, new HintPoison(p, p, p, false), group));
      }
      InTurn.Medians m = InTurn.run(rounds, pieces);
      Markdown.line("none", m.cell(0), m.cell(0), m.cell(0), m.cell(0));
      for (int p = 0, i = 1; p <= 100; p += 20, i += 4) {
        Markdown.line(p + " %", m.cell(i), m.cell(i + 1), m.cell(i + 2), m.cell(i + 3));
      }
    }
  }

  /** Lookups by an index whose hints are being invalidated. */
  private static InTurn.Piece poisoned(SecondaryStore s, int index, HintPoison poison, int group) {
    SecondaryStore.Walk walk = s.walk(s.indexes.get(index), group);
    return nanos -> {
      poison.in(s.db.schema().hintUse());
      try {
        return walk.run(nanos);
      } finally {
        HintPoison.NONE.in(s.db.schema().hintUse());
      }
    };
  }

  private void engines() {
    int sets = Integer.getInteger("sets", SETS);
    List<SecondaryEngine.Kind> kinds = List.of(SecondaryEngine.Kind.values());
    // By set: one lookup per transaction, then a group.
    List<InTurn.Medians> one = new ArrayList<>();
    List<InTurn.Medians> many = new ArrayList<>();
    Markdown.head("engine", "ns, 1 lookup a transaction", "ns, " + GROUP + " lookups");
    for (int set = 0; set < sets; set++) {
      List<SecondaryEngine> engines = new ArrayList<>();
      try {
        kinds.forEach(k -> engines.add(new SecondaryEngine(k, records, pageSize, size)));
        engines.forEach(SecondaryEngine::await);
        one.add(
            InTurn.run(
                rounds,
                engines.stream().<InTurn.Piece>map(e -> nanos -> e.run(1, nanos)).toList()));
        many.add(
            InTurn.run(
                rounds,
                engines.stream().<InTurn.Piece>map(e -> nanos -> e.run(GROUP, nanos)).toList()));
      } finally {
        engines.forEach(SecondaryEngine::close);
      }
      for (SecondaryEngine.Kind k : kinds) {
        int i = k.ordinal();
        Markdown.line((set + 1) + ": " + k.title, one.get(set).cell(i), many.get(set).cell(i));
      }
    }
    InTurn.Medians middleOne = InTurn.Medians.of(one);
    InTurn.Medians middleMany = InTurn.Medians.of(many);
    for (SecondaryEngine.Kind k : kinds) {
      Markdown.line(
          "medians: " + k.title, middleOne.cell(k.ordinal()), middleMany.cell(k.ordinal()));
    }
  }

  private void poison() {
    FaultAgent.loadHints();
    Markdown.head("hints", "ns, 1 lookup a transaction", "ns, " + GROUP + " lookups");
    EntryHints full = EntryHints.PAGE_FRAME_SLOT;
    // The poison stores its hints in a separate index.
    try (SecondaryStore s = store(size, 1, 1, EntryHints.NONE, full, full)) {
      HintPoison wild = new HintPoison(100, 100, 100, true);
      List<InTurn.Medians> all = new ArrayList<>();
      for (int lookups : new int[] {1, GROUP}) {
        all.add(
            InTurn.run(
                rounds,
                List.of(
                    s.walk(s.indexes.get(0), lookups)::run,
                    s.walk(s.indexes.get(1), lookups)::run,
                    poisoned(s, 2, wild, lookups))));
      }
      String[] names = {"none", "full, right", "full, all wrong at random"};
      for (int i = 0; i < names.length; i++) {
        Markdown.line(names[i], all.get(0).cell(i), all.get(1).cell(i));
      }
    }
  }

  private void table() {
    Markdown.head("hints", "levels", "inner", "leaves", "all pages", "MiB");
    try (SecondaryStore s = store(size, 1, 1, EntryHints.values())) {
      for (RowIndex i : s.indexes) {
        TreeVerifier.Report r = TreeVerifier.verify(i.core().tree);
        double mib = r.pages() * (double) pageSize / (1 << 20);
        System.out.printf(
            Locale.ROOT,
            "| %s | %d | %d | %d | %d | %.2f |%n",
            i.hints(),
            r.height(),
            r.innerPages(),
            r.leafPages(),
            r.pages(),
            mib);
      }
    }
  }
}
