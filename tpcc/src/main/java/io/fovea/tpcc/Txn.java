package io.fovea.tpcc;

import io.fovea.CommitHandle;
import io.fovea.Database;
import io.fovea.Task;
import io.fovea.Transaction;
import io.fovea.TxOptions;
import io.fovea.error.AbortCause;
import java.nio.ByteBuffer;

/**
 * The inputs and body of a transaction type, one reused object per worker.
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

  /** Does the work; ends early with {@link #rollback}. */
  abstract void body(Transaction tx);

  /** Rolls back a transaction that is to have no effect. The body returns after this call. */
  final void rollback(Transaction tx) {
    rolledBack = true;
    tx.rollback();
  }

  /** Runs the transaction until it commits or rolls back, and counts its conflicts. */
  final void execute(Tally tally, int type) {
    begin(tally, type);
    database.run(options, this);
  }

  /** Like {@link #execute}, but returns before the commit is durable. */
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

  /** Tells whether the last execution rolled back on purpose. */
  final boolean rolledBack() {
    return rolledBack;
  }

  final int attempts() {
    return attempts;
  }

  /** Appends the last, committed execution to a list; for types that leave a row. */
  void acknowledge(Acknowledged list, ByteBuffer record) {}

  /** Returns the districts without an order to deliver in the last execution; Delivery only. */
  int skipped() {
    return 0;
  }
}
