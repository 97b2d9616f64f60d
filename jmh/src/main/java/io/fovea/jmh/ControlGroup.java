package io.fovea.jmh;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A control group of Linux around one process, which bounds all of its memory: heap, caches, and
 * what the operating system keeps of the files that it reads and writes. So engines whose cache is
 * the operating system's have no more of it than the others.
 *
 * <p>Of version 2, or of version 1 where that has the memory. It is made below the group of this
 * process, for which that must be allowed; removed when its process has ended.
 */
final class ControlGroup implements AutoCloseable {
  private static final Path ROOT = Path.of("/sys/fs/cgroup");
  private static final Path OWN = Path.of("/proc/self/cgroup");
  private static final int LIMIT_ATTEMPTS = 40;
  private static final int LIMIT_PAUSE_MILLIS = 250;

  private final Path folder;

  private ControlGroup(Path folder) {
    this.folder = folder;
  }

  /** Why there can be none; null where there can. */
  static @Nullable String missing() {
    try {
      new ControlGroup(Files.createDirectory(name(parent(), 0))).close();
      return null;
    } catch (IOException | RuntimeException e) {
      return "no control group can be made: " + e;
    }
  }

  /**
   * Puts a process into a group of its own, without a limit: what it takes from now on counts. What
   * it has taken before does not, so it should have begun a moment ago.
   */
  static ControlGroup around(long pid) throws IOException {
    return around(parent(), pid);
  }

  static ControlGroup around(Path parent, long pid) throws IOException {
    ControlGroup group = new ControlGroup(Files.createDirectory(name(parent, pid)));
    try {
      Files.writeString(group.folder.resolve("cgroup.procs"), Long.toString(pid));
      return group;
    } catch (IOException e) {
      group.close();
      throw e;
    }
  }

  /**
   * Bounds it. What it has above that, of files, is written and dropped; where the system takes
   * longer for that than it waits, it is asked again.
   *
   * @throws IOException also if what can't be dropped is more than that
   */
  void limit(long bytes) throws IOException, InterruptedException {
    Path first = folder.resolve("memory.limit_in_bytes");
    Path limit = Files.exists(first) ? first : folder.resolve("memory.max");
    for (int left = LIMIT_ATTEMPTS; ; left--) {
      try {
        Files.writeString(limit, Long.toString(bytes));
        return;
      } catch (IOException e) {
        if (left == 0) {
          throw new IOException(
              "a process has more than the %,d bytes left to it".formatted(bytes), e);
        }
        Thread.sleep(LIMIT_PAUSE_MILLIS);
      }
    }
  }

  private static Path parent() throws IOException {
    return parent(ROOT, Files.readAllLines(OWN));
  }

  private static Path name(Path parent, long pid) {
    return parent.resolve("fovea-rivals-" + ProcessHandle.current().pid() + "-" + pid);
  }

  /**
   * Below which folder groups for memory are made.
   *
   * @param root where control groups are mounted
   * @param lines of /proc/self/cgroup: number, controllers, path
   */
  static Path parent(Path root, List<String> lines) {
    for (String line : lines) {
      String[] parts = line.split(":", 3);
      if (parts.length == 3 && List.of(parts[1].split(",")).contains("memory")) {
        return root.resolve("memory").resolve(parts[2].substring(1));
      }
    }
    for (String line : lines) {
      if (line.startsWith("0::/")) {
        return root.resolve(line.substring(4));
      }
    }
    throw new IllegalStateException("this process is in no control group");
  }

  /** Removes it; its process must have ended. */
  @Override
  public void close() {
    try {
      Files.deleteIfExists(folder);
    } catch (IOException e) {
      System.err.println("control group " + folder + " is left behind: " + e);
    }
  }
}
