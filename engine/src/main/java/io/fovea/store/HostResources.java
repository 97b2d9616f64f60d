package io.fovea.store;

import io.fovea.memory.Mem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** What the machine, or the container, lets this process have. */
public final class HostResources {
  /** The least memory with which the defaults are what the documents say. */
  private static final long ROOMY_BYTES = 2L << 30;

  /** What there was when the first options were made. */
  private static final long MEMORY_BYTES = memoryBytes();

  private HostResources() {}

  /**
   * A default size of memory: less than usual where the machine or the container has little, so
   * that the defaults of all options and of the JVM's heap fit into it together.
   *
   * @param usual bytes, where there is memory enough
   * @return the same, or the same share of what there is
   */
  public static long defaultBytes(long usual) {
    return defaultBytes(usual, MEMORY_BYTES);
  }

  /**
   * The same for a machine or container of another size.
   *
   * @param memory how much it has
   */
  public static long defaultBytes(long usual, long memory) {
    return memory >= ROOMY_BYTES ? usual : (long) ((double) usual / ROOMY_BYTES * memory);
  }

  /**
   * The memory that this process may use: the machine's, or the container's limit where that is
   * less.
   *
   * @return bytes, or {@link Long#MAX_VALUE} where it can't be found out
   */
  static long memoryBytes() {
    long limit = Long.MAX_VALUE;
    for (String line : lines("/proc/meminfo")) {
      if (line.startsWith("MemTotal:")) {
        int end = line.lastIndexOf(' '); // "MemTotal:       24000000 kB"
        limit = Math.min(limit, number(line.substring("MemTotal:".length(), end).trim()) << 10);
      }
    }
    for (String line : lines("/proc/self/cgroup")) {
      // "0::/path" in version 2; "9:memory:/path" in version 1
      String[] parts = line.split(":", 3);
      if (parts.length < 3) {
        continue;
      }
      if (parts[1].isEmpty()) {
        limit = Math.min(limit, above("/sys/fs/cgroup", parts[2], "memory.max"));
      } else if (List.of(parts[1].split(",")).contains("memory")) {
        limit = Math.min(limit, above("/sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes"));
      }
    }
    return limit;
  }

  /** The least limit of a group and those above it. */
  private static long above(String root, String path, String file) {
    long limit = Long.MAX_VALUE;
    Path base = Path.of(root);
    Path p = base.resolve(path.startsWith("/") ? path.substring(1) : path).normalize();
    while (p.startsWith(base)) {
      for (String line : lines(p.resolve(file).toString())) {
        limit = Math.min(limit, number(line.trim()));
      }
      if (p.equals(base)) {
        break;
      }
      p = p.getParent();
    }
    return limit;
  }

  private static long number(String text) {
    try {
      return text.isEmpty() ? Long.MAX_VALUE : Long.parseLong(text);
    } catch (NumberFormatException e) {
      return Long.MAX_VALUE; // "max"
    }
  }

  /** The lines of a file; none where it can't be read. */
  private static List<String> lines(String file) {
    try {
      return Files.readAllLines(Path.of(file));
    } catch (IOException | RuntimeException e) {
      return List.of();
    }
  }

  /**
   * The flag that allows native access, if it is missing.
   *
   * @return the flag as it is to be written on the command line, or an empty string
   */
  static String missingFlag() {
    Module engine = HostResources.class.getModule();
    Module bindings = io.fovea.bindings.Libc.class.getModule();
    if (engine.isNativeAccessEnabled() && bindings.isNativeAccessEnabled()) {
      return "";
    }
    return Mem.nativeAccessFlag();
  }
}
