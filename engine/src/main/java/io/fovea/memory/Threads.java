package io.fovea.memory;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Creates the threads of the engine, which are platform daemon threads.
 *
 * <p><b>A start may fail.</b> If the system has no memory for another thread or allows no more,
 * {@link Thread#start} throws an {@link OutOfMemoryError}. So a thread is recorded as running only
 * after its start, when {@link #start} returns it. Otherwise no other thread would be started, and
 * threads that need its work would wait forever.
 *
 * <p><b>An iteration may fail.</b> A thread that serves others while a database is open survives
 * all exceptions of an iteration of its loop, since it would not be replaced. So a whole iteration,
 * beginning with {@link #beginIteration}, is within a {@code try}, whose handler logs with {@link
 * #logSafely}.
 *
 * <p>Safe for use by any thread.
 *
 * @since 0.1.0
 */
public final class Threads {
  /** For tests: called on each start, on the starting thread. */
  private static volatile @Nullable Consumer<String> onStart;

  /** For tests: called on each iteration, on the thread itself. */
  private static volatile @Nullable Consumer<String> onIteration;

  private Threads() {}

  /**
   * Starts a thread.
   *
   * @param name its name
   * @param body what it does
   * @return the thread, which has started
   * @throws Refused if the system allows no more threads; nothing has been started then
   */
  public static Thread start(String name, Runnable body) {
    Thread thread = unstarted(name, body);
    thread.start();
    return thread;
  }

  /**
   * Creates a thread that the caller starts, used for threads that must be known to others before
   * they start. The caller must make sure that no thread waits for it if its start fails.
   *
   * @param name its name
   * @param body what it does
   * @return the thread, not yet started
   */
  public static Thread unstarted(String name, Runnable body) {
    return new EngineThread(name, body);
  }

  /** The body of {@link #callUninterrupted}. */
  public interface UninterruptedCall<T extends @Nullable Object, X extends Exception> {
    /**
     * Performs the call.
     *
     * @return the result
     * @throws X if it fails
     */
    T call() throws X;
  }

  /**
   * Runs a call that fails on an interrupted thread, as those of FileChannel do, on a separate
   * thread that is never interrupted. The caller waits; an interrupt does not end the wait, and the
   * flag is kept.
   *
   * @param name the name of the thread
   * @param body what to call
   * @return its result
   * @throws X its exception
   * @throws OutOfMemoryError if the system allows no more threads; nothing was called then
   */
  @SuppressWarnings("unchecked") // X is what the body declares
  public static <T extends @Nullable Object, X extends Exception> T callUninterrupted(
      String name, UninterruptedCall<T, X> body) throws X {
    AtomicReference<@Nullable T> result = new AtomicReference<>();
    AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
    Waits.join(
        start(
            name,
            () -> {
              try {
                result.set(body.call());
              } catch (Throwable t) {
                thrown.set(t);
              }
            }));
    switch (thrown.get()) {
      case null -> {
        return result.get();
      }
      case Error e -> throw e;
      case RuntimeException e -> throw e;
      case Throwable e -> throw (X) e;
    }
  }

  /**
   * Returns a factory of threads for a pool, which starts them.
   *
   * @param prefix the prefix of their names; a number follows
   * @return a factory that any thread may use
   */
  public static ThreadFactory factory(String prefix) {
    ThreadFactory made = Thread.ofPlatform().daemon().name(prefix, 0).factory();
    return body -> {
      // A pool does not call Thread.start, and treats a factory's exceptions like those of a start.
      starting(prefix);
      return made.newThread(body);
    };
  }

  /**
   * For tests: observes each start of a thread created here. The observer may throw the errors that
   * the system would throw. Applies to the whole process.
   *
   * @param observer receives the thread's name; null for none
   */
  public static void onStart(@Nullable Consumer<String> observer) {
    onStart = observer;
  }

  /**
   * Begins an iteration of a thread that serves others. Throws only exceptions of a test's
   * observer.
   */
  public static void beginIteration() {
    Consumer<String> observer = onIteration;
    if (observer != null) {
      observer.accept(Thread.currentThread().getName());
    }
  }

  /**
   * Logs a failure at a point where a failing logger must not keep other threads waiting. Does not
   * throw; the text is concatenated within this method for that reason.
   *
   * @param logger the logger
   * @param level the level
   * @param before the text before the name
   * @param name the name of the subject
   * @param after the text after the name
   * @param why the exception
   */
  public static void logSafely(
      System.Logger logger,
      System.Logger.Level level,
      String before,
      String name,
      String after,
      Throwable why) {
    try {
      logger.log(level, before + name + after, why);
    } catch (Throwable again) {
      // The caller notifies its waiters nevertheless.
    }
  }

  /**
   * For tests: observes each iteration. The observer may throw. Applies to the whole process.
   *
   * @param observer receives the thread's name; null for none
   */
  public static void onIteration(@Nullable Consumer<String> observer) {
    onIteration = observer;
  }

  private static void starting(String name) {
    Consumer<String> observer = onStart;
    if (observer != null) {
      observer.accept(name);
    }
  }

  /** Thrown if the system has no memory for another thread or allows no more. */
  public static final class Refused extends OutOfMemoryError {
    private static final long serialVersionUID = 1L;

    private final String thread;

    private Refused(String thread, OutOfMemoryError cause) {
      super("Can't start thread " + thread + ": " + cause.getMessage());
      this.thread = thread;
      initCause(cause);
    }

    /** Returns the name of the thread. */
    public String thread() {
      return thread;
    }
  }

  private static final class EngineThread extends Thread {
    EngineThread(String name, Runnable body) {
      super(body, name);
      setDaemon(true);
    }

    @Override
    public void start() {
      try {
        starting(getName());
        super.start();
      } catch (OutOfMemoryError e) {
        throw new Refused(getName(), e);
      }
    }
  }
}
