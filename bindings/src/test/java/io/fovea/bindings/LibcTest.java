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
  private static final int RW = FileCalls.O_RDWR | FileCalls.O_CREAT | FileCalls.O_CLOEXEC;

  @TempDir Path folder;

  private static int good(int result) {
    assertTrue(result >= 0, () -> Errno.describe(result));
    return result;
  }

  private int file(String name) {
    return good(FileCalls.open(folder.resolve(name).toString(), RW, 0600));
  }

  @Test
  void libcIsAvailable() {
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

  /**
   * The generated constants are those of x86-64, so the two that differ elsewhere are skipped
   * there.
   */
  @Test
  void constantsMatchTheHeaders() throws ReflectiveOperationException {
    for (Class<?> calls : List.of(Libc.class, FileCalls.class, MemoryCalls.class, EventFd.class)) {
      assertTrue(calls.getFields().length > 0);
      for (Field field : calls.getFields()) {
        String name = field.getName();
        assertTrue(Modifier.isStatic(field.getModifiers()));
        boolean differs = name.equals("O_DIRECT") || name.equals("O_DIRECTORY");
        if (!(Platform.AARCH64 && differs)) {
          assertEquals(LibC.class.getMethod(name).invoke(null), field.getInt(null), name);
        }
      }
    }
  }

  @Test
  void writtenBytesAreReadBack() {
    int fd = file("data");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(4096);
      for (int i = 0; i < 4096; i++) {
        out.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 31));
      }
      assertEquals(4096, FileCalls.pwrite(fd, out.address(), 4096, 8192));
      assertEquals(8192 + 4096, FileCalls.size(fd));
      MemorySegment in = arena.allocate(4096);
      assertEquals(4096, FileCalls.pread(fd, in.address(), 4096, 8192));
      assertEquals(-1, out.mismatch(in));
      assertEquals(0, FileCalls.fdatasync(fd));
      assertEquals(0, FileCalls.fsync(fd));
      // The hole before it reads as zeros.
      assertEquals(4096, FileCalls.pread(fd, in, 0, 4096, 0));
      assertEquals(-1, in.mismatch(arena.allocate(4096)));
    }
    assertEquals(0, FileCalls.close(fd));
  }

  @Test
  void readsAreShortAtTheEndOfTheFile() {
    int fd = file("short");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = arena.allocate(100);
      assertEquals(100, FileCalls.pwriteFully(fd, bytes.address(), 100, 0));
      MemorySegment in = arena.allocate(100);
      assertEquals(30, FileCalls.pread(fd, in, 0, 100, 70));
      assertEquals(30, FileCalls.preadFully(fd, in.address(), 100, 70));
      assertEquals(0, FileCalls.pread(fd, in, 0, 100, 100));
      assertEquals(0, FileCalls.preadFully(fd, in.address(), 100, 1000));
      assertEquals(100, FileCalls.preadFully(fd, in.address(), 100, 0));
    }
    FileCalls.close(fd);
  }

  @Test
  void partsOfSegmentsAreChecked() {
    int fd = file("parts");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = arena.allocate(16);
      bytes.set(ValueLayout.JAVA_BYTE, 8, (byte) 42);
      assertEquals(4, FileCalls.pwrite(fd, bytes, 8, 4, 0));
      assertEquals(4, FileCalls.pread(fd, bytes, 12, 4, 0));
      assertEquals(42, bytes.get(ValueLayout.JAVA_BYTE, 12));
      assertThrows(IndexOutOfBoundsException.class, () -> FileCalls.pread(fd, bytes, 12, 5, 0));
      assertThrows(IndexOutOfBoundsException.class, () -> FileCalls.pwrite(fd, bytes, -1, 5, 0));
      assertThrows(
          IllegalArgumentException.class, () -> FileCalls.pread(fd, bytes.asReadOnly(), 0, 1, 0));
      assertThrows(
          IllegalArgumentException.class,
          () -> FileCalls.pwrite(fd, MemorySegment.ofArray(new byte[8]), 0, 1, 0));
      Arena other = Arena.ofConfined();
      MemorySegment dead = other.allocate(8);
      other.close();
      assertThrows(IllegalStateException.class, () -> FileCalls.pread(fd, dead, 0, 8, 0));
    }
    FileCalls.close(fd);
  }

  @Test
  void failuresAreNegatedErrorNumbers() {
    String missing = folder.resolve("missing").toString();
    assertEquals(-Errno.ENOENT, FileCalls.open(missing, FileCalls.O_RDONLY, 0));
    assertEquals(-Errno.ENOTDIR, FileCalls.open("/dev/null/x", FileCalls.O_RDONLY, 0));
    assertThrows(
        IllegalArgumentException.class, () -> FileCalls.open("a\0b", FileCalls.O_RDONLY, 0));
    int fd = file("closed");
    assertEquals(0, FileCalls.close(fd));
    assertEquals(-Errno.EBADF, FileCalls.close(1 << 30));
    assertEquals(-Errno.EBADF, FileCalls.pread(1 << 30, 0, 1, 0));
    assertEquals(-Errno.EBADF, FileCalls.pwrite(1 << 30, 0, 1, 0));
    assertEquals(-Errno.EBADF, FileCalls.preadFully(1 << 30, 0, 1, 0));
    assertEquals(-Errno.EBADF, FileCalls.pwriteFully(1 << 30, 0, 1, 0));
    assertEquals(-Errno.EBADF, FileCalls.fsync(1 << 30));
    assertEquals(-Errno.EBADF, FileCalls.fdatasync(1 << 30));
    assertEquals(-Errno.EBADF, FileCalls.size(1 << 30));
    assertEquals(-Errno.EBADF, FileCalls.ftruncate(1 << 30, 0));
    assertEquals(-Errno.EBADF, FileCalls.fallocate(1 << 30, 0, 0, 1));
    assertEquals(-Errno.EBADF, FileCalls.flock(1 << 30, FileCalls.LOCK_EX));
    int again = file("fault");
    assertEquals(-Errno.EFAULT, FileCalls.pwrite(again, 1, 8, 0));
    assertEquals(-Errno.EINVAL, FileCalls.pread(again, 0, 1, -1));
    FileCalls.close(again);
  }

  @Test
  void fileNamesMayBeNonAscii() {
    String name = folder.resolve("s") + "tücke-\u4e2d";
    int fd = good(FileCalls.open(name, RW, 0600));
    try (var found = Files.list(folder)) {
      assertEquals(1, found.count());
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
    FileCalls.close(fd);
  }

  @Test
  void lengthsAndAllocation() {
    int fd = file("length");
    assertEquals(0, FileCalls.ftruncate(fd, 10_000));
    assertEquals(10_000, FileCalls.size(fd));
    int allocated = FileCalls.fallocate(fd, 0, 0, 1 << 16);
    if (allocated == 0) {
      assertEquals(1 << 16, FileCalls.size(fd));
      assertEquals(0, FileCalls.fallocate(fd, FileCalls.FALLOC_FL_KEEP_SIZE, 1 << 16, 4096));
      assertEquals(1 << 16, FileCalls.size(fd));
    } else {
      assertEquals(-Errno.EOPNOTSUPP, allocated);
    }
    FileCalls.close(fd);
  }

  @Test
  void aLockConflictsWithinTheProcess() {
    String name = folder.resolve("lock").toString();
    int one = good(FileCalls.open(name, RW, 0600));
    int two = good(FileCalls.open(name, RW, 0600));
    assertEquals(0, FileCalls.flock(one, FileCalls.LOCK_EX | FileCalls.LOCK_NB));
    assertEquals(-Errno.EAGAIN, FileCalls.flock(two, FileCalls.LOCK_EX | FileCalls.LOCK_NB));
    assertEquals(-Errno.EAGAIN, FileCalls.flock(two, FileCalls.LOCK_SH | FileCalls.LOCK_NB));
    assertEquals(0, FileCalls.flock(one, FileCalls.LOCK_UN));
    assertEquals(0, FileCalls.flock(two, FileCalls.LOCK_EX | FileCalls.LOCK_NB));
    assertEquals(0, FileCalls.close(two));
    assertEquals(0, FileCalls.flock(one, FileCalls.LOCK_EX | FileCalls.LOCK_NB));
    FileCalls.close(one);
  }

  @Test
  void mapsAdvisesAndUnmapsMemory() {
    long length = 4L << 20;
    long address =
        MemoryCalls.mmap(
            0,
            length,
            MemoryCalls.PROT_READ | MemoryCalls.PROT_WRITE,
            MemoryCalls.MAP_PRIVATE | MemoryCalls.MAP_ANONYMOUS | MemoryCalls.MAP_NORESERVE,
            -1,
            0);
    assertTrue(address > 0, () -> Errno.describe((int) address));
    MemorySegment memory = MemorySegment.ofAddress(address).reinterpret(length);
    assertEquals(0, MemoryCalls.madvise(address, length, MemoryCalls.MADV_DONTFORK));
    assertEquals(0, MemoryCalls.madvise(address, length, MemoryCalls.MADV_DONTDUMP));
    // Kernels older than 5.14 or without transparent huge pages return an error.
    for (int advice : new int[] {MemoryCalls.MADV_HUGEPAGE, MemoryCalls.MADV_POPULATE_WRITE}) {
      int result = MemoryCalls.madvise(address, length, advice);
      assertTrue(result == 0 || result == -Errno.EINVAL, () -> Errno.describe(result));
    }
    memory.set(ValueLayout.JAVA_LONG, 12_288, 7L);
    assertEquals(0, MemoryCalls.madvise(address, length, MemoryCalls.MADV_DONTNEED));
    assertEquals(0L, memory.get(ValueLayout.JAVA_LONG, 12_288));
    assertEquals(0, MemoryCalls.mprotect(address, Libc.pageSize(), MemoryCalls.PROT_NONE));
    int fd = file("protected");
    assertEquals(-Errno.EFAULT, FileCalls.pwrite(fd, address, 8, 0));
    FileCalls.close(fd);
    assertEquals(-Errno.EINVAL, MemoryCalls.madvise(address + 1, length, MemoryCalls.MADV_NORMAL));
    assertEquals(
        -Errno.EBADF,
        MemoryCalls.mmap(0, 4096, MemoryCalls.PROT_READ, MemoryCalls.MAP_PRIVATE, -1, 0));
    assertEquals(0, MemoryCalls.munmap(address, length));
  }

  /** Needs Linux 6.13, where one call may advise several ranges of the calling process. */
  @Test
  void advisesSeveralRangesOfThisProcess() {
    int page = Libc.pageSize();
    int fd = MemoryCalls.pidfdOpen(Libc.getpid());
    if (fd < 0) {
      assertTrue(fd == -Errno.ENOSYS || fd == -Errno.EPERM, () -> Errno.describe(fd));
      return;
    }
    long address =
        MemoryCalls.mmap(
            0,
            4L * page,
            MemoryCalls.PROT_READ | MemoryCalls.PROT_WRITE,
            MemoryCalls.MAP_PRIVATE | MemoryCalls.MAP_ANONYMOUS,
            -1,
            0);
    assertTrue(address > 0, () -> Errno.describe((int) address));
    MemorySegment memory = MemorySegment.ofAddress(address).reinterpret(4L * page);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment vector = arena.allocate(48, 8);
      for (int i = 0; i < 3; i++) {
        memory.set(ValueLayout.JAVA_LONG, (long) i * page, i + 1);
        vector.set(ValueLayout.JAVA_LONG, 16L * i, address + (long) i * page);
        vector.set(ValueLayout.JAVA_LONG, 16L * i + 8, page);
      }
      int advice = MemoryCalls.MADV_DONTNEED;
      long wrong = MemoryCalls.processMadvise(fd, 1, 1, advice);
      assertTrue(wrong < 0, () -> wrong + " bytes of a vector at an invalid address");
      assertTrue(MemoryCalls.processMadvise(1 << 30, vector.address(), 1, advice) < 0);
      // The third range begins in the middle of a page, so two ranges are advised.
      vector.set(ValueLayout.JAVA_LONG, 32, address + 2L * page + 8);
      long done = MemoryCalls.processMadvise(fd, vector.address(), 3, advice);
      if (done < 0) {
        assertTrue(
            done == -Errno.EINVAL || done == -Errno.EPERM || done == -Errno.ENOSYS,
            () -> Errno.describe((int) done));
      } else {
        assertEquals(2L * page, done);
        assertEquals(0, memory.get(ValueLayout.JAVA_LONG, 0));
        assertEquals(0, memory.get(ValueLayout.JAVA_LONG, page));
        assertEquals(
            -Errno.EINVAL, MemoryCalls.processMadvise(fd, vector.address() + 32, 1, advice));
      }
      assertEquals(3, memory.get(ValueLayout.JAVA_LONG, 2L * page));
    }
    assertEquals(0, MemoryCalls.munmap(address, 4L * page));
    assertEquals(0, FileCalls.close(fd));
    assertEquals(-Errno.EINVAL, MemoryCalls.pidfdOpen(-1));
  }

  @Test
  void mapsAFileInMemory() {
    int fd = good(FileCalls.memfdCreate("fovea-test", FileCalls.MFD_CLOEXEC));
    int page = Libc.pageSize();
    assertEquals(0, FileCalls.ftruncate(fd, page));
    int prot = MemoryCalls.PROT_READ | MemoryCalls.PROT_WRITE;
    long a = MemoryCalls.mmap(0, page, prot, MemoryCalls.MAP_SHARED, fd, 0);
    long b = MemoryCalls.mmap(0, page, prot, MemoryCalls.MAP_SHARED, fd, 0);
    MemorySegment.ofAddress(a).reinterpret(page).set(ValueLayout.JAVA_INT, 64, 4711);
    assertEquals(4711, MemorySegment.ofAddress(b).reinterpret(page).get(ValueLayout.JAVA_INT, 64));
    assertEquals(0, MemoryCalls.munmap(a, page));
    assertEquals(0, MemoryCalls.munmap(b, page));
    FileCalls.close(fd);
  }

  @Test
  void anEventfdCounts() {
    int fd = good(EventFd.open(0, EventFd.EFD_CLOEXEC | EventFd.EFD_NONBLOCK));
    assertEquals(-Errno.EAGAIN, EventFd.take(fd));
    assertEquals(0, EventFd.add(fd, 2));
    assertEquals(0, EventFd.add(fd, 3));
    assertEquals(5, EventFd.take(fd));
    assertEquals(-Errno.EAGAIN, EventFd.take(fd));
    FileCalls.close(fd);
  }

  @Test
  void processFacts() {
    assertEquals(ProcessHandle.current().pid(), Libc.getpid());
    assertEquals(1, Integer.bitCount(Libc.pageSize()));
    assertTrue(Libc.rlimit(Libc.RLIMIT_NOFILE) > 0);
    assertTrue(Libc.rlimit(Libc.RLIMIT_MEMLOCK) >= 0);
    assertEquals(-Errno.EINVAL, Libc.rlimit(1000));
  }

  /** More concurrent calls than slots of the first chunk, with different errors. */
  @Test
  void threadsHaveSeparateErrorNumbers() throws InterruptedException {
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
                    case 0 -> FileCalls.pread(1 << 30, 0, 1, 0);
                    case 1 -> FileCalls.pread(fd, 0, 1, -1);
                    default -> FileCalls.pwrite(fd, 1, 8, 0);
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
    FileCalls.close(fd);
  }

  @Test
  void slotsAreAddedWhenAllAreTaken() {
    CallState[] taken = new CallState[3000];
    for (int i = 0; i < taken.length; i++) {
      taken[i] = CallState.acquire();
    }
    assertEquals(taken.length, List.of(taken).stream().distinct().count());
    for (CallState slot : taken) {
      slot.release();
    }
  }

  /** {@link MemoryCalls#membarrier} fails unless the process is registered first. */
  @Test
  void barrierRequiresRegistration() {
    assertEquals(0, MemoryCalls.registerMembarrier());
    assertEquals(0, MemoryCalls.membarrier());
    assertEquals(0, MemoryCalls.registerMembarrier());
    assertEquals(0, MemoryCalls.membarrier());
  }
}
