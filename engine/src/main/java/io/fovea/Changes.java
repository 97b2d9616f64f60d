package io.fovea;

import io.fovea.changes.ChangeReader;
import io.fovea.changes.LoggedCommit;
import io.fovea.error.ChangesLostException;
import io.fovea.error.CorruptionException;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.StorageException;
import io.fovea.memory.Waits;
import io.fovea.store.Journal;
import io.fovea.store.Store;
import io.fovea.wal.Log;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Committed changes of a database, one commit after the other: for an outbox, a cache or a replica.
 * Safe for any thread, platform or virtual; each batch goes to one caller. Closing the database
 * closes it too.
 *
 * <p><b>Contents.</b> Each commit that has changed records or tables arrives whole and exactly
 * once, when it is durable. Expired records arrive as deleted when they are removed. Records that
 * {@link RowTable#load} has put into a table ({@link Change.Kind#LOADED} reports the load), changes
 * to indexes, and pages moved by {@link Database#compact} or a close are not included.
 *
 * <p><b>Order.</b> If two commits have changed the same record, or the second has read what the
 * first wrote, they arrive in their serial order. If the first has only read what the second then
 * changed, they may arrive in either order. So a replica equals the database once it has caught up;
 * between two batches it may be in a state that no transaction has seen.
 *
 * <p><b>Crashes.</b> Store the {@linkplain ChangeBatch#position position} of the last batch with
 * the results of processing it, in one transaction if they are in a database. Processing then
 * resumes there after a crash of either side, without gaps or repetitions.
 *
 * <p><b>Cost.</b> Changes are read from the log file, by any number of readers. Readers never block
 * writers, and do not extend how long changes are kept ({@link LogOptions#changeRetentionBytes}).
 * Each batch is held on the Java heap as a whole.
 *
 * @since 0.1.0
 */
public final class Changes implements AutoCloseable {
  private final Store store;
  private final Log log;
  private final ChangeReader reader;
  private final Consumer<Changes> onClose;
  private final ReentrantLock lock = new ReentrantLock();

  private volatile boolean closed;

  /** Whether the database was closed. */
  private volatile boolean ended;

  Changes(Store store, ChangeReader reader, Consumer<Changes> onClose) {
    Journal journal = Objects.requireNonNull(store.journal(), "journal");
    this.store = store;
    this.log = journal.log();
    this.reader = reader;
    this.onClose = onClose;
  }

  /**
   * Takes the next batch, waiting for it if necessary. Also throws {@link StorageException} if the
   * log can't be read, after which the next call tries again, and {@link CorruptionException} if it
   * is damaged.
   *
   * @param timeout the longest time to wait; zero to return immediately
   * @return the batch; null if there was none in that time
   * @throws IllegalArgumentException if the timeout is negative
   * @throws ChangesLostException if the batch is no longer kept: the reader was too slow for {@link
   *     LogOptions#changeRetentionBytes}
   * @throws OperationInterruptedException if the thread is interrupted while it waits
   * @throws DurabilityLostException if there was no batch, and no further commit can become durable
   * @throws InvalidUseException if this was closed
   * @throws DatabaseClosedException if the database was closed
   */
  public @Nullable ChangeBatch poll(Duration timeout) {
    if (timeout.isNegative()) {
      throw new IllegalArgumentException("The timeout is negative: " + timeout + ".");
    }
    long began = System.nanoTime();
    long nanos = Waits.nanos(timeout);
    while (true) {
      long read;
      lock.lock();
      try {
        requireOpen();
        LoggedCommit commit = reader.next(() -> closed);
        if (commit != null) {
          return new ChangeBatch(
              commit.changes().stream().map(Change::new).toList(),
              new ChangePosition(commit.next()));
        }
        read = reader.readLsn();
      } finally {
        lock.unlock();
      }
      long left = nanos - (System.nanoTime() - began);
      if (left <= 0) {
        return null;
      }
      await(read, left);
    }
  }

  private void await(long read, long nanos) {
    try {
      if (!log.awaitBeyond(read, nanos, () -> closed)) {
        requireOpen();
        log.requireAlive();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      String what = "wait for changes of database " + store.name();
      throw new OperationInterruptedException(what);
    }
  }

  private void requireOpen() {
    if (ended) {
      throw store.closedException();
    }
    if (closed) {
      throw new InvalidUseException(
          "This subscription to changes of database " + store.name() + " is closed.");
    }
  }

  /**
   * {@return the position after the last batch taken and any later commits that changed no table}
   * If batches are rare, store it from time to time, so that the log still contains the changes
   * after it.
   */
  public ChangePosition position() {
    lock.lock();
    try {
      return new ChangePosition(reader.position());
    } finally {
      lock.unlock();
    }
  }

  /** Ends this; threads waiting in {@link #poll} get an exception. A second call does nothing. */
  @Override
  public void close() {
    closed = true;
    log.wakeFollowers();
    lock.lock();
    try {
      reader.close();
    } finally {
      lock.unlock();
      onClose.accept(this);
    }
  }

  /** Closes this because the database closes. */
  void end() {
    if (!closed) {
      ended = true;
    }
    close();
  }

  @Override
  public String toString() {
    return "Changes[" + store.name() + (closed ? ", closed]" : "]");
  }
}
