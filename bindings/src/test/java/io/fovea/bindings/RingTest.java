package io.fovea.bindings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** Skipped on machines that deny io_uring. UringTest covers the denial. */
@EnabledIf("available")
class RingTest {
  @TempDir Path folder;
  private Arena arena;
  private Ring ring;
  private int fd;

  static boolean available() {
    return Uring.probe() instanceof Availability.Available;
  }

  @BeforeEach
  void open() {
    arena = Arena.ofConfined();
    ring = Ring.open(8);
    String name = folder.resolve("data").toString();
    fd = FileCalls.open(name, FileCalls.O_RDWR | FileCalls.O_CREAT | FileCalls.O_CLOEXEC, 0600);
    assertTrue(fd >= 0);
  }

  @AfterEach
  void close() {
    ring.close();
    FileCalls.close(fd);
    arena.close();
  }

  /** Submits, waits for {@code count} completions and returns their results by user data. */
  private Map<Long, Integer> finish(int count) {
    Map<Long, Integer> found = new HashMap<>();
    while (found.size() < count) {
      int taken = ring.submitAndWait(count - found.size());
      assertTrue(taken >= 0, () -> Errno.describe(taken));
      int reaped = ring.reap((userData, result) -> found.put(userData, result));
      assertTrue(reaped >= 0, () -> Errno.describe(reaped));
    }
    assertEquals(0, ring.inFlight());
    assertEquals(0, ring.pending());
    return found;
  }

  @Test
  void nopCompletes() {
    assertTrue(ring.nop(-7));
    assertEquals(1, ring.pending());
    assertEquals(1, ring.submit());
    assertEquals(0, ring.pending());
    assertEquals(1, ring.inFlight());
    long[] userData = new long[4];
    int[] results = {9, 9, 9, 9};
    assertEquals(0, ring.submitAndWait(1));
    assertEquals(1, ring.reap(userData, results));
    assertEquals(-7, userData[0]);
    assertEquals(0, results[0]);
    assertEquals(0, ring.reap(userData, results));
    assertEquals(0, ring.inFlight());
  }

  @Test
  void writeSyncAndRead() {
    MemorySegment out = arena.allocate(4096);
    out.fill((byte) 0x5A);
    MemorySegment in = arena.allocate(8192);
    assertTrue(ring.write(fd, out.address(), 4096, 4096, 1));
    assertEquals(Map.of(1L, 4096), finish(1));
    assertTrue(ring.fdatasync(fd, 2));
    assertTrue(ring.fsync(fd, 3));
    assertEquals(Map.of(2L, 0, 3L, 0), finish(2));
    assertTrue(ring.read(fd, in.address(), 4096, 4096, 4));
    assertTrue(ring.read(fd, in.address() + 4096, 4096, 8000, 5));
    assertTrue(ring.read(fd, in.address() + 4096, 4096, 8192, 6));
    assertEquals(Map.of(4L, 4096, 5L, 192, 6L, 0), finish(3));
    assertEquals(-1, out.mismatch(in.asSlice(0, 4096)));
  }

  @Test
  void failuresAreNegatedErrorNumbers() {
    MemorySegment in = arena.allocate(64);
    assertTrue(ring.read(1 << 30, in.address(), 64, 0, 1));
    assertTrue(ring.write(-1, in.address(), 64, 0, 2));
    assertTrue(ring.write(fd, 1, 64, 0, 3));
    assertTrue(ring.fsync(Ring.registeredFile(0), 4));
    assertEquals(
        Map.of(1L, -Errno.EBADF, 2L, -Errno.EBADF, 3L, -Errno.EFAULT, 4L, -Errno.EBADF), finish(4));
    assertThrows(IndexOutOfBoundsException.class, () -> Ring.registeredFile(-1));
  }

  @Test
  void linkedRequestsKeepTheirOrder() {
    MemorySegment bytes = arena.allocate(512);
    assertThrows(IllegalStateException.class, ring::linkNext);
    ring.write(fd, bytes.address(), 512, 0, 1);
    ring.linkNext();
    ring.fdatasync(fd, 2);
    assertEquals(Map.of(1L, 512, 2L, 0), finish(2));
    ring.write(1 << 30, bytes.address(), 512, 0, 3);
    ring.linkNext();
    ring.fdatasync(fd, 4);
    assertEquals(Map.of(3L, -Errno.EBADF, 4L, -Errno.ECANCELED), finish(2));
  }

  @Test
  void fullQueueIsReported() {
    int entries = ring.entries();
    for (int i = 0; i < entries; i++) {
      assertTrue(ring.nop(i));
    }
    assertFalse(ring.nop(99));
    assertEquals(entries, ring.pending());
    Map<Long, Integer> found = finish(entries);
    assertFalse(found.containsKey(99L));
    assertTrue(ring.nop(99));
    assertEquals(Map.of(99L, 0), finish(1));
  }

