package io.fovea.memory;

import io.fovea.bindings.Availability;
import io.fovea.bindings.FileCalls;
import io.fovea.bindings.Libc;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Stream;

/**
 * Limits and policies of the kernel for the address space of a process. Each call asks the kernel,
 * which takes microseconds to milliseconds. Nothing is thrown on other systems. For tests and
 * benchmarks.
 */
public final class KernelFacts {
  /**
   * Mappings of the JVM itself, with its threads and its code, and of other code that maps files.
   */
  private static final int MAPPINGS_OF_OTHERS = 15_530;

  private static final System.Logger LOG = System.getLogger("io.fovea");

  private KernelFacts() {}

  /**
   * Returns how many mappings a dedicated program may use for rewiring: all but those reserved for
   * the JVM.
   *
   * @return mappings; 50,000 if {@link MappingBudget#mappingsMax} is the default of Linux
   */
  public static int mappingsToSpare() {
    return Math.max(0, MappingBudget.mappingsMax() - MAPPINGS_OF_OTHERS);
  }

  /**
   * Returns how many mappings this process currently has.
   *
   * @return mappings; 0 if not known
   */
  public static int mappings() {
    return mappingsOf("");
  }

  /**
   * Returns how many mappings have a given name.
   *
   * @param name a part of the name, such as that of a mapped file; empty for all
   * @return mappings; 0 if not known
   */
  static int mappingsOf(String name) {
    try (Stream<String> lines =
        Files.lines(Path.of("/proc/self/maps"), StandardCharsets.ISO_8859_1)) {
      return (int) lines.filter(line -> line.contains(name)).count();
    } catch (IOException | UncheckedIOException | SecurityException e) {
      LOG.log(System.Logger.Level.TRACE, "/proc/self/maps", e);
      return 0;
    }
  }

  /**
   * Returns the kernel's policy for memory overcommit: {@code vm.overcommit_memory}.
   *
   * @return 0: heuristic; 1: always; 2: never, so that a large reservation is refused; -1 if not
   *     known
   */
  public static int overcommit() {
    return (int) number("/proc/sys/vm/overcommit_memory", -1);
  }

  /**
   * Returns when memory of a process uses huge pages.
   *
   * @return "always", "madvise" or "never"; empty if not known
   */
  public static String hugePages() {
    return chosen("/sys/kernel/mm/transparent_hugepage/enabled");
  }

  /**
   * Returns when memory of a memory file uses huge pages.
   *
   * @return "never", which is the default of Linux, "always", "within_size", "advise", "deny" or
   *     "force"; empty if not known
   */
  public static String hugePagesOfFiles() {
    return chosen("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  }

  /**
   * Returns the memory that is currently available without evicting anything.
   *
   * @return bytes; empty if not known
   */
  public static OptionalLong memoryAvailable() {
    for (String line : lines("/proc/meminfo")) {
      if (line.startsWith("MemAvailable:")) {
        return OptionalLong.of(Long.parseLong(line.replaceAll("[^0-9]", "")) << 10);
      }
    }
    return OptionalLong.empty();
  }

  /**
   * Returns whether memory files, which {@link Granules} need, are available.
   *
   * @return the result, with a reason if they are not
   */
  public static Availability memoryFiles() {
    Availability libc = Libc.probe();
    if (!(libc instanceof Availability.Available)) {
      return libc;
    }
    if (!Mem.isRaw()) {
      return new Availability.Unavailable(
          "native access is denied, start the JVM with " + Mem.nativeAccessFlag(), 0);
    }
    int fd = MemoryFiles.KERNEL.create("fovea-probe");
    if (fd < 0) {
      return new Availability.Unavailable("the kernel can't create files in memory", -fd);
    }
    FileCalls.close(fd);
    return libc;
  }

  private static long number(String file, long otherwise) {
    try {
      List<String> lines = lines(file);
      return lines.isEmpty() ? otherwise : Long.parseLong(lines.getFirst().trim());
    } catch (NumberFormatException e) {
      return otherwise;
    }
  }

  /** Returns the bracketed word of a line such as {@code always [madvise] never}. */
  private static String chosen(String file) {
    for (String line : lines(file)) {
      int from = line.indexOf('[');
      int to = line.indexOf(']');
      if (from >= 0 && to > from) {
        return line.substring(from + 1, to);
      }
    }
    return "";
  }

  private static List<String> lines(String file) {
    try {
      return Files.readAllLines(Path.of(file));
    } catch (IOException | RuntimeException e) {
      LOG.log(System.Logger.Level.TRACE, file, e);
      return List.of();
    }
  }
}
