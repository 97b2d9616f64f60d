package io.fovea.store;

import io.fovea.memory.Mem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The resources that the machine or container grants this process. */
public final class HostResources {
  /** The least memory, in bytes, with which defaults have their documented values. */
  private static final long LARGE_MEMORY_BYTES = 2L << 30;

  /** The memory in bytes, at class initialization. */
  private static final long MEMORY_BYTES = memoryBytes();

  private HostResources() {}

  /**
   * Returns a default size, scaled down on small machines so that all defaults and the JVM's heap
   * fit together.
   *
   * @param usual the default in bytes if there is enough memory
   */
  public static long defaultBytes(long usual) {
    return defaultBytes(usual, MEMORY_BYTES);
  }

  /**
   * Returns a default size for a machine or container with the given memory.
   *
   * @param memory in bytes
   */
  public static long defaultBytes(long usual, long memory) {
    return memory >= LARGE_MEMORY_BYTES
        ? usual
        : (long) ((double) usual / LARGE_MEMORY_BYTES * memory);
  }

  /**
   * Returns the machine's memory or the container's limit in bytes, whichever is less; {@link
   * Long#MAX_VALUE} if unknown.
   */
  static long memoryBytes() {
    long limit = Long.MAX_VALUE;
    for (String line : lines("/proc/meminfo")) {
      if (line.startsWith("MemTotal:")) {
        String kibibytes = line.substring("MemTotal:".length()).replace("kB", "").trim();
        limit = Math.min(limit, number(kibibytes) << 10);
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

  /** Returns the lowest limit of a group and its ancestors. */
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

  /** Returns the lines of a file, or an empty list if it cannot be read. */
  private static List<String> lines(String file) {
    try {
      return Files.readAllLines(Path.of(file));
    } catch (IOException | RuntimeException e) {
      return List.of();
    }
  }

  /** Returns the command-line flag that allows native access, or an empty string if it is set. */
  static String missingFlag() {
    Module engine = HostResources.class.getModule();
    Module bindings = io.fovea.bindings.Libc.class.getModule();
    if (engine.isNativeAccessEnabled() && bindings.isNativeAccessEnabled()) {
      return "";
    }
    return Mem.nativeAccessFlag();
  }
}
