package io.fovea.io;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.bindings.Availability;
import io.fovea.bindings.Errno;
import io.fovea.bindings.EventFd;
import io.fovea.bindings.FileCalls;
import io.fovea.bindings.Uring;
import io.fovea.config.Io;
import io.fovea.error.StorageException;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Failures of a ring that no healthy kernel or file would cause. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RingPollerTest {
  private static final int BLOCK = DeviceFile.BLOCK;
  private static final DeviceConfig OPTIONS =
      DeviceConfig.defaults().kind(Io.URING).lonePread(false).rings(1, 4);

  @TempDir Path folder;

  @BeforeEach
  void requireRing() {
    assumeTrue(Uring.probe() instanceof Availability.Available);
  }

  /** A libc file with a different descriptor or different properties. */
  abstract static class Wrapped implements RawFile {
    final RawFile real;

    Wrapped(RawFile real) {
      this.real = real;
    }

    @Override
    public long pread(MemorySegment seg, long segOff, long len, long offset) {
      return real.pread(seg, segOff, len, offset);
    }

    @Override
    public long pwrite(MemorySegment seg, long segOff, long len, long offset) {
      return real.pwrite(seg, segOff, len, offset);
    }

    @Override
    public int sync() {
      return real.sync();
    }

    @Override
    public int allocate(long from, long to) {
      return real.allocate(from, to);
    }

    @Override
    public int truncate(long bytes) {
      return real.truncate(bytes);
    }

    @Override
    public long size() {
      return real.size();
    }

    @Override
    public boolean direct() {
      return real.direct();
    }

    @Override
    public boolean disableDirect() {
      return real.disableDirect();
    }

    @Override
    public int fd() {
      return real.fd();
    }

    @Override
    public int close() {
      return real.close();
    }
  }

  private UringDevice open(RawFile raw) {
    IoStats stats = new IoStats();
    DeviceFile file = new DeviceFile(folder.resolve("file"), raw, stats);
    UringDevice device = UringDevice.open(OPTIONS, file, stats, Uring::probe).device();
    assertNotNull(device);
    return device;
  }

  /** An eventfd rejects a value of all ones with EINVAL, like a file system without O_DIRECT. */
  private static final class PretendsDirect extends Wrapped {
    final int refuses = EventFd.open(0, EventFd.EFD_CLOEXEC);
    volatile boolean direct = true;

    PretendsDirect(Path path) {
      super(LibcFile.open(path, true, false));
    }

    @Override
    public boolean direct() {
      return direct;
    }

    @Override
    public boolean disableDirect() {
      direct = false;
      return true;
    }

    @Override
    public int fd() {
      return direct ? refuses : real.fd();
    }

    @Override
    public int close() {
      FileCalls.close(refuses);
      return super.close();
    }
  }

  @Test
  void fallsBackToThePageCache() {
    PretendsDirect raw = new PretendsDirect(folder.resolve("file"));
    try (UringDevice device = open(raw);
        Arena arena = Arena.ofShared()) {
      assertEquals("uring, direct", device.kind());
      MemorySegment seg = arena.allocate(9 * BLOCK, BLOCK);
      seg.fill((byte) -1);
      IoBatch batch = new IoBatch(9);
      for (int i = 0; i < 8; i++) {
        batch.write((long) i * BLOCK, seg, (long) i * BLOCK, BLOCK);
      }
      batch.sync();
      device.run(batch);
      batch.throwIfFailed();
      assertEquals("uring, buffered", device.kind());
      seg.fill((byte) 0);
      device.read(0, seg, BLOCK, 8 * BLOCK);
      assertTrue(Mem.isZero(seg, 0, BLOCK));
      assertEquals(-1, Mem.getLong(seg, 9 * BLOCK - 8));
    }
  }

  /** Throws where the poller does not expect it. */
  static final class Breaks extends Wrapped {
    volatile boolean broken;

    Breaks(Path path) {
      super(LibcFile.open(path, true, true));
    }

    @Override
    public int fd() {
      if (broken) {
        throw new IllegalStateException("broken on purpose");
      }
      return super.fd();
    }
  }

  @Test
  void noThreadWaitsAfterThePollerFails() throws Exception {
    Breaks raw = new Breaks(folder.resolve("file"));
    try (UringDevice device = open(raw);
        Arena arena = Arena.ofShared()) {
      MemorySegment seg = arena.allocate(16 * BLOCK, BLOCK);
      IoBatch batch = new IoBatch(17);
      for (int round = 0; round < 3; round++) {
        batch.clear();
        for (int i = 0; i < 16; i++) {
          batch.write((long) i * BLOCK, seg, (long) i * BLOCK, BLOCK);
        }
        batch.sync();
        device.run(batch);
        if (round == 0) {
          batch.throwIfFailed();
          raw.broken = true;
        } else {
          for (int i = 0; i < 16; i++) {
            assertEquals(Errno.EIO, batch.error(i));
          }
          assertTrue(batch.error(16) != 0);
        }
      }
      assertThrows(StorageException.class, () -> device.read(0, seg, 0, BLOCK));
      Thread virtual =
          Thread.startVirtualThread(
              () -> assertThrows(StorageException.class, () -> device.write(0, seg, 0, BLOCK)));
      virtual.join();
    }
  }
}
