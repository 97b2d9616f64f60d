package io.fovea.ratis;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * What is wrong with this peer: the first thing that was found, which is what the others follow
 * from.
 *
 * <p>Any thread.
 */
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

  /** Tells whether it is the first. */
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

  /** Its data is wrong until a copy has taken its place. Tells whether that is news. */
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

  /** A copy has taken the place of the data that was wrong. */
  void recovered(long index) {
    diverged.set(null);
    LOG.log(
        System.Logger.Level.INFO,
        "Peer "
            + peer
            + " of a replicated database has taken in a fresh copy at index "
            + index
            + ", and goes on.");
  }

  /** What ends this peer, or else what has stopped it for now; null if it is well. */
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
