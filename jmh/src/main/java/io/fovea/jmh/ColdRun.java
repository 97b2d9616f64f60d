package io.fovea.jmh;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.config.Durability;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What a process of {@link ColdStart} does: opens a new store, adds records, closes it, and opens
 * it once more. It loads no class that an application would not load.
 *
 * <p>Prints seconds of processor time of the process up to the first close; seconds of the first
 * opening, of the load, of the whole until the close, and of the second opening.
 */
final class ColdRun {
  /** The beginning of the printed line. */
  static final String FIGURES = "figures: ";

  /** Ticks per second of the times in /proc. */
  private static final double TICKS = 100;

  /** The fields of /proc/self/stat after the name of the command that precede the times. */
  private static final int FIELDS_BEFORE_TIMES = 11;

  private static final int BATCH = 1000;

  private ColdRun() {}

  /** Runs {@code ENGINE RECORDS FOLDER}; without records, one transaction adds one record. */
  public static void main(String[] args) throws Exception {
    String engine = args[0];
    int records = Integer.parseInt(args[1]);
    Path folder = Path.of(args[2]);
    long began = System.nanoTime();
    long opened = began;
    long loaded = began;
    if (!engine.equals("none")) {
      try (LoadStore store = open(engine, records, folder)) {
        opened = System.nanoTime();
        load(store, engine, Math.max(1, records));
        loaded = System.nanoTime();
      }
    }
    long closed = System.nanoTime();
    double processor = processorSeconds();
    long again = 0;
    if (records == 0 && !engine.equals("none")) {
      long second = System.nanoTime();
      LoadStore reopened = open(engine, records, folder);
      again = System.nanoTime() - second;
      reopened.close();
    }
    System.out.printf(
        Locale.ROOT,
        FIGURES + "%.2f %.6f %.6f %.6f %.6f%n",
        processor,
        (opened - began) / 1e9,
        (loaded - opened) / 1e9,
        (closed - began) / 1e9,
        again / 1e9);
  }

  private static void load(LoadStore store, String engine, int records) throws Exception {
    Loads.Records of = new Loads.Records();
    int each = engine.equals("fovea-bulk") ? records : BATCH;
    for (int n = 0; n < records; n += each) {
      store.add(of, n, Math.min(each, records - n));
    }
  }

  private static LoadStore open(String engine, int records, Path folder) throws Exception {
    return switch (engine) {
      case "fovea" -> fovea(folder, records, LoadStore.Fovea.How.PUT);
      case "fovea-bulk" -> fovea(folder, records, LoadStore.Fovea.How.LOAD);
      case "fovea-memory" -> fovea(null, records, LoadStore.Fovea.How.PUT);
      case "mvstore" -> new LoadStore.Mv(folder);
      case "mvstore-memory" -> new LoadStore.Mv(null);
      case "lmdb" -> new LoadStore.Lmdb(folder, records);
      case "rocksdb" -> new LoadStore.Rocks(folder, true);
      default -> throw new IllegalArgumentException(engine);
    };
  }

  /** Opens with the defaults; for a load, like the others, without a sync for each commit. */
  private static LoadStore fovea(@Nullable Path folder, int records, LoadStore.Fovea.How how) {
    if (folder == null) {
      return new LoadStore.Fovea(Database.inMemory(), how);
    }
    Path file = folder.resolve("loads.fovea");
    return new LoadStore.Fovea(
        records == 0
            ? Database.open(file)
            : Database.open(file, Options.defaults().durability(Durability.ASYNC)),
        how);
  }

  private static double processorSeconds() throws IOException {
    String stat = Files.readString(Path.of("/proc/self/stat"));
    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    long user = Long.parseLong(fields[FIELDS_BEFORE_TIMES]);
    long system = Long.parseLong(fields[FIELDS_BEFORE_TIMES + 1]);
    return (user + system) / TICKS;
  }
}
