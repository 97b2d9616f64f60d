package io.fovea.ratis;

/**
 * The state that a read must see.
 *
 * <p>Immutable and thread-safe.
 *
 * @since 0.1.0
 */
public final class Consistency {
  /**
   * Everything that any peer acknowledged before the read began: reads and commands together are
   * linearizable. An empty entry goes through the log, and the peer waits until it has applied it.
   * That costs as much as a command, without the command's work. Concurrent reads of a peer share
   * an entry. Needs a majority. Source: D. Ongaro, Consensus: Bridging Theory and Practice, 2014,
   * section 6.4, first paragraph.
   */
  public static final Consistency LINEARIZABLE = new Consistency(true, -1);

  /**
   * Whatever this peer has applied, which may be behind the others by any amount. Costs as much as
   * a read of a local database. Works on a peer that is cut off from the others.
   */
  public static final Consistency LOCAL = new Consistency(false, -1);

  private final boolean linearizable;
  private final long index;

  private Consistency(boolean linearizable, long index) {
    this.linearizable = linearizable;
    this.index = index;
  }

  /**
   * Returns this consistency, raised to include a command. A client can then read its own writes at
   * any peer. The read waits until this peer has applied the command.
   *
   * @param commandResult the result of the command
   * @return the new consistency
   */
  public Consistency atLeast(CommandResult commandResult) {
    return atLeast(commandResult.index());
  }

  /**
   * Returns this consistency, raised to include all entries up to an index.
   *
   * @param atLeast an index of the log: of a {@link CommandResult}, or {@link
   *     ReplicatedDatabase#appliedIndex} of another peer
   * @return the new consistency
   */
  public Consistency atLeast(long atLeast) {
    return new Consistency(linearizable, Math.max(index, atLeast));
  }

  boolean linearizable() {
    return linearizable;
  }

  long index() {
    return index;
  }

  @Override
  public String toString() {
    return (linearizable ? "LINEARIZABLE" : "LOCAL") + (index < 0 ? "" : " at least " + index);
  }
}
