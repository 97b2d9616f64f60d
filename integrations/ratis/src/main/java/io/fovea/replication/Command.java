package io.fovea.replication;

/**
 * A change of the replicated database: a procedure that every replica runs, in the same order and
 * with the same arguments.
 *
 * <p><b>It must be deterministic.</b> Everything it does must follow from its own fields, from what
 * it reads through its context, and from the context's clock and random numbers. It must not use
 * any other clock, files, static state, or a {@link io.fovea.Sequence} (which is not part of
 * transactions). A replica that computes something different silently diverges from the others.
 *
 * <p>Like the body of any transaction, it may run more than once for one log entry; only the run
 * that commits counts. So it must change nothing but the database.
 *
 * <p>Threading: runs on the thread that applies the log, one command at a time.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface Command {
  /** An empty result. */
  byte[] NOTHING = new byte[0];

  /**
   * Changes the database.
   *
   * @param context the transaction, and values that are the same on all replicas
   * @return the result for the submitter, at most {@link Replica#RESULT_BYTES_MAX} bytes
   * @throws RefusedException to change nothing and give the submitter a reason. An unchecked
   *     exception of the command, or of the engine about a key that is too long or a transaction
   *     that is too large, has the same effect on every replica, with the exception as the reason.
   *     A failure of the replica, such as a full disk or an {@link Error}, stops the replica
   */
  byte[] apply(CommandContext context) throws RefusedException;
}
