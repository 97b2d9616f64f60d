package io.fovea.bindings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.bindings.generated.LibC;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LibcTest {
  private static final int RW = Libc.O_RDWR | Libc.O_CREAT | Libc.O_CLOEXEC;

  @TempDir Path folder;

  private static int good(int result) {
    assertTrue(result >= 0, () -> Errno.describe(result));
    return result;
  }

  private int file(String name) {
    return good(Libc.open(folder.resolve(name).toString(), RW, 0600));
  }

  @Test
  void isThere() {
    var answer = assertInstanceOf(Availability.Available.class, Libc.probe());
    assertEquals("libc", answer.library());
    assertTrue(answer.describe().startsWith("libc on kernel "), answer.describe());
  }

  @Test
  void aMissingFunctionIsAValue() {
    var answer =
        assertInstanceOf(
            Availability.Unavailable.class, Libc.probe(List.of("pread", "fovea_no_such_thing")));
    assertEquals("libc has no function fovea_no_such_thing", answer.describe());
  }

  @Test
  void nativeAccessIsGranted() {
    assertNull(NativeAccess.missingOption(LibcTest.class.getModule()));
  }

  /** The generated ones are those of x86-64; the two that differ elsewhere are left out there. */
  @Test
  void constantsAreThoseOfTheHeaders() throws ReflectiveOperationException {
    for (Field field : Libc.class.getFields()) {
      assertTrue(Modifier.isStatic(field.getModifiers()));
      boolean differs = field.getName().equals("O_DIRECT") || field.getName().equals("O_DIRECTORY");
      if (!(Platform.AARCH64 && differs)) {
        assertEquals(
            LibC.class.getMethod(field.getName()).invoke(null),
            field.getInt(null),
            field.getName());
      }
    }
  }

  @Test
  void readsBackWhatWasWritten() {
    int fd = file("data");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(4096);
      for (int i = 0; i < 4096; i++) {
        out.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 31));
      }
      assertEquals(4096, Libc.pwrite(fd, out.address(), 4096, 8192));
      assertEquals(8192 + 4096, Libc.size(fd));
      MemorySegment in = arena.allocate(4096);
      assertEquals(4096, Libc.pread(fd, in.address(), 4096, 8192));
      assertEquals(-1, out.mismatch(in));
      assertEquals(0, Libc.fdatasync(fd));
      assertEquals(0, Libc.fsync(fd));
      // The hole before it reads as zeros.
      assertEquals(4096, Libc.pread(fd, in, 0, 4096, 0));
      assertEquals(-1, in.mismatch(arena.allocate(4096)));
    }
    assertEquals(0, Libc.close(fd));
  }

  @Test
  void readsAreShortAtTheEndOfTheFile() {
    int fd = file("short");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = arena.allocate(100);
      assertEquals(100, Libc.pwriteFully(fd, bytes.address(), 100, 0));
      MemorySegment in = arena.allocate(100);
      assertEquals(30, Libc.pread(fd, in, 0, 100, 70));
      assertEquals(30, Libc.preadFully(fd, in.address(), 100, 70));
      assertEquals(0, Libc.pread(fd, in, 0, 100, 100));
      assertEquals(0, Libc.preadFully(fd, in.address(), 100, 1000));
      assertEquals(100, Libc.preadFully(fd, in.address(), 100, 0));
    }
    Libc.close(fd);
  }

  @Test
  void partsOfSegmentsAreChecked() {
    int fd = file("parts");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = arena.allocate(16);
      bytes.set(ValueLayout.JAVA_BYTE, 8, (byte) 42);
      assertEquals(4, Libc.pwrite(fd, bytes, 8, 4, 0));
      assertEquals(4, Libc.pread(fd, bytes, 12, 4, 0));
      assertEquals(42, bytes.get(ValueLayout.JAVA_BYTE, 12));
      assertThrows(IndexOutOfBoundsException.class, () -> Libc.pread(fd, bytes, 12, 5, 0));
      assertThrows(IndexOutOfBoundsException.class, () -> Libc.pwrite(fd, bytes, -1, 5, 0));
      assertThrows(
          IllegalArgumentException.class, () -> Libc.pread(fd, bytes.asReadOnly(), 0, 1, 0));
      assertThrows(
          IllegalArgumentException.class,
          () -> Libc.pwrite(fd, MemorySegment.ofArray(new byte[8]), 0, 1, 0));
      Arena other = Arena.ofConfined();
      MemorySegment dead = other.allocate(8);
      other.close();
      assertThrows(IllegalStateException.class, () -> Libc.pread(fd, dead, 0, 8, 0));
    }
    Libc.close(fd);
  }

  @Test
  void failuresAreNegatedErrorNumbers() {
    String missing = folder.resolve("missing").toString();
    assertEquals(-Errno.ENOENT, Libc.open(missing, Libc.O_RDONLY, 0));
    assertEquals(-Errno.ENOTDIR, Libc.open("/dev/null/x", Libc.O_RDONLY, 0));
    assertThrows(IllegalArgumentException.class, () -> Libc.open("a\0b", Libc.O_RDONLY, 0));
    int fd = file("closed");
    assertEquals(0, Libc.close(fd));
    assertEquals(-Errno.EBADF, Libc.close(1 << 30));
    assertEquals(-Errno.EBADF, Libc.pread(1 << 30, 0, 1, 0));
    assertEquals(-Errno.EBADF, Libc.pwrite(1 << 30, 0, 1, 0));
    assertEquals(-Errno.EBADF, Libc.preadFully(1 << 30, 0, 1, 0));
    assertEquals(-Errno.EBADF, Libc.pwriteFully(1 << 30, 0, 1, 0));
    assertEquals(-Errno.EBADF, Libc.fsync(1 << 30));
    assertEquals(-Errno.EBADF, Libc.fdatasync(1 << 30));
    assertEquals(-Errno.EBADF, Libc.size(1 << 30));
    assertEquals(-Errno.EBADF, Libc.ftruncate(1 << 30, 0));
    assertEquals(-Errno.EBADF, Libc.fallocate(1 << 30, 0, 0, 1));
    assertEquals(-Errno.EBADF, Libc.flock(1 << 30, Libc.LOCK_EX));
    int again = file("fault");
    assertEquals(-Errno.EFAULT, Libc.pwrite(again, 1, 8, 0));
    assertEquals(-Errno.EINVAL, Libc.pread(again, 0, 1, -1));
    Libc.close(again);
  }

  @Test
  void fileNamesMayHaveLettersOutsideAscii() {
    String name = folder.resolve("s") + "tücke-\u4e2d";
    int fd = good(Libc.open(name, RW, 0600));
    try (var found = Files.list(folder)) {
      assertEquals(1, found.count());
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
    Libc.close(fd);
  }

  @Test
  void lengthsAndAllocation() {
    int fd = file("length");
    assertEquals(0, Libc.ftruncate(fd, 10_000));
    assertEquals(10_000, Libc.size(fd));
    int allocated = Libc.fallocate(fd, 0, 0, 1 << 16);
    if (allocated == 0) {
      assertEquals(1 << 16, Libc.size(fd));
      assertEquals(0, Libc.fallocate(fd, Libc.FALLOC_FL_KEEP_SIZE, 1 << 16, 4096));
      assertEquals(1 << 16, Libc.size(fd));
    } else {
      assertEquals(-Errno.EOPNOTSUPP, allocated);
    }
    Libc.close(fd);
  }

  @Test
  void aLockConflictsWithinTheProcess() {
    String name = folder.resolve("lock").toString();
    int one = good(Libc.open(name, RW, 0600));
    int two = good(Libc.open(name, RW, 0600));
    assertEquals(0, Libc.flock(one, Libc.LOCK_EX | Libc.LOCK_NB));
    assertEquals(-Errno.EAGAIN, Libc.flock(two, Libc.LOCK_EX | Libc.LOCK_NB));
    assertEquals(-Errno.EAGAIN, Libc.flock(two, Libc.LOCK_SH | Libc.LOCK_NB));
    assertEquals(0, Libc.flock(one, Libc.LOCK_UN));
    assertEquals(0, Libc.flock(two, Libc.LOCK_EX | Libc.LOCK_NB));
    assertEquals(0, Libc.close(two));
    assertEquals(0, Libc.flock(one, Libc.LOCK_EX | Libc.LOCK_NB));
    Libc.close(one);
  }

  @Test
  void mapsAdvisesAndUnmapsMemory() {
    long length = 4L << 20;
    long address =
        Libc.mmap(
            0,
            length,
            Libc.PROT_READ | Libc.PROT_WRITE,
            Libc.MAP_PRIVATE | Libc.MAP_ANONYMOUS | Libc.MAP_NORESERVE,
            -1,
            0);
    assertTrue(address > 0, () -> Errno.describe((int) address));
    MemorySegment memory = MemorySegment.ofAddress(address).reinterpret(length);
    assertEquals(0, Libc.madvise(address, length, Libc.MADV_DONTFORK));
    assertEquals(0, Libc.madvise(address, length, Libc.MADV_DONTDUMP));
    // Kernels without transparent huge pages or older than 5.14 say so.
    for (int advice : new int[] {Libc.MADV_HUGEPAGE, Libc.MADV_POPULATE_WRITE}) {
      int result = Libc.madvise(address, length, advice);
      assertTrue(result == 0 || result == -Errno.EINVAL, () -> Errno.describe(result));
    }
    memory.set(ValueLayout.JAVA_LONG, 12_288, 7L);
    assertEquals(0, Libc.madvise(address, length, Libc.MADV_DONTNEED));
    assertEquals(0L, memory.get(ValueLayout.JAVA_LONG, 12_288));
    assertEquals(0, Libc.mprotect(address, Libc.pageSize(), Libc.PROT_NONE));
    int fd = file("protected");
    assertEquals(-Errno.EFAULT, Libc.pwrite(fd, address, 8, 0));
    Libc.close(fd);
    assertEquals(-Errno.EINVAL, Libc.madvise(address + 1, length, Libc.MADV_NORMAL));
    assertEquals(-Errno.EBADF, Libc.mmap(0, 4096, Libc.PROT_READ, Libc.MAP_PRIVATE, -1, 0));
    assertEquals(0, Libc.munmap(address, length));
  }

  @Test
  void mapsAFileInMemory() {
    int fd = good(Libc.memfdCreate("fovea-test", Libc.MFD_CLOEXEC));
    int page = Libc.pageSize();
    assertEquals(0, Libc.ftruncate(fd, page));
    int prot = Libc.PROT_READ | Libc.PROT_WRITE;
    long a = Libc.mmap(0, page, prot, Libc.MAP_SHARED, fd, 0);
    long b = Libc.mmap(0, page, prot, Libc.MAP_SHARED, fd, 0);
    MemorySegment.ofAddress(a).reinterpret(page).set(ValueLayout.JAVA_INT, 64, 4711);
    assertEquals(4711, MemorySegment.ofAddress(b).reinterpret(page).get(ValueLayout.JAVA_INT, 64));
    assertEquals(0, Libc.munmap(a, page));
    assertEquals(0, Libc.munmap(b, page));
    Libc.close(fd);
  }

  @Test
  void anEventfdCounts() {
    int fd = good(Libc.eventfd(0, Libc.EFD_CLOEXEC | Libc.EFD_NONBLOCK));
    assertEquals(-Errno.EAGAIN, Libc.eventfdTake(fd));
    assertEquals(0, Libc.eventfdAdd(fd, 2));
    assertEquals(0, Libc.eventfdAdd(fd, 3));
    assertEquals(5, Libc.eventfdTake(fd));
    assertEquals(-Errno.EAGAIN, Libc.eventfdTake(fd));
    Libc.close(fd);
  }

  @Test
  void factsOfTheProcess() {
    assertEquals(ProcessHandle.current().pid(), Libc.getpid());
    assertEquals(1, Integer.bitCount(Libc.pageSize()));
    assertTrue(Libc.rlimit(Libc.RLIMIT_NOFILE) > 0);
    assertTrue(Libc.rlimit(Libc.RLIMIT_MEMLOCK) >= 0);
    assertEquals(-Errno.EINVAL, Libc.rlimit(1000));
  }

  /** More calls in the kernel than there are slots at first, with different errors each. */
  @Test
  void errorNumbersDoNotMixBetweenThreads() throws InterruptedException {
    int fd = file("threads");
    AtomicReference<String> wrong = new AtomicReference<>();
    Thread[] threads = new Thread[64];
    for (int t = 0; t < threads.length; t++) {
      int kind = t % 3;
      Runnable body =
          () -> {
            for (int i = 0; i < 500; i++) {
              long result =
                  switch (kind) {
                    case 0 -> Libc.pread(1 << 30, 0, 1, 0);
                    case 1 -> Libc.pread(fd, 0, 1, -1);
                    default -> Libc.pwrite(fd, 1, 8, 0);
                  };
              int expected =
                  switch (kind) {
                    case 0 -> -Errno.EBADF;
                    case 1 -> -Errno.EINVAL;
                    default -> -Errno.EFAULT;
                  };
              if (result != expected) {
                wrong.set("expected " + expected + ", found " + result);
              }
            }
          };
      threads[t] = t % 2 == 0 ? Thread.ofVirtual().start(body) : Thread.ofPlatform().start(body);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertNull(wrong.get());
    Libc.close(fd);
  }

  @Test
  void slotsAreMadeWhereAllAreTaken() {
    CallState[] taken = new CallState[3000];
    for (int i = 0; i < taken.length; i++) {
      taken[i] = CallState.acquire();
    }
    assertEquals(taken.length, List.of(taken).stream().distinct().count());
    for (CallState slot : taken) {
      slot.release();
    }
  }
}
