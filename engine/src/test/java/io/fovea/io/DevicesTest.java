package io.fovea.io;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.bindings.Availability;
import io.fovea.bindings.Errno;
import io.fovea.bindings.Uring;
import io.fovea.config.Io;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which device is chosen, and how errors of the operating system are reported. */
class DevicesTest {
  private static final int BLOCK = 4096;

  @TempDir Path folder;

  @Test
  void choosesTheRingIfAvailable() {
    boolean available = Uring.probe() instanceof Availability.Available;
    for (Io kind : new Io[] {Io.AUTO, Io.URING}) {
      try (BlockDevice device =
          Devices.open(folder.resolve("file"), DeviceConfig.defaults().kind(kind))) {
        assertTrue(device.kind().startsWith(available ? "uring" : "posix"), device.kind());
      }
    }
    try (BlockDevice device =
        Devices.open(folder.resolve("file"), DeviceConfig.defaults().kind(Io.POSIX))) {
      assertTrue(device.kind().startsWith("posix"), device.kind());
    }
  }

  /** Verifying a truncated file requires its true length, on every device. */
  @Test
  void reportsAnyFileLength() throws Exception {
    Path file = folder.resolve("cut");
    for (int length : new int[] {0, 1, BLOCK - 1, BLOCK, BLOCK + 20, 3 * BLOCK - 1}) {
      byte[] bytes = new byte[length];
      Arrays.fill(bytes, (byte) 7);
      Files.write(file, bytes);
      try (OverlayStorage storage = new OverlayStorage(file);
          BlockDevice device = storage.open("");
          Arena arena = Arena.ofShared()) {
        assertEquals(length, device.size());
        MemorySegment seg = arena.allocate(4 * BLOCK, BLOCK);
        seg.fill((byte) 1);
        device.read(0, seg, 0, 4 * BLOCK);
        for (int i = 0; i < 4 * BLOCK; i++) {
          byte expected = i < length ? (byte) 7 : 0;
          assertEquals(expected, seg.get(ValueLayout.JAVA_BYTE, i));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Io.class,
      names = {"URING", "POSIX"})
  void reportsFilesThatCannotBeOpened(Io kind) {
    DeviceConfig options = DeviceConfig.defaults().kind(kind).create(false);
    StorageException e =
        assertThrows(
            StorageException.class, () -> Devices.open(folder.resolve("missing"), options));
    assertEquals(Errno.ENOENT, e.errno());
    assertEquals("open", e.operation());
    assertTrue(e.getMessage().contains("ENOENT"), e.getMessage());
    e =
        assertThrows(
            StorageException.class, () -> Devices.open(folder, DeviceConfig.defaults().kind(kind)));
    assertEquals(Errno.EISDIR, e.errno());
  }

  @ParameterizedTest
  @EnumSource(
      value = Io.class,
      names = {"URING", "POSIX"})
  void distinguishesFullDisksFromFailedOnes(Io kind) {
    Path full = Path.of("/dev/full");
    assumeTrue(Files.exists(full));
    DeviceConfig options =
        DeviceConfig.defaults().kind(kind).direct(false).create(false).lonePread(false);
    try (BlockDevice device = Devices.open(full, options);
        Arena arena = Arena.ofShared()) {
      MemorySegment seg = arena.allocate(BLOCK, BLOCK);
      assertThrows(StorageFullException.class, () -> device.write(0, seg, 0, BLOCK));
      IoBatch batch = new IoBatch(3);
      batch.read(0, seg, 0, BLOCK);
      batch.write(BLOCK, seg, 0, BLOCK);
      batch.sync();
      device.run(batch);
      assertEquals(0, batch.error(0));
      assertEquals(Errno.ENOSPC, batch.error(1));
      assertEquals(Errno.ECANCELED, batch.error(2));
      StorageFullException e = assertThrows(StorageFullException.class, batch::throwIfFailed);
      assertEquals(2 * BLOCK, e.bytesRequested());
      assertEquals(2, device.stats().errors(IoOp.WRITE));
      // A device file cannot be truncated.
      assertThrows(StorageException.class, () -> device.resize(BLOCK));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {Errno.EPERM, Errno.ENOSYS, Errno.ENOMEM})
  void fallsBackIfTheRingIsDenied(int errno) {
    Logger logger = Logger.getLogger("io.fovea.io");
    List<LogRecord> lines = new CopyOnWriteArrayList<>();
    Handler handler =
        new Handler() {
          @Override
          public void publish(LogRecord line) {
            // Other tests of this JVM may open files.
            if (line.getMessage().contains(folder.toString())) {
              lines.add(line);
            }
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    logger.addHandler(handler);
    logger.setUseParentHandlers(false);
    logger.setLevel(Level.INFO); // other tests silence the engine
    try {
      for (Io kind : new Io[] {Io.AUTO, Io.URING}) {
        lines.clear();
        DeviceConfig options = DeviceConfig.defaults().kind(kind);
        try (BlockDevice device =
                Devices.open(
                    folder.resolve("file"),
                    options,
                    () -> new Availability.Unavailable("denied", errno));
            Arena arena = Arena.ofConfined()) {
          assertTrue(device.kind().startsWith("posix"), device.kind());
          MemorySegment seg = arena.allocate(BLOCK, BLOCK);
          device.write(0, seg, 0, BLOCK);
          IoBatch batch = new IoBatch(2);
          batch.read(0, seg, 0, BLOCK);
          batch.sync();
          device.run(batch);
          batch.throwIfFailed();
        }
        assertEquals(1, lines.size(), "one line in the log");
        assertEquals(kind == Io.AUTO ? Level.INFO : Level.WARNING, lines.get(0).getLevel());
        assertTrue(lines.get(0).getMessage().contains(Errno.name(errno)));
      }
    } finally {
      logger.setLevel(null);
      logger.removeHandler(handler);
      logger.setUseParentHandlers(true);
    }
  }

  @Test
  void memoryIsFullAtItsLimit() {
    try (MemoryDevice device = new MemoryDevice("small", BLOCK, 4 * BLOCK);
        Arena arena = Arena.ofConfined()) {
      MemorySegment seg = arena.allocate(BLOCK, BLOCK);
      device.write(3 * BLOCK, seg, 0, BLOCK);
      assertThrows(StorageFullException.class, () -> device.write(4 * BLOCK, seg, 0, BLOCK));
      assertThrows(StorageFullException.class, () -> device.resize(5 * BLOCK));
      device.write(0, seg, 0, BLOCK);
    }
  }
}
