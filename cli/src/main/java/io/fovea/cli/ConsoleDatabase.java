package io.fovea.cli;

import com.sun.tools.attach.AttachNotSupportedException;
import io.fovea.Database;
import io.fovea.cli.console.Failure;
import io.fovea.error.DatabaseLockedException;
import io.fovea.error.FoveaException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Function;
import javax.management.JMException;
import javax.management.ObjectName;
import org.jspecify.annotations.Nullable;

/**
 * The database of a console: the file itself, or a copy that can be replaced by a newer one.
 *
 * <p>Thread-safe. Requests hold the read lock while they use the database; replacing and closing it
 * holds the write lock.
 */
final class ConsoleDatabase implements AutoCloseable {
  private final ServeCommand command;
  private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
  private final ConsoleJobs jobs = new ConsoleJobs();

  /** Guarded by the lock; null after it was closed. */
  private @Nullable Database db;

  private volatile @Nullable Copy copy;
  private volatile Instant opened = Instant.EPOCH;
  private volatile long holder = -1;

  /** The process that has the original open, and its database; null if not connected. */
  private @Nullable RunningProcess process;

  private @Nullable ObjectName bean;

  private ConsoleDatabase(ServeCommand command) {
    this.command = command;
  }

  static ConsoleDatabase open(ServeCommand command) {
    ConsoleDatabase made = new ConsoleDatabase(command);
    made.replace();
    return made;
  }

  /** Opens the file, or makes a copy and opens that. */
  private void replace() {
    Path file = command.file();
    Copy newer = command.copy.copy ? Copy.of(file) : null;
    Database made;
    try {
      made =
          command.write
              ? Database.open(file, Opening.toChange(file))
              : TableFile.open(newer == null ? file : newer.file());
    } catch (RuntimeException e) {
      if (newer != null) {
        newer.close();
      }
      throw e;
    }
    holder = newer == null ? -1 : findHolder();
    lock.writeLock().lock();
    try {
      release();
      db = made;
      copy = newer;
      opened = Instant.now();
    } finally {
      lock.writeLock().unlock();
    }
  }

  /** Closes the database, and removes the copy. */
  private void release() {
    Database old = db;
    Copy made = copy;
    db = null;
    copy = null;
    if (old != null) {
      old.close();
    }
    if (made != null) {
      made.close();
    }
  }

  /** Calls a function with the database. */
  <R> R with(Function<Database, R> work) {
    lock.readLock().lock();
    try {
      Database open = db;
      if (open == null) {
        throw new Failure(503, "the console is ending");
      }
      return work.apply(open);
    } finally {
      lock.readLock().unlock();
    }
  }

  /** The file that is open: the copy, or the original. */
  Path file() {
    Copy of = copy;
    return of == null ? command.file() : of.file();
  }

  boolean isCopy() {
    return command.copy.copy;
  }

  /** When it was opened or copied. */
  Instant opened() {
    return opened;
  }

  ConsoleJobs jobs() {
    return jobs;
  }

  /** Replaces the copy by a new one. */
  void refresh() {
    if (!isCopy()) {
      throw new Failure(409, "this is the file itself, not a copy");
    }
    jobs.whileIdle(this::replace);
  }

  // ---------------------------------------------------------------------------- the other process

  /**
   * The process that had the original open for writing when it was copied; -1 if there was none, or
   * it is unknown.
   */
  long holder() {
    return holder;
  }

  private long findHolder() {
    try {
      TableFile.open(command.file()).close();
      return -1;
    } catch (DatabaseLockedException e) {
      return e.holderPid();
    } catch (FoveaException e) {
      return -1; // it can be copied, but not opened
    }
  }

  /** Connects to the process that has the original open. */
  synchronized void attach() {
    if (bean != null) {
      return;
    }
    long pid = isCopy() ? findHolder() : -1;
    if (pid < 0) {
      throw new Failure(409, "no process has " + command.file() + " open for writing");
    }
    String id = with(d -> d.id().toString());
    RunningProcess found = null;
    try {
      found = RunningProcess.connect("" + pid);
      for (ObjectName each : found.databases()) {
        if (id.equals(each.getKeyProperty("id"))) {
          process = found;
          bean = each;
          return;
        }
      }
    } catch (AttachNotSupportedException | IOException | JMException e) {
      throw new Failure(502, "process " + pid + " can't be reached: " + e.getMessage());
    } finally {
      if (found != null && bean == null) {
        found.close();
      }
    }
    throw new Failure(
        409,
        "process " + pid + " does not publish the database: it must call DatabaseBean.register");
  }

  /** Whether figures are those of the other process. */
  synchronized boolean isAttached() {
    return bean != null;
  }

  /** The figures of the database, with dots in their names. */
  Map<String, ?> figures() {
    synchronized (this) {
      if (process != null && bean != null) {
        try {
          Map<String, Object> figures = process.figures(bean);
          if (!figures.isEmpty()) {
            return figures;
          }
        } catch (IOException e) {
          // It has ended: the figures of the copy follow.
        }
        process.close();
        process = null;
        bean = null;
      }
    }
    return with(d -> Json.flat(d.stats()));
  }

  @Override
  public void close() {
    jobs.close();
    synchronized (this) {
      if (process != null) {
        process.close();
      }
    }
    lock.writeLock().lock();
    try {
      release();
    } finally {
      lock.writeLock().unlock();
    }
  }
}