  /**
   * Wraps around both queues, with more completions outstanding than the completion queue holds.
   */
  @Test
  void moreRequestsThanEntries() {
    int total = 100_000;
    int sent = 0;
    int expected = 0;
    long[] userData = new long[5];
    int[] results = new int[5];
    boolean[] seen = new boolean[total];
    while (expected < total) {
      while (sent < total && ring.inFlight() < 40 && ring.nop(sent)) {
        sent++;
        if (ring.pending() == ring.entries()) {
          int taken = ring.submit();
          assertTrue(taken >= 0 || taken == -Errno.EBUSY || taken == -Errno.EAGAIN);
          if (taken < 0) {
            break;
          }
        }
      }
      int taken = ring.submitAndWait(1);
      assertTrue(taken >= 0 || taken == -Errno.EBUSY || taken == -Errno.EAGAIN);
      for (int n; (n = ring.reap(userData, results)) != 0; ) {
        assertTrue(n > 0);
        for (int i = 0; i < n; i++) {
          assertFalse(seen[(int) userData[i]]);
          seen[(int) userData[i]] = true;
          assertEquals(0, results[i]);
          expected++;
        }
      }
    }
    assertEquals(0, ring.inFlight());
  }

  @Test
  void registeredFilesAndBuffers() {
    MemorySegment buffers = arena.allocate(8192, 4096);
    buffers.asSlice(0, 4096).fill((byte) 17);
    long a = buffers.address();
    assertEquals(0, ring.registerBuffers(new long[] {a, a + 4096}, new long[] {4096, 4096}));
    assertEquals(0, ring.registerFiles(-1, fd));
    int file = Ring.registeredFile(1);
    assertTrue(ring.writeFixed(file, a, 4096, 0, 0, 1));
    assertEquals(Map.of(1L, 4096), finish(1));
    assertTrue(ring.readFixed(file, a + 4096, 4096, 0, 1, 2));
    assertTrue(ring.readFixed(file, a, 4096, 0, 1, 3)); // outside buffer 1
    assertTrue(ring.fdatasync(file, 4));
    assertEquals(Map.of(2L, 4096, 3L, -Errno.EFAULT, 4L, 0), finish(3));
    assertEquals(-1, buffers.asSlice(0, 4096).mismatch(buffers.asSlice(4096, 4096)));
    assertEquals(0, ring.updateFile(0, fd));
    assertTrue(ring.read(Ring.registeredFile(0), a, 100, 0, 5));
    assertEquals(Map.of(5L, 100), finish(1));
    assertEquals(0, ring.unregisterFiles());
    assertEquals(0, ring.unregisterBuffers());
    assertTrue(ring.unregisterFiles() < 0);
    assertThrows(
        IllegalArgumentException.class, () -> ring.registerBuffers(new long[1], new long[2]));
  }

  @Test
  void waitTimesOut() {
    int event = EventFd.open(0, EventFd.EFD_CLOEXEC);
    MemorySegment count = arena.allocate(ValueLayout.JAVA_LONG);
    assertTrue(ring.read(event, count.address(), 8, 0, 1));
    assertEquals(1, ring.submitAndWait(1, 2_000_000));
    assertEquals(0, ring.reap((userData, result) -> {}));
    assertEquals(0, ring.submitAndWait(1, 0));
    assertEquals(1, ring.inFlight());
    assertEquals(0, EventFd.add(event, 3));
    assertEquals(Map.of(1L, 8), finish(1));
    assertEquals(3, count.get(ValueLayout.JAVA_LONG, 0));
    FileCalls.close(event);
  }

  @Test
  void anotherThreadWakesTheOwner() throws InterruptedException {
    int event = EventFd.open(0, EventFd.EFD_CLOEXEC);
    MemorySegment count = arena.allocate(ValueLayout.JAVA_LONG);
    assertTrue(ring.read(event, count.address(), 8, 0, 1));
    Thread waker = Thread.ofVirtual().start(() -> EventFd.add(event, 1));
    assertEquals(Map.of(1L, 8), finish(1));
    waker.join();
    FileCalls.close(event);
  }

  /** A wait for more completions than can arrive returns. */
  @Test
  void waitWithoutRequestsReturns() {
    assertEquals(0, ring.submitAndWait(5));
    ring.nop(1);
    assertEquals(1, ring.submitAndWait(1000));
    assertEquals(1, ring.reap((userData, result) -> {}));
  }

