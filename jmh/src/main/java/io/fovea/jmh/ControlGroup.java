package io.fovea.jmh;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A Linux control group around one process, which bounds all of its memory: heap, caches, and the
 * page cache of the files that it uses. So engines that rely on the page cache get no more memory
 * than others.
 *
 * <p>Version 2, or version 1 if that has the memory controller. The group is created below that of
 * this process, which needs permission, and removed after its process has ended.
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

  /** Returns why no group can be created, or null. */
  static @Nullable String missing() {
    try {
      new ControlGroup(Files.createDirectory(name(parent(), 0))).close();
      return null;
    } catch (IOException | RuntimeException e) {
      return "cannot create a control group: " + e;
    }
  }

  /**
   * Puts a process into a new group without a limit, which counts its memory from now on. Memory
   * allocated before does not count, so call this early.
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
   * Limits the memory. Excess pages of files are written and dropped; if the system gives up before
   * it has dropped enough, the call retries.
   *
   * @throws IOException also if the excess cannot be dropped
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
              "a process needs more than the %,d bytes of its limit".formatted(bytes), e);
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
   * Returns the folder below which memory groups are created.
   *
   * @param root the mount point of control groups
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

  /** Removes the group; its process must have ended. */
  @Override
  public void close() {
    try {
      Files.deleteIfExists(folder);
    } catch (IOException e) {
      System.err.println("control group " + folder + " could not be removed: " + e);
    }
  }
}
