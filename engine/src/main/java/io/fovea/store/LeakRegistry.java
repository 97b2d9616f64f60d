package io.fovea.store;

import io.fovea.memory.Hash;
import io.fovea.memory.Threads;
import java.lang.System.Logger.Level;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Watches closeable objects in the whole process. While any object is watched, a thread finds
 * leaked ones.
 *
 * <p>Each explicit transaction is watched, so the registry must scale: a watch is held by a slot of
 * a table, in a row used mostly by one thread. A {@link java.lang.ref.Cleaner}, by contrast, has
 * one list with one lock.
 *
 * <p><b>Guarantee.</b> A watch is held from {@link #hold} until it is closed or {@link
 * Watch#leaked} is called. It must be held, because a phantom reference that is itself unreachable
 * is never enqueued. A compare-and-set decides which of the two happens, so a slot is released
 * exactly once, and never while its next owner uses it.
 *
 * <p><b>The thread</b> keeps this class and its loader reachable, so it ends when nothing is
 * watched. This is checked after a database, which is watched while open, is closed, and after a
 * leaked object is found. A watch is held by a compare-and-set, then {@link #finder} is read; the
 * end of the thread clears {@link #finder}, then searches for watches. In the total order of these
 * four accesses, either the end sees the watch, or the watch sees no thread and starts another.
 *
 * <p>Thread-safe.
 */
final class LeakRegistry {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  private static final VarHandle ELEMENT =
      MethodHandles.arrayElementVarHandle(Watch[].class).withInvokeExactBehavior();

  /** Rows are chosen by thread hash. */
  private static final int ROWS = 128;

  /** With 4-byte references a row has 128 bytes, because cache lines are prefetched in pairs. */
  private static final int ROW = 32;

  private static final Watch[] HELD = new Watch[ROWS * ROW];

  /** Watches that found no slot in their row. */
  private static final Set<Watch> MORE = Collections.synchronizedSet(new HashSet<>());

  private static final ReferenceQueue<Object> UNREACHABLE = new ReferenceQueue<>();

  /** Null if there is no thread; written under this class's lock. */
  private static volatile @Nullable Thread finder;

  private LeakRegistry() {}

  /**
   * Holds a watch.
   *
   * @throws OutOfMemoryError if there is no thread or memory; the caller must then call {@link
   *     Watch#run}
   */
  static void hold(Watch watch) {
    register(watch);
    if (finder == null) {
      begin();
    }
  }

  private static void register(Watch watch) {
    int first = Hash.ofThread(ROWS) * ROW;
    for (int at = first; at < first + ROW; at++) {
      if ((Watch) ELEMENT.getAcquire(HELD, at) == null
          && ELEMENT.compareAndSet(HELD, at, (Watch) null, watch)) {
        watch.index = at;
        return;
      }
    }
    watch.index = Watch.AMONG_MORE;
    MORE.add(watch);
  }

  static boolean holds(Watch watch) {
    boolean held = MORE.contains(watch);
    for (int at = 0; at < HELD.length; at++) {
      held |= (Watch) ELEMENT.getAcquire(HELD, at) == watch;
    }
    return held;
  }

  private static synchronized void begin() {
    if (finder == null) {
      finder = Threads.start("fovea-forgotten", LeakRegistry::find);
    }
  }

  /** Ends the thread if nothing is held. */
  static synchronized void endIfUnused() {
    Thread ending = finder;
    if (ending == null) {
      return;
    }
    finder = null;
    boolean held = !MORE.isEmpty();
    for (int at = 0; at < HELD.length && !held; at++) {
      held = (Watch) ELEMENT.getVolatile(HELD, at) != null;
    }
    if (held) {
      finder = ending;
    } else {
      ending.interrupt();
    }
  }

  private static synchronized void begun() {}

  private static void find() {
    begun(); // waits until begin() has stored the thread
    while (finder == Thread.currentThread()) {
      try {
        Threads.beginIteration();
        ((Watch) UNREACHABLE.remove()).found();
        endIfUnused();
      } catch (InterruptedException e) {
        // Ends the thread, unless a watch has been held meanwhile.
      } catch (Throwable e) {
        Threads.logSafely(
            LOG,
            Level.WARNING,
            "A leaked object could not be closed: if it is a transaction, "
                + "it keeps its locks and its memory.",
            "",
            "",
            e);
      }
    }
  }

  /** The watch of an object; run when the object is closed. */
  abstract static class Watch extends PhantomReference<Object> implements Runnable {
    private static final VarHandle ENDED;
    private static final int NOWHERE = -1;
    private static final int AMONG_MORE = -2;

    static {
      try {
        ENDED = MethodHandles.lookup().findVarHandle(Watch.class, "ended", boolean.class);
      } catch (ReflectiveOperationException e) {
        throw new ExceptionInInitializerError(e);
      }
    }

    private int index = NOWHERE;

    @SuppressWarnings("unused") // accessed through ENDED
    private volatile boolean ended;

    Watch(Object watched) {
      super(watched, UNREACHABLE);
    }

    /** Ends the watch, because the object was closed or could not be watched. */
    @Override
    public final void run() {
      end();
    }

    /** Called when the object has become unreachable without being closed. */
    abstract void leaked();

    private void found() {
      if (end()) {
        leaked();
      }
    }

    /** Ends the watch; returns false if it had ended before. */
    private boolean end() {
      if (!ENDED.compareAndSet(this, false, true)) {
        return false;
      }
      if (index >= 0) {
        ELEMENT.setRelease(HELD, index, (Watch) null);
      } else if (index == AMONG_MORE) {
        MORE.remove(this);
      }
      return true;
    }
  }
}
