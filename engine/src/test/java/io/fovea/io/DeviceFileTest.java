package io.fovea.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.bindings.Errno;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** Complete transfers over a file that does everything the manual pages allow. */
class DeviceFileTest {
  private static final int BLOCK = DeviceFile.BLOCK;

  /** Short transfers, signals, a partial last block, and O_DIRECT that fails late. */
  private static final class UnreliableFile implements RawFile {
    final Random random;
    byte[] content = new byte[0];
    boolean direct;
    boolean refusesDirect;
    int fd = 1;
    int failReads;
    int failWrites;
    boolean stuck;
    boolean durable;
    int durableWrites;
    int syncs;
    int failSyncs;

    UnreliableFile(long seed, boolean direct) {
      this.random = new Random(seed);
      this.direct = direct;
    }

    private int trouble(MemorySegment seg, long segOff, long len, long offset) {
      if (direct && (refusesDirect || ((seg.address() + segOff | len | offset) & BLOCK - 1) != 0)) {
        return Errno.EINVAL;
      }
      return random.nextInt(5) == 0 ? random.nextBoolean() ? Errno.EINTR : Errno.EAGAIN : 0;
    }

    private int some(long len) {
      if (stuck) {
        return 0;
      }
      return random.nextInt(4) == 0 ? 1 + random.nextInt((int) len) : (int) len;
    }

    @Override
    public long pread(MemorySegment seg, long segOff, long len, long offset) {
      int errno = failReads != 0 ? failReads : trouble(seg, segOff, len, offset);
      if (errno != 0) {
        return -errno;
      }
      if (offset >= content.length) {
        return 0;
      }
      int n = (int) Math.min(some(len), content.length - offset);
      MemorySegment.copy(content, (int) offset, seg, ValueLayout.JAVA_BYTE, segOff, n);
      return n;
    }

    @Override
    public long pwrite(MemorySegment seg, long segOff, long len, long offset) {
      int errno = failWrites != 0 ? failWrites : trouble(seg, segOff, len, offset);
      if (errno != 0) {
        return -errno;
      }
      int n = some(len);
      if (offset + n > content.length) {
        content = Arrays.copyOf(content, (int) offset + n);
      }
      MemorySegment.copy(seg, ValueLayout.JAVA_BYTE, segOff, content, (int) offset, n);
      return n;
    }

    @Override
    public boolean writesDurably() {
      return durable;
    }

    @Override
    public long pwriteDurably(MemorySegment seg, long segOff, long len, long offset) {
      long n = pwrite(seg, segOff, len, offset);
      durableWrites += n == len ? 1 : 0;
      return n;
    }

    @Override
    public int sync() {
      syncs++;
      return -failSyncs;
    }

    @Override
    public int allocate(long from, long to) {
      content = Arrays.copyOf(content, (int) to);
      return 0;
    }

    @Override
    public int truncate(long bytes) {
      content = Arrays.copyOf(content, (int) bytes);
      return 0;
    }

    @Override
    public long size() {
      return content.length;
    }

    @Override
    public boolean direct() {
      return direct;
    }

    @Override
    public boolean disableDirect() {
      direct = false;
      fd = 2;
      return true;
    }

    @Override
    public int fd() {
      return fd;
    }

    @Override
    public int close() {
      return 0;
    }
  }

  private static DeviceFile over(UnreliableFile raw) {
    return new DeviceFile(Path.of("fickle"), raw, new IoStats());
  }

