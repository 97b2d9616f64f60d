package io.fovea.bindings;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * Native scratch memory for one call: errno, and one long for small arguments.
 *
 * <p>The linker needs a segment to write errno to. An arena per call would be slow, and a
 * ThreadLocal would leak one segment per virtual thread, so slots come from a small striped cache:
 * a thread starts at the slot that its id selects and takes the first free one by compare-and-set.
 * A slot belongs to the call that acquired it, not to a thread or carrier.
 *
 * <p>If all slots of a chunk are taken, another chunk is allocated. Chunks are never freed. Their
 * number is bounded by the number of concurrent calls into the kernel, which is at most the number
 * of the process's kernel threads.
 *
 * <p>Memory order: {@link #acquire()} sets {@code busy} from 0 to 1 by compare-and-set; its partner
 * is the release store of 0 in {@link #release()}. Forbidden: the next owner's call writes errno
 * before the last owner has read it.
 */
final class CallState {
  private static final StructLayout LAYOUT = Linker.Option.captureStateLayout();
  private static final long ERRNO = LAYOUT.byteOffset(PathElement.groupElement("errno"));
  private static final long LINE = 64;
  private static final VarHandle BUSY;
  private static final Chunk FIRST;

  static {
    try {
      BUSY = MethodHandles.lookup().findVarHandle(CallState.class, "busy", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
    int wanted = Math.clamp(4L * Runtime.getRuntime().availableProcessors(), 16, 1024);
    FIRST = new Chunk(Integer.highestOneBit(wanted - 1) << 1);
  }

  final MemorySegment captured;

  /** Space for one long. */
  final MemorySegment scratch;

  private volatile int busy;

  /** Padding: each busy word has a cache line to itself. */
  @SuppressWarnings("unused")
  private long p0, p1, p2, p3, p4, p5, p6;

  private CallState(MemorySegment line) {
    captured = line.asSlice(0, LAYOUT);
    scratch = line.asSlice(LINE / 2, ValueLayout.JAVA_LONG);
  }

  /** Returns a slot, to be released by {@link #release()}. Any thread. */
  static CallState acquire() {
    long id = Thread.currentThread().threadId();
    int start = (int) ((id * 0x9E3779B97F4A7C15L) >>> 32);
    for (Chunk chunk = FIRST; ; chunk = chunk.next()) {
      CallState[] slots = chunk.slots;
      int mask = slots.length - 1;
      for (int i = 0; i <= mask; i++) {
        CallState slot = slots[(start + i) & mask];
        if (slot.busy == 0 && BUSY.compareAndSet(slot, 0, 1)) {
          return slot;
        }
      }
    }
  }

  /** Releases the slot. Called by its owner only. */
  void release() {
    BUSY.setRelease(this, 0);
  }

  /** Returns the error number of the last call. Meaningful only if that call failed. */
  int errno() {
    return captured.get(ValueLayout.JAVA_INT, ERRNO);
  }

  private static final class Chunk {
    final CallState[] slots;
    private volatile @Nullable Chunk next;

    Chunk(int size) {
      MemorySegment lines = Arena.global().allocate(size * LINE, LINE);
      slots = new CallState[size];
      for (int i = 0; i < size; i++) {
        slots[i] = new CallState(lines.asSlice(i * LINE, LINE));
      }
    }

    Chunk next() {
      Chunk n = next;
      return n != null ? n : grow();
    }

    private synchronized Chunk grow() {
      Chunk n = next;
      if (n == null) {
        n = new Chunk(slots.length);
        next = n;
      }
      return n;
    }
  }
}
