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
 * Committed changes of a database, one commit after the other: for an outbox, a cache, a copy that
 * follows.
 *
 * <p><b>What comes.</b> Each commit that has changed records or tables, as a whole and once, when
 * it is durable. Records that expired come as deleted when they are removed. What does not come:
 * the records that {@link RowTable#load} has put into a table ({@link Change.Kind#LOADED} says that
 * it did), changes of indexes, and nothing where {@link Database#compact} or a close has moved
 * pages.
 *
 * <p><b>In which order.</b> Of two commits that have changed the same record, or of which one has
 * read what the other wrote, the one that came first in the serial order comes first. If one has
 * only read what the other then changed, they may come the other way round: so a copy is what the
 * database was when it has caught up, and between two batches it may be in a state in which no
 * transaction has seen the database.
 *
 * <p><b>Over crashes.</b> The {@linkplain ChangeBatch#position position} of the last batch that was
 * taken is kept with what was made of it, in one transaction where that is a database too. From
 * there it goes on after a crash of either side: without a gap, and without a repetition.
 *
 * <p><b>What it costs.</b> They are read from the file of the log, and nobody waits for who reads
 * them; readers have no part in what is kept ({@link LogOptions#changeRetentionBytes}). A batch is
 * on the Java heap, as a whole. There may be any number of readers.
 *
 * <p>Any thread, platform or virtual, one at a time: each batch is given to one caller. Closed with
 * the database at the latest.
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

  /** Whether the database has closed it. */
  private volatile boolean ended;

  Changes(Store store, ChangeReader reader, Consumer<Changes> onClose) {
    Journal journal = Objects.requireNonNull(store.journal(), "journal");
    this.store = store;
    this.log = journal.log();
    this.reader = reader;
    this.onClose = onClose;
  }

  /**
   * Takes the next batch; waits for it where there is none yet.
   *
   * @param timeout how long to wait at most; zero for not at all
   * @return the batch; null if there was none in that time
   * @throws IllegalArgumentException if the timeout is negative
   * @throws ChangesLostException if it is not there any more: who reads was too slow for {@link
   *     LogOptions#changeRetentionBytes}
   * @throws StorageException if the log can't be read. The next call tries again
   * @throws CorruptionException if the log is damaged
   * @throws OperationInterruptedException if the thread is interrupted while it waits
   * @throws DurabilityLostException if there was none, and none can become durable any more
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
      throw new InvalidUseException("These changes of database " + store.name() + " were closed.");
    }
  }

  /**
   * Where it is: behind the last batch that was taken, and behind what has changed no table. Kept
   * now and then where batches are rare, it lets the log go.
   *
   * @return the position; after a {@link #close} the last one
   */
  public ChangePosition position() {
    lock.lock();
    try {
      return new ChangePosition(reader.position());
    } finally {
      lock.unlock();
    }
  }

  /** Ends it; who waits in {@link #poll} gets an exception. A second call does nothing. */
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

  /** The database closes. */
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
