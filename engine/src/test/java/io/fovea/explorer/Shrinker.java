package io.fovea.explorer;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Searches for the fewest features that still fail: leaves out halves, quarters and single
 * features, and keeps a set that fails in one of a few attempts, until its time is up. Each attempt
 * is a separate process.
 */
final class Shrinker {
  private static final int TRIES = 3;

  private Shrinker() {}

  static Set<Feature> shrink(long seed, Set<Feature> failing, Map<String, String> args)
      throws IOException, InterruptedException {
    Set<Feature> now = EnumSet.copyOf(failing);
    String seconds = args.getOrDefault("--shrinkseconds", "20");
    long minutes = Long.parseLong(args.getOrDefault("--shrinkminutes", "5"));
    long deadline = System.nanoTime() + minutes * 60_000_000_000L;
    int parts = 2;
    while (now.size() > 1 && System.nanoTime() < deadline) {
      List<Feature> all = new ArrayList<>(now);
      int size = Math.max(1, (all.size() + parts - 1) / parts);
      boolean smaller = false;
      for (int from = 0;
          from < all.size() && !smaller && System.nanoTime() < deadline;
          from += size) {
        Set<Feature> without = EnumSet.copyOf(now);
        without.removeAll(all.subList(from, Math.min(all.size(), from + size)));
        if (!without.isEmpty() && fails(seed, without, args, seconds)) {
          now = without;
          smaller = true;
          parts = Math.max(2, parts - 1);
          System.out.println("still fails: " + now);
        }
      }
      if (!smaller) {
        if (size == 1) {
          break;
        }
        parts = Math.min(all.size(), parts * 2);
      }
    }
    System.out.println(
        "shrunk to "
            + now
            + "\nreplay: Explorer --seed="
            + seed
            + " --same --features="
            + text(now));
    return now;
  }

  private static String text(Set<Feature> features) {
    return features.stream().map(Feature::name).collect(Collectors.joining(","));
  }

  private static boolean fails(
      long seed, Set<Feature> features, Map<String, String> args, String seconds)
      throws IOException, InterruptedException {
    for (int i = 0; i < TRIES; i++) {
      List<String> command = command();
      command.add("--seed=" + seed);
      command.add("--same");
      command.add("--seconds=" + seconds);
      command.add("--features=" + text(features));
      for (String kept : List.of("--protocol", "--place", "--durability", "--hang")) {
        if (args.containsKey(kept)) {
          command.add(kept + "=" + args.get(kept));
        }
      }
      if (args.containsKey("--delays")) {
        command.add("--delays");
      }
      Process p =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      if (p.waitFor() != 0) {
        return true;
      }
    }
    return false;
  }

  /** Returns the command that starts this program again. */
  static List<String> command() {
    List<String> all = new ArrayList<>();
    all.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    all.add("-ea");
    all.add("--enable-native-access=ALL-UNNAMED");
    all.add("-Xmx512m");
    all.add("-XX:MaxDirectMemorySize=128m"); // for MemoryExhauster
    all.add("-cp");
    all.add(System.getProperty("java.class.path"));
    all.add(Explorer.class.getName());
    return all;
  }
}
