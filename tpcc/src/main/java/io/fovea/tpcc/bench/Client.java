package io.fovea.tpcc.bench;

import io.fovea.CommitHandle;

/** Who runs transactions one after the other, as {@link Pipeline} sees it. One thread. */
public interface Client {
  /**
   * Does the next transaction, ahead of the log.
   *
   * @return whether there is one to be acknowledged: none where it gave up, or is to stop
   */
  public boolean execute();

  /** What the last transaction waits for. */
  public CommitHandle commitHandle();

  /** Tells the client that the last transaction is durable; returns when that was. */
  public long acknowledge();
}
