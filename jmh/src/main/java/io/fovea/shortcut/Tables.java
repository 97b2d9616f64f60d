package io.fovea.shortcut;

import io.fovea.memory.Granules.RefusedException;
import io.fovea.memory.KernelFacts;
import io.fovea.memory.MappingBudget;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The tables compared in figures 7 and 8, and their keys. Each table is measured in a separate JVM.
 */
enum Tables {
  HT("HT"),
  HTI("HTI"),
  CH("CH"),
  EH("EH"),
  SHORTCUT_EH("Shortcut-EH");

  /** A larger directory exceeds any memory. */
  private static final int DEPTH_MAX = 24;

  /** The limit if there are few mappings: with more entries, the directory gets 2^16 slots. */
  private static final long ENTRIES_FEW = 1_500_000;

  /** For the largest directory of {@link #ENTRIES_MANY}, in which each slot may be a mapping. */
  private static final int MAPPINGS_FOR_MANY = 1 << 18;

  private static final long ENTRIES_MANY = 10_000_000;

  /** Entries of the old table that HTI moves per access. */
  private static final int BATCH = 16;

  final String title;

  Tables(String title) {
    this.title = title;
  }

  /**
   * Returns the number of entries that a shortcut can have under the kernel's limit of mappings.
   */
  static long entries() {
    return KernelFacts.mappingsToSpare() >= MAPPINGS_FOR_MANY ? ENTRIES_MANY : ENTRIES_FEW;
  }

  /**
   * Creates an empty table.
   *
   * @param entries the final number of entries; CH gets a table in the paper's proportion of 1 GiB
   *     for 100 million
   */
  LongTable make(long entries, boolean hugePages) throws RefusedException {
    return switch (this) {
      case HT -> new HashTable(hugePages);
      case HTI -> new IncrementalTable(hugePages, BATCH);
      case CH -> new ChainedTable(hugePages, (entries << 30) / 100_000_000, entries);
      case EH -> new ExtendibleHashing(DEPTH_MAX);
      case SHORTCUT_EH ->
          new ShortcutHashing(
              DEPTH_MAX,
              new MappingBudget(KernelFacts.mappingsToSpare()),
              ShortcutHashing.TICK_NANOS);
    };
  }

  /** Returns the i-th key: distinct numbers in scattered order. */
  static long key(long i) {
    long x = i + 1;
    x = (x ^ x >>> 30) * 0xBF58_476D_1CE4_E5B9L;
    x = (x ^ x >>> 27) * 0x94D0_49BB_1331_11EBL;
    return x ^ x >>> 31;
  }

  static void lookUp(LongTable table, long keys, long lookups, long seed) {
    long x = seed;
    long wrong = 0;
    for (long i = 0; i < lookups; i++) {
      x ^= x << 13;
      x ^= x >>> 7;
      x ^= x << 17;
      long number = Math.multiplyHigh(x >>> 1, keys << 1);
      wrong |= table.get(key(number), -1) ^ number;
    }
    if (wrong != 0) {
      throw new IllegalStateException("A lookup returned a wrong value.");
    }
  }

  static void insert(LongTable table, long from, long to) {
    for (long i = from; i < to; i++) {
      table.put(key(i), i);
    }
  }

  /** Runs a main class in a separate JVM, and returns its output lines. */
  static List<String> inOwnJvm(Class<?> main, List<String> arguments)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xms512m");
    command.add("-Xmx512m");
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(main.getName());
    command.addAll(arguments);
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IOException("This failed: " + String.join(" ", command) + ".");
    }
    return printed.lines().toList();
  }

  static Tables of(String name) {
    return valueOf(name.toUpperCase(Locale.ROOT).replace('-', '_'));
  }
}
