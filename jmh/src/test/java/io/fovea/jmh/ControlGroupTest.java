package io.fovea.jmh;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Uses folders that imitate the kernel's: a test that limited its own process would also limit
 * others.
 */
class ControlGroupTest {
  @TempDir Path root;

  @Test
  void versionOneIfItHasTheMemoryController() {
    assertEquals(
        root.resolve("memory/user/me"),
        ControlGroup.parent(root, List.of("9:cpu,cpuacct:/x", "4:memory:/user/me", "0::/y")));
  }

  @Test
  void otherwiseVersionTwo() {
    assertEquals(
        root.resolve("user.slice/me"),
        ControlGroup.parent(root, List.of("3:cpuset:/", "0::/user.slice/me")));
    assertEquals(root, ControlGroup.parent(root, List.of("0::/")));
    assertThrows(
        IllegalStateException.class, () -> ControlGroup.parent(root, List.of("3:cpuset:/")));
  }

  @Test
  void limitsAProcess() throws Exception {
    ControlGroup group = ControlGroup.around(root, 4711);
    Path folder;
    try (Stream<Path> all = Files.list(root)) {
      folder = all.findFirst().orElseThrow();
    }
    assertEquals("4711", Files.readString(folder.resolve("cgroup.procs")));
    group.limit(1 << 20);
    assertEquals("1048576", Files.readString(folder.resolve("memory.max")));
    Files.writeString(folder.resolve("memory.limit_in_bytes"), "9223372036854771712");
    group.limit(2 << 20);
    assertEquals("2097152", Files.readString(folder.resolve("memory.limit_in_bytes")));
    // The kernel removes its files with their folder.
    for (String name : List.of("cgroup.procs", "memory.max", "memory.limit_in_bytes")) {
      Files.delete(folder.resolve(name));
    }
    group.close();
    assertFalse(Files.exists(folder));
  }

  /** As if more pages of files had to be written than the kernel waits for. */
  @Test
  void retriesARefusedLimit() throws Exception {
    ControlGroup group = ControlGroup.around(root, 4711);
    Path limit;
    try (Stream<Path> all = Files.list(root)) {
      limit = all.findFirst().orElseThrow().resolve("memory.max");
    }
    Files.createDirectory(limit); // makes writes fail
    CompletableFuture<Void> later =
        CompletableFuture.runAsync(
            () -> assertDoesNotThrow(() -> Files.delete(limit)),
            CompletableFuture.delayedExecutor(100, TimeUnit.MILLISECONDS));
    group.limit(1 << 20);
    later.join();
    assertEquals("1048576", Files.readString(limit));
  }
}
