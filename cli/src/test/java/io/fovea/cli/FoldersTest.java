package io.fovea.cli;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Temporary folders. */
class FoldersTest {
  @TempDir Path dir;

  @Test
  void deletesEverythingButTargetsOfLinks() throws IOException {
    Path other = Files.createDirectory(dir.resolve("other"));
    Files.writeString(other.resolve("mine"), "x");
    Path folder = Files.createDirectory(dir.resolve("folder"));
    Files.createDirectories(folder.resolve("a/b"));
    Files.writeString(folder.resolve("a/b/c"), "x");
    Files.createSymbolicLink(folder.resolve("link"), other);
    Files.createSymbolicLink(folder.resolve("broken"), dir.resolve("absent"));
    Folders.delete(folder);
    assertFalse(Files.exists(folder));
    assertTrue(Files.exists(other.resolve("mine")));
    Folders.delete(folder); // as if another thread had deleted it
  }

  /** Another thread adds files until deleting has failed once. */
  @Test
  void aFailureHidesNoCause() throws Exception {
    IOException cause = new IOException("the cause");
    Path folder = Files.createDirectory(dir.resolve("folder"));
    AtomicBoolean failed = new AtomicBoolean();
    Thread adding =
        Thread.ofPlatform()
            .start(
                () -> {
                  for (int i = 0; !failed.get(); i++) {
                    try {
                      Files.createDirectories(folder);
                      Files.writeString(folder.resolve("n" + i), "");
                    } catch (IOException e) {
                      // the folder was just deleted
                    }
                  }
                });
    try {
      while (cause.getSuppressed().length == 0) {
        Folders.deleteAfter(folder, cause);
      }
    } finally {
      failed.set(true);
      adding.join();
    }
    assertTrue(cause.getSuppressed()[0] instanceof IOException);
    Folders.deleteAfter(folder, null);
    assertFalse(Files.exists(folder));
  }
}
