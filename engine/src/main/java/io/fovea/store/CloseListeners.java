package io.fovea.store;

import io.fovea.memory.Threads;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;

/** Listeners called once when a database closes. Thread-safe. */
public final class CloseListeners {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  private final Store store;
  private final List<Runnable> actions = new ArrayList<>();

  /** Set when the listeners are called, because a listener added later would never be called. */
  private boolean called;

  /** Creates an empty list for a store. */
  public CloseListeners(Store store) {
    this.store = store;
  }

  /**
   * Adds a listener.
   *
   * @throws io.fovea.error.DatabaseClosedException if the store is closed or closing
   */
  public synchronized void add(Runnable action) {
    if (called) {
      throw store.closedException();
    }
    store.requireOpen();
    actions.add(action);
  }

  /** Calls all listeners in order of addition. Exceptions are logged. */
  public void callAll() {
    List<Runnable> all;
    synchronized (this) {
      called = true;
      all = List.copyOf(actions);
      actions.clear();
    }
    for (Runnable r : all) {
      try {
        r.run();
      } catch (Throwable t) {
        Threads.logSafely(
            LOG, Level.WARNING, "A listener failed while ", store.name(), " closed", t);
      }
    }
  }
}
