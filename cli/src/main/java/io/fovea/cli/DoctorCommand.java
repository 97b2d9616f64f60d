package io.fovea.cli;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.config.Durability;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "doctor",
    header = "Checks this machine for use with a database.",
    description = {
      "Shows what a database would find in a directory of this machine: the JDK, native access,"
          + " the device (io_uring, direct I/O) and the time of a sync, the file system, memory"
          + " and limits. It creates a small database there, and removes it.",
      "The exit code is 1 if something should be changed; a database works nevertheless."
    })
final class DoctorCommand extends JsonCommand {
  private static final int SYNCS = 31;
  private static final long FILES_WANTED = 1024;
  private static final long BYTES_WANTED = 1L << 30;

  /** File systems that are volatile, or whose locks and syncs are not reliable. */
  private static final Map<String, String> FILE_SYSTEMS =
      Map.of(
          "tmpfs", "it is in memory: its contents are lost when the machine restarts",
          "ramfs", "it is in memory: its contents are lost when the machine restarts",
          "nfs", "locks and syncs are the server's: keep databases on a local disk",
          "nfs4", "locks and syncs are the server's: keep databases on a local disk",
          "cifs", "locks and syncs are the server's: keep databases on a local disk",
          "overlay", "it is a container layer, and is lost with the container: mount a volume");

  /**
   * A result.
   *
   * @param what the aspect that was checked
   * @param found its state
   * @param advice what to change; null if nothing
   */
  private record Finding(String what, String found, @Nullable String advice) {}

  @Parameters(
      index = "0",
      arity = "0..1",
      paramLabel = "DIRECTORY",
      defaultValue = ".",
      description = "The directory for a database. The default is the current directory.")
  Path directory = Path.of(".");

  private final List<Finding> findings = new ArrayList<>();

  @Override
  public Integer call() throws IOException {
    if (!Files.isDirectory(directory)) {
      throw mistake("there is no directory " + directory);
    }
    java();
    memory();
    limits();
    fileSystem();
    scratch();
    boolean well = findings.stream().allMatch(f -> f.advice == null);
    if (json) {
      Map<String, Object> all = new LinkedHashMap<>();
      all.put("ok", well);
      all.put("findings", findings);
      out().println(Json.of(all));
    } else {
      int width = findings.stream().mapToInt(f -> f.what.length()).max().orElse(0);
      for (Finding f : findings) {
        out().println(f.what + " ".repeat(width - f.what.length() + 2) + f.found);
        if (f.advice != null) {
          out().println(" ".repeat(width + 2) + "-> " + f.advice);
        }
      }
    }
    return well ? Main.OK : Main.PROBLEMS;
  }

  private void found(String what, String found, @Nullable String advice) {
    findings.add(new Finding(what, found, advice));
  }

  private void java() {
    found("java", Runtime.version() + ", " + System.getProperty("java.vendor"), null);
    found("system", System.getProperty("os.name") + " " + System.getProperty("os.arch"), null);
    boolean allowed = Database.class.getModule().isNativeAccessEnabled();
    found(
        "native access",
        allowed ? "allowed" : "not allowed",
        allowed ? null : "start the JVM with --enable-native-access=ALL-UNNAMED");
  }

  private void memory() {
    long machine =
        ManagementFactory.getOperatingSystemMXBean()
                instanceof com.sun.management.OperatingSystemMXBean os
            ? os.getTotalMemorySize()
            : -1;
    if (machine > 0) {
      found("memory", mib(machine) + ", of the machine or the container", null);
    }
    found("heap", mib(Runtime.getRuntime().maxMemory()) + " at most, without the buffer", null);
  }

  private static String mib(long bytes) {
    return String.format(Locale.ROOT, "%,d MiB", bytes >> 20);
  }

