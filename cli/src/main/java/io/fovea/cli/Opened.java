package io.fovea.cli;

import io.fovea.Database;
import io.fovea.Task;
import io.fovea.Transaction;
import io.fovea.Work;
import org.jspecify.annotations.Nullable;

/**
 * The database of a command: opened for it and closed by it, or that of a shell, with the shell's
 * transaction. Not thread-safe.
 */
final class Opened implements AutoCloseable {
  private final Database db;

  /** The shell's; null if each piece of work is a separate transaction. */
  private final @Nullable Transaction tx;

  /** Runs after the database was closed; null if it stays open. */
  private final @Nullable Runnable closes;

  private Opened(Database db, @Nullable Transaction tx, @Nullable Runnable closes) {
    this.db = db;
    this.tx = tx;
    this.closes = closes;
  }

  /** Returns a database that is closed with this; {@code then} runs after that. */
  static Opened of(Database db, Runnable then) {
    return new Opened(db, null, then);
  }

  /** Returns a database that stays open. */
  static Opened of(Database db, @Nullable Transaction tx) {
    return new Opened(db, tx, null);
  }

  Database database() {
    return db;
  }

  /**
   * Returns a snapshot, from which any number of records can be read; within a transaction of the
   * shell, this.
   */
  Opened frozen() {
    return tx == null ? of(db.snapshot(), () -> {}) : of(db, tx);
  }

  /** Whether there is a transaction that outlives the command. */
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
