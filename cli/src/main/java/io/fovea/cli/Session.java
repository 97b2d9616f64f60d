package io.fovea.cli;

import io.fovea.Database;
import io.fovea.Transaction;
import io.fovea.TxOptions;
import io.fovea.error.OperationInterruptedException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * What a shell has: a database that is open, perhaps a transaction, and a command that runs.
 *
 * <p>One thread, which runs the commands; {@link #stop} is for any. What it stops is stopped in two
 * ways: commands that pass over records ask {@link #goOn} at each of them, and what the engine does
 * at length (a verification, a compaction) ends by an interrupt. The lock makes that interrupt meet
 * the command and nothing behind it.
 */
final class Session implements AutoCloseable {
  /** A person thinks between two statements. */
  private static final Duration THINKING = Duration.ofDays(7);

  private final Path file;
  private final Path original;
  private final boolean writes;

  private @Nullable Database db;
  private @Nullable Transaction tx;

  private final ReentrantLock lock = new ReentrantLock();

  /** Runs a command; guarded by the lock. */
  private @Nullable Thread running;

  private volatile boolean stopped;

  Session(Path file, boolean writes) {
    this(file, file, writes);
  }

  /**
   * A session.
   *
   * @param file of the database
   * @param original that of which it is a copy, or itself
   * @param writes whether it changes records
   */
  Session(Path file, Path original, boolean writes) {
    this.file = file;
    this.original = original;
    this.writes = writes;
  }

  /** What a command ends with that was stopped. */
  static final class Stopped extends RuntimeException {
    private static final long serialVersionUID = 1;

    Stopped() {
      super("stopped", null, false, false);
    }
  }

  Path file() {
    return file;
  }

  /** The file of which it is a copy, or itself. */
  Path original() {
    return original;
  }

  /** Whether it was opened to change records. */
  boolean writes() {
    return writes;
  }

  // --------------------------------------------------------------------------------- the database

  /** The database, which is opened where it is not. */
  Database database() {
    Database there = db;
    if (there == null) {
      there = writes ? Database.open(file, Opening.toChange(file)) : TableFile.open(file);
      db = there;
    }
    return there;
  }

  Opened opened() {
    return Opened.of(database(), tx);
  }

  /** Closes the database, for a command that opens the file by itself. */
  void release() {
    if (tx != null) {
      throw new IllegalStateException("There is a transaction.");
    }
    Database there = db;
    db = null;
    if (there != null) {
      there.close();
    }
  }

  // ------------------------------------------------------------------------------ the transaction

  /** Whether there is one. */
  boolean inTransaction() {
    return tx != null;
  }

  void begin() {
    tx = database().begin(TxOptions.defaults().timeout(THINKING));
  }

  void commit() {
    Transaction t = ended();
    if (t != null) {
      t.commit();
    }
  }

  void rollback() {
    Transaction t = ended();
    if (t != null) {
      t.close();
    }
  }

  private @Nullable Transaction ended() {
    Transaction t = tx;
    tx = null;
    return t;
  }

  /** Whether the transaction was aborted by what a command did; there is none after that. */
  boolean hasLost() {
    if (tx != null && !tx.isActive()) {
      tx = null;
      return true;
    }
    return false;
  }

  // ---------------------------------------------------------------------------------- the command

  /** Runs a command that {@link #stop} can end. */
  int run(Callable<Integer> command) throws Exception {
    lock.lock();
    try {
      stopped = false;
      running = Thread.currentThread();
    } finally {
      lock.unlock();
    }
    try {
      return command.call();
    } finally {
      lock.lock();
      try {
        running = null;
        Thread.interrupted(); // it was for the command
      } finally {
        lock.unlock();
      }
    }
  }

  /** Ends the command that runs, soon. */
  void stop() {
    lock.lock();
    try {
      Thread t = running;
      if (t != null) {
        stopped = true;
        t.interrupt();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Whether an exception is what {@link #stop} leads to. */
  boolean hasStopped(Throwable t) {
    Throwable of = t instanceof UncheckedIOException e ? e.getCause() : t;
    return of instanceof Stopped
        || stopped
            && (of instanceof OperationInterruptedException
                || of instanceof ClosedByInterruptException // of a file that is written
                || of instanceof InterruptedIOException);
  }

  /**
   * Returns if the command is to go on.
   *
   * @throws Stopped if not
   */
  void goOn() {
    if (stopped) {
      throw new Stopped();
    }
  }

  @Override
  public void close() {
    rollback();
    release();
  }
}
