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
 * The state of a shell: an open database, possibly a transaction, and a running command.
 *
 * <p>One thread runs the commands; any thread may call {@link #stop}. It ends a command in two
 * ways: commands that iterate over records call {@link #goOn} for each, and long operations of the
 * engine (verification, compaction) are interrupted. The lock ensures that the interrupt hits the
 * command and nothing after it.
 */
final class Session implements AutoCloseable {
  /** Users pause between two statements. */
  private static final Duration THINKING = Duration.ofDays(7);

  private final Path file;
  private final Path original;
  private final boolean writes;

  private @Nullable Database db;
  private @Nullable Transaction tx;

  private final ReentrantLock lock = new ReentrantLock();

  /** The thread that runs a command; guarded by the lock. */
  private @Nullable Thread running;

  private volatile boolean stopped;

  Session(Path file, boolean writes) {
    this(file, file, writes);
  }

  /**
   * Creates a session.
   *
   * @param file the file of the database
   * @param original the file that it is a copy of, or itself
   * @param writes whether it may change records
   */
  Session(Path file, Path original, boolean writes) {
    this.file = file;
    this.original = original;
    this.writes = writes;
  }

  /** Ends a command that was stopped. */
  static final class Stopped extends RuntimeException {
    private static final long serialVersionUID = 1;

    Stopped() {
      super("stopped", null, false, false);
    }
  }

  Path file() {
    return file;
  }

  /** The file that it is a copy of, or itself. */
  Path original() {
    return original;
  }

  /** Whether it may change records. */
  boolean writes() {
    return writes;
  }

  // --------------------------------------------------------------------------------- the database

  /** Returns the database; opens it if necessary. */
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

  /** Closes the database, for a command that opens the file itself. */
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

  /** Returns whether a command has aborted the transaction, and forgets it if so. */
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
        Thread.interrupted(); // clears an interrupt meant for the command
      } finally {
        lock.unlock();
      }
    }
  }

  /** Ends the running command soon. */
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

  /** Whether {@link #stop} caused an exception. */
  boolean hasStopped(Throwable t) {
    Throwable of = t instanceof UncheckedIOException e ? e.getCause() : t;
    return of instanceof Stopped
        || stopped
            && (of instanceof OperationInterruptedException
                || of instanceof ClosedByInterruptException // of a file being written
                || of instanceof InterruptedIOException);
  }

  /**
   * Returns if the command may continue.
   *
   * @throws Stopped if it must end
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
