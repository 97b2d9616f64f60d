package io.fovea.replication;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The directories of a replica after a power loss, which keeps only what was synced. */
class ReplicaFilesTest {
  @TempDir Path folder;

  private final Map<Path, Set<String>> durable = new HashMap<>();

  private void sync(Path directory) throws IOException {
    try (Stream<Path> all = Files.list(directory)) {
      durable.put(directory, all.map(f -> f.getFileName().toString()).collect(Collectors.toSet()));
    }
  }

  private void requireDurable(Path path) {
    Path at = folder;
    for (Path name : folder.relativize(path)) {
      Set<String> names = durable.getOrDefault(at, Set.of());
      assertTrue(names.contains(name.toString()), () -> path + " is lost: durable are " + durable);
      at = at.resolve(name);
    }
  }

  @Test
  void newReplica() throws IOException {
    Path directory = folder.resolve("replicas/1");
    ReplicaFiles files = new ReplicaFiles(directory, this::sync);
    requireDurable(directory.resolve("current"));
    requireDurable(files.database().getParent());
  }

  @Test
  void copy() throws IOException {
    ReplicaFiles files = new ReplicaFiles(folder, this::sync);
    Path staged = files.staged();
    Files.createFile(staged);
    assertEquals(folder.resolve("one"), files.use());
    assertEquals(staged, files.database());
    requireDurable(staged);
    requireDurable(folder.resolve("current"));
    assertEquals("two", Files.readString(folder.resolve("current")).trim());
  }
}
