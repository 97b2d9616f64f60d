package io.fovea.io;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.bindings.FileCalls;
import io.fovea.error.DatabaseLockedException;
import io.fovea.error.StorageException;
import io.fovea.memory.Mem;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A file is opened by one process at a time, and the error names the holder. */
@SuppressWarnings("try") // the lock is only held
class FileLockTest {
  private static final long ME = ProcessHandle.current().pid();

  @TempDir Path folder;
  private Path file = Path.of("");

  @BeforeEach
  void name() {
    file = folder.resolve("base");
  }

  @Test
  void excludesASecondOpener() {
    FileLock lock = FileLock.acquire(file);
    DatabaseLockedException e =
        assertThrows(DatabaseLockedException.class, () -> FileLock.acquire(file));
    assertEquals(ME, e.holderPid());
    assertTrue(e.getMessage().contains("this process (" + ME + ")"), e.getMessage());
    lock.close();
    lock.close();
    try (FileLock again = FileLock.acquire(file)) {
      assertThrows(DatabaseLockedException.class, () -> FileLock.acquire(file));
    }
    assertFalse(
        Files.exists(folder.resolve("base.lock")), "the lock file is deleted with the lock");
  }

  /** A child process has copies of all descriptors until it executes its program. */
  @Test
  void isFreeWhileAChildIsBeingStarted() throws Throwable {
    assumeTrue(Mem.isRaw(), "record locks are not inherited");
    Linker linker = Linker.nativeLinker();
    FunctionDescriptor ofInt = FunctionDescriptor.of(JAVA_INT, JAVA_INT);
    MethodHandle dup = linker.downcallHandle(linker.defaultLookup().find("dup").get(), ofInt);
    FileLock lock = FileLock.acquire(file);
    List<Integer> copies = new ArrayList<>();
    try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
      for (Path fd : open.toList()) {
        int number = Integer.parseInt(fd.getFileName().toString());
        // A copy may reuse the number of another test's descriptor in the list.
        if (!copies.contains(number)
            && Files.isSymbolicLink(fd)
            && Files.readSymbolicLink(fd).toString().startsWith(file.toRealPath().toString())) {
          copies.add((int) dup.invokeExact(number));
        }
      }
    }
    assertEquals(2, copies.size(), "the file and its lock file");
    lock.close();
    try (FileLock again = FileLock.acquire(file)) {
      assertThrows(DatabaseLockedException.class, () -> FileLock.acquire(file));
    } finally {
      copies.forEach(FileCalls::close);
    }
  }

  @Test
  void followsLinks() throws Exception {
    Path symbolic = Files.createSymbolicLink(folder.resolve("symbolic"), file);
    try (FileLock lock = FileLock.acquire(file)) {
      DatabaseLockedException e =
          assertThrows(DatabaseLockedException.class, () -> FileLock.acquire(symbolic));
      assertEquals(ME, e.holderPid());
      Path hard = Files.createLink(folder.resolve("hard"), file);
      // The lock belongs to the inode; the lock file is found by name only.
      assertThrows(DatabaseLockedException.class, () -> FileLock.acquire(hard));
    }
    try (FileLock lock = FileLock.acquire(symbolic)) {
      assertEquals(
          ME,
          assertThrows(DatabaseLockedException.class, () -> FileLock.acquire(file)).holderPid());
    }
  }

  @Test
  void isFreeRightAfterItsHolderWasKilled() throws Exception {
    for (int i = 0; i < 2; i++) {
      Process child = child();
      try (BufferedReader out =
          new BufferedReader(
              new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8))) {
        assertEquals("locked", out.readLine());
        DatabaseLockedException e =
            assertThrows(DatabaseLockedException.class, () -> FileLock.acquire(file));
        assertEquals(child.pid(), e.holderPid());
        assertTrue(e.getMessage().contains("process " + child.pid()), e.getMessage());
      } finally {
        child.destroyForcibly().waitFor();
      }
      assertTrue(
          Files.exists(folder.resolve("base.lock")), "a killed process leaves its lock file");
    }
    try (FileLock lock = FileLock.acquire(file)) {
      assertEquals(
          ME,
          assertThrows(DatabaseLockedException.class, () -> FileLock.acquire(file)).holderPid());
    }
  }

  @Test
  void doesNotNameADeadHolder() throws Exception {
    long itself = Mem.isRaw() ? -1 : ME; // without native access a process knows its own locks
    try (FileLock lock = FileLock.acquire(file)) {
      Files.writeString(folder.resolve("base.lock"), "999999999\n");
      DatabaseLockedException e =
          assertThrows(DatabaseLockedException.class, () -> FileLock.acquire(file));
      assertEquals(itself, e.holderPid());
      Files.writeString(folder.resolve("base.lock"), "nonsense");
      assertEquals(
          itself,
          assertThrows(DatabaseLockedException.class, () -> FileLock.acquire(file)).holderPid());
    }
  }

  @Test
  void reportsWhatCannotBeOpened() {
    assertThrows(StorageException.class, () -> FileLock.acquire(folder));
    assertThrows(
        StorageException.class, () -> FileLock.acquire(folder.resolve("no").resolve("where")));
  }

  private Process child() throws Exception {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            System.getProperty("java.class.path"),
            Holder.class.getName(),
            file.toString())
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  static final class Holder {
    private Holder() {}

    public static void main(String[] args) throws Exception {
      try (FileLock lock = FileLock.acquire(Path.of(args[0]))) {
        System.out.println("locked");
        System.in.read();
      }
    }
  }
}
