package io.fovea.tpcc.bench;

import io.fovea.CommitHandle;

/** A client that runs transactions one after another, served by a {@link Pipeline}. One thread. */
public interface Client {
  /**
   * Runs the next transaction without waiting for the log.
   *
   * @return whether there is a transaction to acknowledge: false if it was abandoned or the client
   *     stops
   */
  public boolean execute();

  /** Returns the handle of the last transaction's commit. */
  public CommitHandle commitHandle();

  /** Acknowledges that the last transaction is durable, and returns the time at which it was. */
  public long acknowledge();
}
