package io.fovea.memory;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Makes the threads of the engine. They are platform threads and daemons.
 *
 * <p><b>A start may fail.</b> Where the system has no memory or no room for one more thread, {@link
 * Thread#start} throws an {@link OutOfMemoryError}. So a thread is noted as running after its
 * start, and not before: {@link #start} returns it then. Else nobody would start another, and who
 * waits for its work would wait for ever.
 *
 * <p><b>A turn may fail.</b> A thread that serves others as long as a database is open survives
 * whatever a turn of its loop throws: nobody would make another. So all of a turn lies within a
 * {@code try}, from {@link #turn} on, and its handler logs by {@link #tell}.
 *
 * <p>Any thread.
 *
 * @since 0.1.0
 */
public final class Threads {
  /** For tests: told of each start, on the thread that starts. */
  private static volatile @Nullable Consumer<String> onStart;

  /** For tests: told of each turn, on the thread itself. */
  private static volatile @Nullable Consumer<String> onTurn;

  private Threads() {}

  /**
   * Starts a thread.
   *
   * @param name its name
   * @param body what it does
   * @return the thread, which has begun
   * @throws Refused where there is no thread to be had; nothing has begun then
   */
  public static Thread start(String name, Runnable body) {
    Thread thread = unstarted(name, body);
    thread.start();
    return thread;
  }

  /**
   * A thread that the caller starts: for one that is known to others before it begins. The caller
   * says why nobody waits for it if its start fails.
   *
   * @param name its name
   * @param body what it does
   * @return the thread, not started
   */
  public static Thread unstarted(String name, Runnable body) {
    return new EngineThread(name, body);
  }

  /** What {@link #undisturbed} does. */
  public interface Undisturbed<T extends @Nullable Object, X extends Exception> {
    /**
     * Does it.
     *
     * @return the result
     * @throws X where it fails
     */
    T call() throws X;
  }

  /**
   * Calls something that fails where its thread is interrupted, such as a FileChannel does, on a
   * thread of its own that nobody interrupts. The caller waits; an interrupt does not end the wait,
   * and is kept.
   *
   * @param name of the thread
   * @param body what to call
   * @return its result
   * @throws X what it throws
   * @throws OutOfMemoryError where there is no thread to be had; nothing was called then
   */
  @SuppressWarnings("unchecked") // X is what the body declares
  public static <T extends @Nullable Object, X extends Exception> T undisturbed(
      String name, Undisturbed<T, X> body) throws X {
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
   * Makes threads for a pool, which starts them.
   *
   * @param prefix of their names; a number follows
   * @return a factory; any thread
   */
  public static ThreadFactory factory(String prefix) {
    ThreadFactory made = Thread.ofPlatform().daemon().name(prefix, 0).factory();
    return body -> {
      // A pool does not call Thread.start, and treats what a factory throws as what a start throws.
      starting(prefix);
      return made.newThread(body);
    };
  }

  /**
   * For tests: has each start of a thread made here told to somebody, who may throw what the system
   * would. Of the whole process.
   *
   * @param told gets the thread's name; null for nobody
   */
  public static void onStart(@Nullable Consumer<String> told) {
    onStart = told;
  }

  /**
   * A thread that serves others begins a turn of its loop. Throws nothing but what a test throws.
   */
  public static void turn() {
    Consumer<String> told = onTurn;
    if (told != null) {
      told.accept(Thread.currentThread().getName());
    }
  }

  /**
   * Logs what has failed, where nobody may be kept waiting for a logger that fails as well, perhaps
   * for the same reason. Throws nothing; the words are put together within it.
   *
   * @param logger where to
   * @param level how bad it is
   * @param before the words before the name
   * @param name of whom it is
   * @param after the words behind the name
   * @param why what was thrown
   */
  public static void tell(
      System.Logger logger,
      System.Logger.Level level,
      String before,
      String name,
      String after,
      Throwable why) {
    try {
      logger.log(level, before + name + after, why);
    } catch (Throwable again) {
      // Whoever waits is told all the same.
    }
  }

  /**
   * For tests: has each turn told to somebody, who may throw. Of the whole process.
   *
   * @param told gets the thread's name; null for nobody
   */
  public static void onTurn(@Nullable Consumer<String> told) {
    onTurn = told;
  }

  private static void starting(String name) {
    Consumer<String> told = onStart;
    if (told != null) {
      told.accept(name);
    }
  }

  /** No thread is to be had: the system has no memory for one, or allows no more. */
  public static final class Refused extends OutOfMemoryError {
    private static final long serialVersionUID = 1L;

    private final String thread;

    private Refused(String thread, OutOfMemoryError cause) {
      super("Can't start thread " + thread + ": " + cause.getMessage());
      this.thread = thread;
      initCause(cause);
    }

    /** The name of the thread. */
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
