package io.fovea.support;

import io.fovea.bindings.Errno;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.io.AbstractBlockDevice;
import io.fovea.io.BlockDevice;
import io.fovea.io.IoBatch;
import io.fovea.io.IoOp;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntSupplier;

/**
 * A device that fulfills only the minimum of the contract. It wraps another device, is slow,
 * completes operations in any order, concurrently, on its own threads, and fails some of them.
 *
 * <pre>
 *   read, write, submit ──► random delay       ──► the device below ──► done
 *                           (UnreliableDeviceState: threads)└─► sometimes instead: EIO, ENOSPC
 * </pre>
 *
 * <p>A failed read leaves garbage in the memory, and a failed write in half of its sectors. The
 * next attempt at the same offset succeeds. Syncs and resizes don't fail. Waiting for an operation
 * parks the thread, and does not pin a virtual one.
 */
public final class UnreliableDevice extends AbstractBlockDevice {
  private static final byte RUBBISH = (byte) 0xDB;
  private static final int SECTOR = 512;

  private final BlockDevice below;
  private final UnreliableDeviceState deviceState;
  private final boolean mayFail;

  UnreliableDevice(
      BlockDevice below, String name, UnreliableDeviceState deviceState, boolean mayFail) {
    super(name, below.blockSize());
    this.below = below;
    this.deviceState = deviceState;
    this.mayFail = mayFail;
  }

  @Override
  public long size() {
    return below.size();
  }

  @Override
  public String kind() {
    return "unreliable, " + below.kind();
  }

  @Override
  protected int readNow(long offset, MemorySegment seg, long segOff, int len) {
    MemorySegment memory = memory(seg, segOff, len);
    return await(
        () -> {
          if (fails(IoOp.READ, offset) != 0) {
            memory.fill(RUBBISH);
            return Errno.EIO;
          }
          below.read(offset, memory, 0, len);
          return 0;
        });
  }

  @Override
  protected int writeNow(long offset, MemorySegment seg, long segOff, int len) {
    MemorySegment memory = memory(seg, segOff, len);
    return await(
        () -> {
          long failure = fails(IoOp.WRITE, offset);
          if (failure != 0) {
            tear(offset, memory);
            return failure % 2 == 0 ? Errno.ENOSPC : Errno.EIO;
          }
          below.write(offset, memory, 0, len);
          return 0;
        });
  }

  @Override
  protected int syncNow() {
    return await(
        () -> {
          below.sync();
          return 0;
        });
  }

  @Override
  protected int resizeNow(long bytes) {
    return await(
        () -> {
          below.resize(bytes);
          return 0;
        });
  }

  @Override
  protected int punchNow(long offset, int len) {
    return await(() -> below.punch(offset, len) ? 0 : Errno.EOPNOTSUPP);
  }

  @Override
  protected int reserveNow(long offset, int len) {
    return await(() -> below.reserve(offset, len) ? 0 : Errno.EOPNOTSUPP);
  }

  @Override
  protected void closeNow() {
    below.close();
  }

  @Override
  public void submit(IoBatch batch) {
    if (!deviceState.delays()) {
      super.submit(batch);
      return;
    }
    accept(batch);
    // Read before the last entry completes, after which the owner may reuse the batch.
    int size = batch.size();
    boolean sync = batch.endsWithSync();
    int entries = sync && size > 1 ? size - 1 : size;
    for (int i = 0; i < entries; i++) {
      int entry = i;
      deviceState.later(
          () -> {
            if (finish(batch, entry, perform(batch, entry)) == 1 && sync) {
              deviceState.later(() -> finish(batch, size - 1, perform(batch, size - 1)));
            }
          });
    }
  }

  /**
   * Returns memory that any thread may access, even for a confined arena; the waiter keeps it
   * alive.
   */
  private static MemorySegment memory(MemorySegment seg, long segOff, int len) {
    return Mem.isRaw()
        ? MemorySegment.ofAddress(seg.address() + segOff).reinterpret(len)
        : seg.asSlice(segOff, len);
  }

  private long fails(IoOp op, long offset) {
    return mayFail ? deviceState.fails(this, op, offset) : 0;
  }

  /** Runs an operation on a worker thread after a delay, and waits; workers run it directly. */
  private int await(IntSupplier operation) {
    if (!deviceState.delays() || Thread.currentThread() instanceof UnreliableDeviceState.Worker) {
      return errno(operation);
    }
    CompletableFuture<Integer> done = new CompletableFuture<>();
    deviceState.later(() -> done.complete(errno(operation)));
    return done.join(); // an interrupt does not end the wait; its flag is preserved
  }

  private static int errno(IntSupplier operation) {
    try {
      return operation.getAsInt();
    } catch (StorageFullException e) {
      return Errno.ENOSPC;
    } catch (StorageException e) {
      return e.errno() == 0 ? Errno.EIO : e.errno();
    } catch (RuntimeException | Error e) {
      // A waiter must never hang.
      System.getLogger("io.fovea.io").log(System.Logger.Level.ERROR, "A device used by a test", e);
      return Errno.EIO;
    }
  }

  /** Writes every other sector, and garbage in between. */
  private void tear(long offset, MemorySegment memory) {
    byte[] torn = memory.toArray(ValueLayout.JAVA_BYTE);
    for (int at = 0; at < torn.length; at += 2 * SECTOR) {
      Arrays.fill(torn, at, Math.min(torn.length, at + SECTOR), RUBBISH);
    }
    try (Arena arena = Arena.ofShared()) {
      MemorySegment copy = arena.allocate(torn.length, 4096);
      MemorySegment.copy(torn, 0, copy, ValueLayout.JAVA_BYTE, 0, torn.length);
      below.write(offset, copy, 0, torn.length);
    }
  }
}
