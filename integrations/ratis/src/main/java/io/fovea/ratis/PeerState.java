package io.fovea.ratis;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The first failure of this peer, which later ones follow from. Thread-safe. */
final class PeerState {
  private static final System.Logger LOG = System.getLogger("io.fovea.ratis");

  record Failure(String what, @Nullable Throwable cause) {}

  private final String peer;
  private final AtomicReference<@Nullable Failure> failure = new AtomicReference<>();
  private final AtomicReference<@Nullable Failure> diverged = new AtomicReference<>();
  private volatile boolean closing;

  PeerState(String peer) {
    this.peer = peer;
  }

  /** Records a failure and logs it; returns whether it is the first. */
  boolean fail(String what, @Nullable Throwable cause) {
    String told = FullDisk.told(what, cause);
    if (closing || !failure.compareAndSet(null, new Failure(told, cause))) {
      return false;
    }
    LOG.log(
        System.Logger.Level.ERROR,
        "Peer " + peer + " of a replicated database has stopped: " + told,
        cause);
    return true;
  }

  /** Records that the data differs until a copy replaces it; returns whether that is new. */
  boolean diverge(String what) {
    if (closing || !diverged.compareAndSet(null, new Failure(what, null))) {
      return false;
    }
    LOG.log(
        System.Logger.Level.ERROR,
        "Peer " + peer + " of a replicated database has stopped: " + what);
    return true;
  }

  boolean isDiverged() {
    return diverged.get() != null;
  }

  /** Records that a copy has replaced the data. */
  void recovered(long index) {
    diverged.set(null);
    LOG.log(
        System.Logger.Level.INFO,
        "Peer "
            + peer
            + " of a replicated database has installed a copy at index "
            + index
            + " and resumes.");
  }

  /**
   * The failure that stopped this peer for good, otherwise its divergence; null if it is healthy.
   */
  @Nullable Failure failure() {
    Failure f = failure.get();
    return f != null ? f : diverged.get();
  }

  void closing() {
    closing = true;
  }

  boolean isClosing() {
    return closing;
  }
}
