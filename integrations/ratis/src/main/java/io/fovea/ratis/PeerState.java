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

  @Nullable Failure failure() {
    return failure.get();
  }

  void closing() {
    closing = true;
  }

  boolean isClosing() {
    return closing;
  }
}
