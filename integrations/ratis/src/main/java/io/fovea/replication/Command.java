package io.fovea.replication;

/**
 * A change of the replicated database: a procedure that every replica runs, in the same order and
 * with the same arguments.
 *
 * <p><b>It must be deterministic.</b> All that it does follows from its own fields, from what it
 * reads through its context, and from the context's clock and random numbers. It looks at no other
 * clock, no file, no static state, and no {@link io.fovea.Sequence} (which is no part of
 * transactions). A replica that computes something else has other data from then on, and nobody is
 * told.
 *
 * <p>It may run more than once for one entry of the log, as bodies of transactions may; what the
 * run that commits does counts. So it changes nothing but the database.
 *
 * <p>Threading: the thread that applies the log, one command at a time.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface Command {
  /** The result of a command that has nothing to say. */
  byte[] NOTHING = new byte[0];

  /**
   * Changes the database.
   *
   * @param context the transaction to do it in, and what is the same on all replicas
   * @return the result, which the submitter gets; {@link Replica#RESULT_BYTES_MAX} bytes at most
   * @throws RefusedException to change nothing, and tell the submitter why. An unchecked exception,
   *     of this code or of the engine about a key that is too long or a transaction that is too
   *     large, has the same end on every replica, with the exception as the reason. What says
   *     something of the replica and not of the command, such as a full disk or an {@link Error},
   *     stops the replica
   */
  byte[] apply(CommandContext context) throws RefusedException;
}
