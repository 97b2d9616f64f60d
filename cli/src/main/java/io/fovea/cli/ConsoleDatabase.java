package io.fovea.cli;

import com.sun.tools.attach.AttachNotSupportedException;
import io.fovea.Database;
import io.fovea.cli.console.Failure;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Function;
import java.util.function.Supplier;
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

  /** The database of the process that has the original open. */
  private record Attached(RunningProcess process, long pid, ObjectName bean) {}

  /**
   * Null if not connected. A process that is stopped answers nothing: no lock is held meanwhile.
   */
  private final AtomicReference<@Nullable Attached> attached = new AtomicReference<>();

  /** Held while the other process is asked, so that a stopped one occupies two threads at most. */
  private final ReentrantLock asking = new ReentrantLock();

  private volatile boolean closed;

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
    long pid = newer == null ? -1 : Holder.of(file);
    Database oldDb;
    Copy oldCopy;
    lock.writeLock().lock();
    try {
      oldDb = db;
      oldCopy = copy;
      db = made;
      copy = newer;
      opened = Instant.now();
      holder = pid;
    } finally {
      lock.writeLock().unlock();
    }
    release(oldDb, oldCopy);
  }

  /** Closes a database that no request uses, and removes its copy. */
  private static void release(@Nullable Database old, @Nullable Copy made) {
    boolean interrupted = Thread.interrupted(); // closing would fail
    try {
      if (old != null) {
        old.close();
      }
    } finally {
      if (made != null) {
        made.close();
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Calls a function with the database. */
  <R> R with(Function<Database, R> work) {
    lock.readLock().lock();
    try {
      Database open = db;
      if (open == null) {
        throw new Failure(503, "the console is shutting down");
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

  /** Begins to replace the copy by a new one, as the operation {@code copy}. */
  void refresh() {
    if (!isCopy()) {
      throw new Failure(409, "this is the file itself, not a copy");
    }
    jobs.start(
        "copy",
        () -> 0,
        0,
        () -> {
          replace();
          return Map.of("opened", opened);
        });
  }

  // ---------------------------------------------------------------------------- the other process

  /**
   * The process that had the original open for writing when it was copied; -1 if there was none, or
   * it is unknown.
   */
  long holder() {
    return holder;
  }

  /** Connects to the process that has the original open. */
  void attach() {
    if (attached.get() != null) {
      return;
    }
    long pid = isCopy() ? Holder.of(command.file()) : -1;
    if (pid < 0) {
      throw new Failure(409, "no process has " + command.file() + " open for writing");
    }
    String id = with(d -> d.id().toString());
    ask(
        pid,
        () -> {
          connect(pid, id);
          return null;
        });
  }

  private void connect(long pid, String id) {
    RunningProcess found = null;
    boolean done = false;
    try {
      found = RunningProcess.connect("" + pid);
      for (ObjectName each : found.databases()) {
        if (id.equals(each.getKeyProperty("id"))) {
          done = attached.compareAndSet(null, new Attached(found, pid, each));
          if (closed) {
            detach(attached.get());
          }
          return;
        }
      }
    } catch (AttachNotSupportedException | IOException | JMException e) {
      throw new Failure(502, "process " + pid + " can't be reached: " + e.getMessage());
    } finally {
      if (found != null && !done) {
        found.close();
      }
    }
    throw new Failure(
        409,
        "process " + pid + " does not publish the database: it must call DatabaseBean.register");
  }

  /** Calls a function that waits for the other process; fails if another request does. */
  private <R extends @Nullable Object> R ask(long pid, Supplier<R> question) {
    boolean asked;
    try {
      asked = asking.tryLock(2, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      asked = false;
    }
    if (!asked) {
      throw new Failure(504, "process " + pid + " does not answer: is it stopped?");
    }
    try {
      return question.get();
    } finally {
      asking.unlock();
    }
  }

  /** Whether figures are those of the other process. */
  boolean isAttached() {
    return attached.get() != null;
  }

  /** The figures of the database, with dots in their names. */
  Map<String, ?> figures() {
    Attached of = attached.get();
    if (of != null) {
      Map<String, Object> figures = ask(of.pid, () -> figures(of));
      if (!figures.isEmpty()) {
        return figures;
      }
      detach(of);
    }
    return with(d -> Json.flat(d.stats()));
  }

  /** Returns nothing if the database was closed, or its process has ended. */
  private static Map<String, Object> figures(Attached of) {
    try {
      return of.process.figures(of.bean);
    } catch (IOException e) {
      return Map.of();
    }
  }

  /** Disconnects on another thread, because a stopped process would not answer. */
  private void detach(@Nullable Attached of) {
    if (of != null && attached.compareAndSet(of, null)) {
      Thread.ofPlatform().daemon().name("fovea-console-detach").start(of.process::close);
    }
  }

  @Override
  public void close() {
    closed = true;
    jobs.close();
    detach(attached.get());
    Database old;
    Copy made;
    lock.writeLock().lock();
    try {
      old = db;
      made = copy;
      db = null;
      copy = null;
    } finally {
      lock.writeLock().unlock();
    }
    release(old, made);
  }
}