  private void limits() {
    for (String line : lines(Path.of("/proc/self/limits"))) {
      if (line.startsWith("Max open files")) {
        String limit = line.substring("Max open files".length()).strip().split("\\s+")[0];
        boolean few = limit.matches("\\d+") && Long.parseLong(limit) < FILES_WANTED;
        found("open files", limit, few ? "raise it: ulimit -n " + FILES_WANTED : null);
      }
    }
    for (String line : lines(Path.of("/sys/kernel/mm/transparent_hugepage/enabled"))) {
      boolean never = line.contains("[never]");
      found(
          "huge pages",
          line.replaceAll(".*\\[(\\w+)\\].*", "$1"),
          never ? "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled" : null);
    }
    for (String line : lines(Path.of("/proc/sys/kernel/io_uring_disabled"))) {
      found(
          "io_uring_disabled",
          line,
          line.equals("0") ? null : "sysctl -w kernel.io_uring_disabled=0");
    }
  }

  /** Returns no lines if the system has no such file. */
  private static List<String> lines(Path file) {
    try {
      return Files.readAllLines(file);
    } catch (IOException e) {
      return List.of();
    }
  }

  private void fileSystem() throws IOException {
    FileStore store = Files.getFileStore(directory);
    found("file system", store.type() + " at " + store, FILE_SYSTEMS.get(store.type()));
    long free = store.getUsableSpace();
    found(
        "free space",
        mib(free),
        free < BYTES_WANTED ? "there is little: the log alone may take 512 MiB" : null);
  }

  /** Checks with a small database. */
  private void scratch() throws IOException {
    try (UntilExit exit = new UntilExit()) {
      Path folder = Files.createTempDirectory(directory, "fovea-doctor");
      Throwable cause = null;
      try {
        scratch(folder);
      } catch (Throwable e) {
        cause = e;
        throw e;
      } finally {
        exit.cleanUp();
        Folders.deleteAfter(folder, cause);
      }
    }
  }

  private void scratch(Path folder) {
    List<String> said = new ArrayList<>();
    Handler ear = ear(said);
    Logger logger = Logger.getLogger("io.fovea");
    Level level = logger.getLevel();
    logger.addHandler(ear);
    logger.setLevel(Level.INFO);
    boolean parents = logger.getUseParentHandlers();
    logger.setUseParentHandlers(false);
    try (Database db =
        Database.open(
            folder.resolve("scratch"),
            Options.defaults().bufferBytes(4 << 20).durability(Durability.SYNC))) {
      String kind = db.stats().io().kind();
      String why =
          said.stream()
              .filter(line -> line.contains(kind + " ("))
              .map(line -> line.substring(line.indexOf(kind) + kind.length()).strip())
              .findFirst()
              .orElse(null);
      found("device", kind + (why == null ? "" : " " + why), advice(kind));
      sync(db);
    } finally {
      logger.setUseParentHandlers(parents);
      logger.setLevel(level);
      logger.removeHandler(ear);
    }
  }

  private static @Nullable String advice(String kind) {
    if (!kind.startsWith("uring")) {
      return "io_uring is faster: docs/guide/operations.md, \"io_uring\", says what it needs";
    }
    return kind.contains("buffered")
        ? "the file system refuses direct I/O: all pages are in memory twice"
        : null;
  }

  /** Measures a commit, which is mostly a sync. */
  private void sync(Database db) {
    var table = db.table(TableSpec.bytes("t", 8)).bytes();
    long[] nanos = new long[SYNCS];
    for (int i = 0; i < SYNCS; i++) {
      byte[] key = {(byte) i};
      long begin = System.nanoTime();
      db.run(tx -> table.put(tx, key, key));
      nanos[i] = System.nanoTime() - begin;
    }
    Arrays.sort(nanos);
    found(
        "durable commit",
        String.format(Locale.ROOT, "%,d microseconds, the median", nanos[SYNCS / 2] / 1000),
        null);
  }

  private static Handler ear(List<String> said) {
    return new Handler() {
      @Override
      public synchronized void publish(LogRecord record) {
        said.add(new java.util.logging.SimpleFormatter().formatMessage(record));
      }

      @Override
      public void flush() {}

      @Override
      public void close() {}
    };
  }
}
