package io.fovea.tpcc;

import io.fovea.CommitHandle;
import io.fovea.Database;
import io.fovea.Task;
import io.fovea.Transaction;
import io.fovea.TxOptions;
import io.fovea.error.AbortCause;
import java.nio.ByteBuffer;

/**
 * A transaction type's inputs and body, one object for each worker, used again and again.
 *
 * <p>{@link #prepare} draws the inputs once; {@link #body} may run several times with them.
 */
abstract class Txn implements Task<RuntimeException> {
  final Session session;
  private final Database database;
  private final TxOptions options;
  private Tally tally;
  private int type;
  private int attempts;
  private boolean rolledBack;

  Txn(Session session, boolean readOnly) {
    this.session = session;
    this.database = session.tables.database();
    this.options = readOnly ? TxOptions.forReading() : TxOptions.defaults();
  }

  /** Draws the inputs of the next transaction of a terminal of this warehouse. */
  abstract void prepare(int home);

  /** Does the work; see {@link #rollback} for the way out. */
  abstract void body(Transaction tx);

  /** For a body that is to have no effect: the transaction is over, and the body returns. */
  final void rollback(Transaction tx) {
    rolledBack = true;
    tx.rollback();
  }

  /** Runs it until it commits or rolls back, and counts its conflicts. */
  final void execute(Tally tally, int type) {
    begin(tally, type);
    database.run(options, this);
  }

  /** The same, except that it has still to become durable. */
  final CommitHandle executeAhead(Tally tally, int type) {
    begin(tally, type);
    return database.runPipelined(options, this);
  }

  private void begin(Tally tally, int type) {
    this.tally = tally;
    this.type = type;
    attempts = 0;
  }

  @Override
  public final void run(Transaction tx) {
    attempts++;
    AbortCause spoilt = tx.previousAbort();
    if (spoilt != null) {
      tally.conflict(type, spoilt);
    }
    rolledBack = false;
    body(tx);
  }

  /** Whether the last execution ended in its own rollback. */
  final boolean rolledBack() {
    return rolledBack;
  }

  /** How often the body of the last execution ran. */
  final int attempts() {
    return attempts;
  }

  /** Puts the last execution, which has committed, on a list; for types that leave a row. */
  void acknowledge(Acknowledged list, ByteBuffer record) {}

  /** Districts that the last execution found nothing to do in; of Delivery only. */
  int skipped() {
    return 0;
  }
}
