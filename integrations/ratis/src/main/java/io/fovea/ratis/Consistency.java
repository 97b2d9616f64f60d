package io.fovea.ratis;

/**
 * What a read sees.
 *
 * <p>A value; any thread.
 *
 * @since 0.1.0
 */
public final class Consistency {
  /**
   * All that was acknowledged before the read began, by any peer: reads and commands together are
   * linearizable. An entry that changes nothing goes through the log, and the peer waits until it
   * has applied up to it: what a command costs, without its work. Reads of a peer that begin
   * meanwhile share the next such entry. Needs a majority. Source: D. Ongaro, Consensus: Bridging
   * Theory and Practice, 2014, section 6.4, first paragraph.
   */
  public static final Consistency LINEARIZABLE = new Consistency(true, -1);

  /**
   * What this peer has applied, which may be behind the others by any amount: costs what a read of
   * a database costs. A peer that is cut off answers as well.
   */
  public static final Consistency LOCAL = new Consistency(false, -1);

  private final boolean linearizable;
  private final long index;

  private Consistency(boolean linearizable, long index) {
    this.linearizable = linearizable;
    this.index = index;
  }

  /**
   * What this asks for, and a command as well: for a client that reads its own writes at any peer.
   * The read waits until this peer has applied it.
   *
   * @param commandResult what the command returned
   * @return another consistency
   */
  public Consistency atLeast(CommandResult commandResult) {
    return atLeast(commandResult.index());
  }

  /**
   * What this asks for, and all entries up to an index as well.
   *
   * @param atLeast an index of the log: of a receipt, or {@link ReplicatedDatabase#appliedIndex} of
   *     another peer
   * @return another consistency
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
