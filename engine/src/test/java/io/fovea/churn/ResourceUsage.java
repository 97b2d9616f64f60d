package io.fovea.churn;

import com.sun.management.HotSpotDiagnosticMXBean;
import io.fovea.Database;
import io.fovea.DatabaseStats;
import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * The resources that an idle process and its database hold: names and numbers; sizes are in KiB.
 */
final class ResourceUsage {
  private static final Path PROC = Path.of("/proc/self");

  /** Two measurements that differ by at most this much show that collection is complete. */
  private static final long SETTLED_KIB = 64;

  private final Map<String, Long> values = new LinkedHashMap<>();
  private final Map<String, Long> classes;

  private ResourceUsage(Map<String, Long> classes) {
    this.classes = classes;
  }

  /** Returns whether the process can be measured: it needs /proc. */
  static boolean available() {
    return Files.isReadable(PROC.resolve("smaps_rollup")) && Files.isDirectory(PROC.resolve("fd"));
  }

  /**
   * Measures everything while nothing else runs.
   *
   * @param db the database that stays open
   * @param dir the directory of all database files
   */
  static ResourceUsage take(Database db, Path dir) throws IOException {
    collect();
    ResourceUsage v = new ResourceUsage(histogram());
    v.put("heap", heap());
    v.put("direct", direct());
    Malloc.trim();
    v.put("malloc", Malloc.bytesInUse() >> 10);
    Map<String, Long> status = table(PROC.resolve("status"));
    v.put("resident", table(PROC.resolve("smaps_rollup")).get("Rss"));
    v.put("pageTables", status.get("VmPTE"));
    v.put("addressSpace", status.get("VmSize"));
    Set<String> open = descriptors().keySet();
    long rings = open.stream().filter(what -> what.startsWith("anon_inode:[io_uring]")).count();
    v.put("rings", rings);
    v.put("descriptors", open.size() - rings);
    try (Stream<String> lines = Files.lines(PROC.resolve("maps"))) {
      v.put("mappings", lines.filter(line -> !line.endsWith("[io_uring]")).count());
    }
    v.put("threads", (long) ManagementFactory.getThreadMXBean().getThreadCount());
    DatabaseStats s = db.stats();
    DatabaseStats.Memory m = s.memory();
    v.put("statsBuffer", m.bufferBytes() >> 10);
    v.put("statsTimestamps", m.timestampBytes() >> 10);
    v.put("statsLog", m.logBytes() >> 10);
    v.put("statsTransactions", m.transactionBytes() >> 10);
    v.put("statsTrees", m.treeBytes() >> 10);
    v.put("activeTransactions", s.activeTransactions());
    v.put("timestampsLive", s.timestamps().live());
    v.put("pagesInUse", (s.storage().bytes() - s.storage().freeBytes()) / s.buffer().pageSize());
    v.put("dataFile", s.storage().bytes() >> 10);
    v.put("logFile", s.storage().logBytes() >> 10);
    long files = 0;
    long bytes = 0;
    try (Stream<Path> all = Files.walk(dir)) {
      for (Path p : all.filter(Files::isRegularFile).toList()) {
        files++;
        bytes += Files.size(p);
      }
    }
    v.put("files", files);

    v.put("fileBytes", bytes >> 10);
    return v;
  }

  private void put(String name, long value) {
    values.put(name, value);
  }

  /** Formats the values as {@code name=value name=value ...}. */
  String line() {
    StringBuilder all = new StringBuilder();
    values.forEach((k, v) -> all.append(k).append('=').append(v).append(' '));
    return all.toString().trim();
  }

  /** Parses the result of {@link #line}. */
  static Map<String, Long> parse(String line) {
    Map<String, Long> all = new LinkedHashMap<>();
    for (String pair : line.split(" ", -1)) {
      int at = pair.indexOf('=');
      all.put(pair.substring(0, at), Long.parseLong(pair.substring(at + 1)));
    }
    return all;
  }

  /** Returns the classes that have grown most since {@code then}, by bytes. */
  List<String> grownSince(ResourceUsage then) {
    record Grown(String name, long bytes) {}
    List<Grown> all = new ArrayList<>();
    classes.forEach(
        (name, bytes) -> all.add(new Grown(name, bytes - then.classes.getOrDefault(name, 0L))));
    all.sort((a, b) -> Long.compare(b.bytes, a.bytes));
    return all.stream().limit(12).map(g -> g.name + " " + g.bytes).toList();
  }

  /** Counts the open descriptors by target. */
  static Map<String, Integer> descriptors() throws IOException {
    Map<String, Integer> all = new TreeMap<>();
    int n = 0;
    try (Stream<Path> files = Files.list(PROC.resolve("fd"))) {
      for (Path p : files.toList()) {
        String what;
        try {
          what = Files.readSymbolicLink(p).toString();
        } catch (IOException e) {
          continue; // the listing's own descriptor
        }
        all.put(what + " #" + n++, 1);
      }
    }
    return all;
  }

  // -------------------------------------------------------------------------------------- memory

  /** Collects garbage until neither the collector nor cleaners free anything more. */
  private static void collect() {
    long before = Long.MAX_VALUE;
    for (int i = 0; i < 20; i++) {
      System.gc();
      // Cleaners run in their own thread, and only a later collection frees what they release.
      java.util.concurrent.locks.LockSupport.parkNanos(100_000_000);
      long now = heap() + direct() + (Malloc.bytesInUse() >> 10);
      if (i >= 3 && Math.abs(before - now) <= SETTLED_KIB) {
        return;
      }
      before = now;
    }
  }

  private static long heap() {
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() >> 10;
  }

  private static long direct() {
    for (BufferPoolMXBean b : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
      if (b.getName().equals("direct")) {
        return b.getMemoryUsed() >> 10;
      }
    }
    return 0;
  }

  /** Reads lines of {@code name: number unit}, and skips others. */
  private static Map<String, Long> table(Path file) throws IOException {
    Map<String, Long> all = new HashMap<>();
    for (String line : Files.readAllLines(file)) {
      String[] parts = line.split("\\s+", -1);
      if (parts.length >= 2 && parts[0].endsWith(":") && parts[1].matches("\\d+")) {
        all.put(parts[0].substring(0, parts[0].length() - 1), Long.parseLong(parts[1]));
      }
    }
    return all;
  }

  /** Returns the reachable bytes by class. */
  private static Map<String, Long> histogram() {
    Map<String, Long> all = new HashMap<>();
    try {
      Object text =
          ManagementFactory.getPlatformMBeanServer()
              .invoke(
                  new ObjectName("com.sun.management:type=DiagnosticCommand"),
                  "gcClassHistogram",
                  new Object[] {new String[0]},
                  new String[] {String[].class.getName()});
      for (String line : text.toString().split("\n", -1)) {
        String[] parts = line.trim().split("\\s+", -1);
        if (parts.length >= 4 && parts[0].endsWith(":") && parts[2].matches("\\d+")) {
          all.merge(parts[3], Long.parseLong(parts[2]), Long::sum);
        }
      }
    } catch (JMException e) {
      all.put("no histogram: " + e.getClass().getName(), 0L);
    }
    return all;
  }

  /** Writes a heap dump for diagnosis ({@code -Dchurn.dump=FILE}). */
  static void dump(String file) throws IOException {
    ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(file, true);
  }

  @Override
  public String toString() {
    return String.format(Locale.ROOT, "ResourceUsage[%s]", line());
  }
}
