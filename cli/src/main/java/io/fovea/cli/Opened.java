package io.fovea.cli;

import io.fovea.Database;
import io.fovea.Task;
import io.fovea.Transaction;
import io.fovea.Work;
import org.jspecify.annotations.Nullable;

/**
 * A database that a command works on: opened for it and closed by it, or the one that a shell has
 * open, with the transaction of that. One thread.
 */
final class Opened implements AutoCloseable {
  private final Database db;

  /** Of the shell; null if each piece of work is a transaction of its own. */
  private final @Nullable Transaction tx;

  /** What comes after it was closed; null where it stays open. */
  private final @Nullable Runnable closes;

  private Opened(Database db, @Nullable Transaction tx, @Nullable Runnable closes) {
    this.db = db;
    this.tx = tx;
    this.closes = closes;
  }

  /** One that is closed with this, and what comes after that. */
  static Opened of(Database db, Runnable then) {
    return new Opened(db, null, then);
  }

  /** One that stays open. */
  static Opened of(Database db, @Nullable Transaction tx) {
    return new Opened(db, tx, null);
  }

  Database database() {
    return db;
  }

  /**
   * What it has now, of which one may read as many records as there are: a snapshot. In a
   * transaction of the shell: what that has.
   */
  Opened frozen() {
    return tx == null ? of(db.snapshot(), () -> {}) : of(db, tx);
  }

  /** Whether there is a transaction that goes on behind the command. */
  boolean inTransaction() {
    return tx != null;
  }

  <R extends @Nullable Object, X extends Exception> R read(Work<R, X> work) throws X {
    return tx == null ? db.read(work) : work.call(tx);
  }

  <R extends @Nullable Object, X extends Exception> R call(Work<R, X> work) throws X {
    return tx == null ? db.call(work) : work.call(tx);
  }

  <X extends Exception> void run(Task<X> task) throws X {
    if (tx == null) {
      db.run(task);
    } else {
      task.run(tx);
    }
  }

  @Override
  public void close() {
    Runnable then = closes;
    if (then != null) {
      try {
        db.close();
      } finally {
        then.run();
      }
    }
  }
}