  @Test
  void aHandlerMayAddRequestsAndThrow() {
    ring.nop(1);
    ring.nop(2);
    ring.submitAndWait(2);
    int[] calls = {0};
    assertThrows(
        ArithmeticException.class,
        () ->
            ring.reap(
                (userData, result) -> {
                  calls[0]++;
                  assertTrue(ring.nop(3));
                  throw new ArithmeticException();
                }));
    assertEquals(1, calls[0]);
    assertEquals(1, ring.inFlight());
    Map<Long, Integer> rest = finish(2);
    assertEquals(Map.of(2L, 0, 3L, 0), rest);
  }

  @Test
  void closeDropsCancelsAndWaits() {
    int event = EventFd.open(0, EventFd.EFD_CLOEXEC);
    MemorySegment memory = arena.allocate(8192, 4096);
    Ring other = Ring.open(4);
    assertTrue(other.read(event, memory.address(), 8, 0, 1)); // would never complete
    assertEquals(1, other.submit());
    assertTrue(other.write(fd, memory.address(), 4096, 0, 2)); // never submitted
    other.close();
    assertEquals(0, FileCalls.size(fd));
    other.close();
    FileCalls.close(event);
  }

  @Test
  void closedRingThrows() {
    Ring other = Ring.open(4);
    other.close();
    assertThrows(RingClosedException.class, () -> other.nop(1));
    assertThrows(RingClosedException.class, () -> other.read(fd, 0, 1, 0, 1));
    assertThrows(RingClosedException.class, () -> other.write(fd, 0, 1, 0, 1));
    assertThrows(RingClosedException.class, () -> other.readFixed(fd, 0, 1, 0, 0, 1));
    assertThrows(RingClosedException.class, () -> other.writeFixed(fd, 0, 1, 0, 0, 1));
    assertThrows(RingClosedException.class, () -> other.fsync(fd, 1));
    assertThrows(RingClosedException.class, () -> other.fdatasync(fd, 1));
    assertThrows(RingClosedException.class, other::linkNext);
    assertThrows(RingClosedException.class, other::submit);
    assertThrows(RingClosedException.class, () -> other.submitAndWait(1));
    assertThrows(RingClosedException.class, () -> other.submitAndWait(1, 1));
    assertThrows(RingClosedException.class, () -> other.reap(new long[1], new int[1]));
    assertThrows(RingClosedException.class, () -> other.reap((userData, result) -> {}));
    assertThrows(RingClosedException.class, () -> other.registerFiles(fd));
    assertThrows(RingClosedException.class, () -> other.updateFile(0, fd));
    assertThrows(RingClosedException.class, other::unregisterFiles);
    assertThrows(RingClosedException.class, () -> other.registerBuffers(new long[1], new long[1]));
    assertThrows(RingClosedException.class, other::unregisterBuffers);
    assertThrows(RingClosedException.class, other::pending);
    assertThrows(RingClosedException.class, other::inFlight);
    assertThrows(RingClosedException.class, other::entries);
    assertThrows(RingClosedException.class, other::completionEntries);
  }

  @Test
  void onlyTheOwnerMayUseIt() throws InterruptedException {
    AtomicReference<Throwable> used = new AtomicReference<>();
    AtomicReference<Throwable> closed = new AtomicReference<>();
    Thread thread =
        Thread.ofPlatform()
            .start(
                () -> {
                  used.set(assertThrows(Throwable.class, () -> ring.nop(1)));
                  closed.set(assertThrows(Throwable.class, ring::close));
                });
    thread.join();
    assertInstanceOf(WrongThreadException.class, used.get());
    assertInstanceOf(WrongThreadException.class, closed.get());
    assertTrue(ring.nop(1));
    assertEquals(Map.of(1L, 0), finish(1));
    AtomicReference<Throwable> virtual = new AtomicReference<>();
    Thread.ofVirtual()
        .start(() -> virtual.set(assertThrows(Throwable.class, () -> Ring.open(4))))
        .join();
    assertInstanceOf(IllegalStateException.class, virtual.get());
  }

  @Test
  void setUp() {
    assertEquals(8, ring.entries());
    assertEquals(16, ring.completionEntries());
    assertTrue(ring.features() != 0);
    try (Ring other = Ring.open(5, 64, 0)) {
      assertEquals(8, other.entries());
      assertEquals(64, other.completionEntries());
      other.nop(1);
      assertEquals(1, other.submitAndWait(1));
      assertEquals(1, other.reap((userData, result) -> {}));
    }
    assertThrows(IllegalArgumentException.class, () -> Ring.open(0));
    assertThrows(IllegalArgumentException.class, () -> Ring.open(1 << 20));
    NativeException refused =
        assertThrows(NativeException.class, () -> Ring.open(4, 0, 0x4000_0000));
    assertEquals(Errno.EINVAL, refused.errno());
    assertEquals("io_uring_queue_init_params", refused.call());
    assertTrue(refused.getMessage().contains("EINVAL (22, Invalid argument)"));
  }
}