  @Property(tries = 200)
  void finishesShortTransfers(@ForAll long seed, @ForAll boolean direct) {
    UnreliableFile raw = new UnreliableFile(seed, direct);
    // A partial last block, which only files that are not databases have.
    raw.content = new byte[raw.random.nextInt(3 * BLOCK)];
    raw.random.nextBytes(raw.content);
    DeviceFile file = over(raw);
    byte[] model = Arrays.copyOf(raw.content, 32 * BLOCK);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment seg = arena.allocate(9 * BLOCK, BLOCK);
      for (int i = 0; i < 40; i++) {
        int len = (1 + raw.random.nextInt(8)) * BLOCK;
        int offset = raw.random.nextInt(24) * BLOCK;
        int segOff = raw.random.nextInt(4) == 0 ? 1 + raw.random.nextInt(BLOCK - 1) : 0;
        if (raw.random.nextBoolean()) {
          byte[] bytes = new byte[len];
          raw.random.nextBytes(bytes);
          MemorySegment.copy(bytes, 0, seg, ValueLayout.JAVA_BYTE, segOff, len);
          assertEquals(0, file.write(offset, seg, segOff, len));
          System.arraycopy(bytes, 0, model, offset, len);
        } else {
          seg.fill((byte) 0x55);
          assertEquals(0, file.read(offset, seg, segOff, len));
          assertArrayEquals(
              Arrays.copyOfRange(model, offset, offset + len),
              seg.asSlice(segOff, len).toArray(ValueLayout.JAVA_BYTE));
        }
      }
    }
  }

  @Test
  void usesThePageCacheIfDirectTransfersAreRefused() {
    UnreliableFile raw = new UnreliableFile(1, true);
    raw.refusesDirect = true;
    DeviceFile file = over(raw);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment seg = arena.allocate(BLOCK, BLOCK);
      assertEquals(0, file.write(0, seg, 0, BLOCK));
      assertFalse(raw.direct);
      assertEquals(0, file.read(0, seg, 0, BLOCK));
      assertTrue(file.worthAnother(Errno.EINVAL, 1), "another thread failed before");
      assertFalse(file.worthAnother(Errno.EINVAL, 2), "O_DIRECT is not the cause");
    }
  }

  @Test
  void endsWithoutProgress() {
    UnreliableFile raw = new UnreliableFile(1, false);
    DeviceFile file = over(raw);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment seg = arena.allocate(BLOCK, BLOCK);
      raw.failReads = Errno.EINTR;
      assertEquals(Errno.EINTR, file.read(0, seg, 0, BLOCK));
      raw.failReads = Errno.EIO;
      assertEquals(Errno.EIO, file.read(0, seg, 0, BLOCK));
      raw.failWrites = Errno.ENOSPC;
      assertEquals(Errno.ENOSPC, file.write(0, seg, 0, BLOCK));
      assertEquals(0, file.size());
      raw.failWrites = 0;
      raw.stuck = true;
      assertEquals(Errno.EIO, file.write(0, seg, 0, BLOCK));
    }
  }

  private static IoBatch group(PosixDevice device, MemorySegment memory) {
    IoBatch batch = new IoBatch(2);
    batch.write(0, memory, 0, BLOCK);
    batch.sync();
    device.run(batch);
    return batch;
  }

  /** A durable write is not a sync: it may replace one only if no earlier write needs the sync. */
  @Test
  void aDurableWriteReplacesASyncThatNoOtherWriteNeeds() {
    UnreliableFile raw = new UnreliableFile(7, true);
    raw.durable = true;
    IoStats stats = new IoStats();
    try (PosixDevice device =
        new PosixDevice(
            DeviceConfig.defaults(), new DeviceFile(Path.of("fickle"), raw, stats), stats)) {
      MemorySegment memory = Arena.ofAuto().allocate(BLOCK, BLOCK);
      group(device, memory).throwIfFailed(); // writes from before the opening may need it
      assertEquals(1, raw.syncs);
      group(device, memory).throwIfFailed();
      group(device, memory).throwIfFailed();
      assertEquals(1, raw.syncs);
      device.write(BLOCK, memory, 0, BLOCK);
      group(device, memory).throwIfFailed();
      assertEquals(2, raw.syncs);
      device.resize(8 * BLOCK);
      raw.failSyncs = Errno.EIO;
      assertEquals(Errno.EIO, group(device, memory).error(1));
      raw.failSyncs = 0;
      group(device, memory).throwIfFailed(); // the writes of the failed sync still need it
      assertEquals(4, raw.syncs);
      group(device, memory).throwIfFailed();
      assertEquals(4, raw.syncs);
      assertTrue(raw.durableWrites >= 3, raw.durableWrites + " durable writes");
      raw.failWrites = Errno.EIO;
      IoBatch failed = group(device, memory);
      assertEquals(Errno.EIO, failed.error(0));
      assertEquals(Errno.ECANCELED, failed.error(1));
    }
  }
}
