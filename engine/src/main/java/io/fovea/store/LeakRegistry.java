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
 * What is to be closed and may be forgotten, of the whole process; and the thread that hears of
 * what was forgotten, while anything is watched.
 *
 * <p>Each explicit transaction is watched, so this is made for many threads: a watch is held by a
 * place in a table, in a row that is mostly the thread's own. A {@link java.lang.ref.Cleaner} holds
 * all of its own in one list with one lock, for which two threads that begin and end transactions
 * wait four times as long as the transactions take.
 *
 * <p><b>What is promised.</b> A watch is held from {@link #hold} until it is closed or {@link
 * Watch#forgotten} is called; a reference that nobody holds is not told when its object goes. One
 * of the two happens, for who comes first ends the watch: a place is given back once, and not taken
 * from who has it next.
 *
 * <p><b>The thread</b> keeps this class and its loader, so it ends when nothing is watched: that is
 * looked at when a database was closed, which is watched while it is open, and when something
 * forgotten was found. A watch is held by a compare-and-set, and then {@link #finder} is read; the
 * thread's end clears {@link #finder}, and then looks for watches. In the one order of these four,
 * either the end sees the watch, or the watch sees that there is no thread, and begins another.
 *
 * <p>Any thread.
 */
final class LeakRegistry {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  private static final VarHandle PLACES =
      MethodHandles.arrayElementVarHandle(Watch[].class).withInvokeExactBehavior();

  /** Threads have a row each if there are not too many: rows are a part of the hash of a thread. */
  private static final int ROWS = 128;

  /** 128 bytes where a reference has four, for lines are fetched in pairs. */
  private static final int ROW = 32;

  private static final Watch[] HELD = new Watch[ROWS * ROW];

  /** Those for which a row had no place: a thread has more than that many open transactions. */
  private static final Set<Watch> MORE = Collections.synchronizedSet(new HashSet<>());

  private static final ReferenceQueue<Object> FORGOTTEN = new ReferenceQueue<>();

  /** Once it has begun; written by who has this class's lock. */
  private static volatile @Nullable Thread finder;

  private LeakRegistry() {}

  /**
   * Holds a watch.
   *
   * @throws OutOfMemoryError where there is no thread or no memory; the caller calls {@link
   *     Watch#run} then
   */
  static void hold(Watch watch) {
    place(watch);
    if (finder == null) {
      begin();
    }
  }

  private static void place(Watch watch) {
    int first = Hash.ofThread(ROWS) * ROW;
    for (int at = first; at < first + ROW; at++) {
      if ((Watch) PLACES.getAcquire(HELD, at) == null
          && PLACES.compareAndSet(HELD, at, (Watch) null, watch)) {
        watch.place = at;
        return;
      }
    }
    watch.place = Watch.AMONG_MORE;
    MORE.add(watch);
  }

  /** For tests: whether a watch is held. */
  static boolean holds(Watch watch) {
    boolean held = MORE.contains(watch);
    for (int at = 0; at < HELD.length; at++) {
      held |= (Watch) PLACES.getAcquire(HELD, at) == watch;
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
      held = (Watch) PLACES.getVolatile(HELD, at) != null;
    }
    if (held) {
      finder = ending;
    } else {
      ending.interrupt();
    }
  }

  private static synchronized void begun() {}

  /** For tests: whether the thread is there. */
  static boolean isFinding() {
    return finder != null;
  }

  private static void find() {
    begun(); // by whoever holds the lock until it has noted the thread
    while (finder == Thread.currentThread()) {
      try {
        Threads.turn();
        ((Watch) FORGOTTEN.remove()).found();
        endIfUnused();
      } catch (InterruptedException e) {
        // The end, unless a watch was held meanwhile.
      } catch (Throwable e) {
        Threads.tell(
            LOG,
            Level.WARNING,
            "What was forgotten could not be ended: a transaction keeps its locks and its memory.",
            "",
            "",
            e);
      }
    }
  }

  /** One thing that is watched; is run when that is closed. */
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

    private int place = NOWHERE;

    @SuppressWarnings("unused") // through ENDED
    private volatile boolean ended;

    Watch(Object watched) {
      super(watched, FORGOTTEN);
    }

    /** The thing was closed, or is not to be watched after all. */
    @Override
    public final void run() {
      end();
    }

    /** The thing was not closed, and nobody has it any more. */
    abstract void forgotten();

    private void found() {
      if (end()) {
        forgotten();
      }
    }

    /** Lets the watch go; false if that was done before, perhaps by another thread. */
    private boolean end() {
      if (!ENDED.compareAndSet(this, false, true)) {
        return false;
      }
      if (place >= 0) {
        PLACES.setRelease(HELD, place, (Watch) null);
      } else if (place == AMONG_MORE) {
        MORE.remove(this);
      }
      return true;
    }
  }
}
