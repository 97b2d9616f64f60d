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
 * Native scratch memory for one call: where the linker leaves errno, and one long for small
 * arguments.
 *
 * <p>The linker wants a segment to write errno to. Allocating one per call costs an arena (about as
 * much as the read of a cached page); a ThreadLocal leaks one per virtual thread, of which there
 * may be millions. So slots come from a small striped cache: a thread starts at a slot that its id
 * picks and takes the first that is free, by one compare-and-set. A slot belongs to whoever took
 * it, not to a thread, so it does not matter on which carrier a virtual thread goes on.
 *
 * <p>Where all slots of a chunk are in use the next chunk is made; chunks are never freed. The
 * number of slots is therefore bounded by the number of calls that are in the kernel at once, which
 * is at most the number of the process's kernel threads.
 *
 * <p>Memory order: {@link #acquire()} takes {@code busy} from 0 to 1 by compare-and-set, {@link
 * #release()} sets it back to 0 with release semantics; the pair forbids that the next owner's call
 * writes errno before the last owner has read it.
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

  /** Where the linker writes errno. */
  final MemorySegment captured;

  /** One long. */
  final MemorySegment scratch;

  private volatile int busy;

  /** Keep the busy words of neighbours on lines of their own. */
  @SuppressWarnings("unused")
  private long p0, p1, p2, p3, p4, p5, p6;

  private CallState(MemorySegment line) {
    captured = line.asSlice(0, LAYOUT);
    scratch = line.asSlice(LINE / 2, ValueLayout.JAVA_LONG);
  }

  /** A slot that is the caller's until {@link #release()}. Any thread. */
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

  /** Gives the slot back; its owner only. */
  void release() {
    BUSY.setRelease(this, 0);
  }

  /** The error number that the last call left here; meaningful only where that call failed. */
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
