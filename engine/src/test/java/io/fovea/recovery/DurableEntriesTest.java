package io.fovea.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.io.DeviceConfig;
import io.fovea.io.Directories;
import io.fovea.io.FileStorage;
import io.fovea.io.Storage;
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

/**
 * What a loss of power leaves of entries of directories: a directory has what it had when it was
 * synced last. A file is there if each component of its path below the folder is.
 */
class DurableEntriesTest {
  @TempDir Path folder;

  /** The entries that are durable. */
  private final class Disk implements Directories.Sync {
    private final Map<Path, Set<String>> durable = new HashMap<>();

    @Override
    public void sync(Path directory) throws IOException {
      try (Stream<Path> all = Files.list(directory)) {
        durable.put(
            directory.toRealPath(),
            all.map(f -> f.getFileName().toString()).collect(Collectors.toSet()));
      }
    }

    boolean has(Path path) throws IOException {
      Path at = folder.toRealPath();
      for (Path name : folder.relativize(path)) {
        if (!durable.getOrDefault(at, Set.of()).contains(name.toString())) {
          return false;
        }
        at = at.resolve(name);
      }
      return true;
    }
  }

  @Test
  void eachComponentOfABackup() throws IOException {
    Disk disk = new Disk();
    Path directory = folder.resolve("2026/11/28");
    byte[] content = new byte[100];
    try (DirectoryTarget target = new DirectoryTarget(directory, "db", "", disk)) {
      for (String suffix : new String[] {Storage.DATA, Storage.LOG, BackupManifest.SUFFIX}) {
        target.begin(suffix, content.length);
        target.write(content, 0, content.length);
        target.end();
      }
      target.finish();
    }
    for (String suffix : new String[] {Storage.DATA, Storage.LOG, BackupManifest.SUFFIX}) {
      Path file = directory.resolve("db" + suffix);
      assertTrue(Files.exists(file));
      assertTrue(disk.has(file), () -> file + " is lost: durable are " + disk.durable);
    }
  }

  /** What a database creates, deletes and renames is so at once. */
  @Test
  void theFilesOfADatabase() throws IOException {
    Disk disk = new Disk();
    Path file = folder.resolve("db");
    FileStorage storage = new FileStorage(file, DeviceConfig.defaults(), disk);
    for (String suffix : new String[] {Storage.DATA, Storage.LOG, Storage.DOUBLE_WRITE}) {
      storage.open(suffix).close();
      assertTrue(disk.has(folder.resolve("db" + suffix)), suffix);
    }
    storage.delete(Storage.LOG);
    assertFalse(disk.has(folder.resolve("db.log")));
    Path target = folder.resolve("other");
    storage.moveTo(target);
    assertTrue(disk.has(target));
    assertFalse(disk.has(file));
    assertEquals(Set.of("other", "db.dwb"), disk.durable.get(folder.toRealPath()));
  }
}
