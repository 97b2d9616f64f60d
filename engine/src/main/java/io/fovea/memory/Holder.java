package io.fovea.memory;

/**
 * The operation and thread that hold a resource for which others wait, for messages.
 *
 * @param what the operation, as in {@code load table people}
 * @param threadId the id of its thread
 * @param threadName the name of its thread
 * @param since when the thread began to hold the resource, by {@link System#nanoTime}
 */
public record Holder(String what, long threadId, String threadName, long since) {
  /** Returns a holder for the calling thread, beginning now. */
  public static Holder now(String what) {
    Thread thread = Thread.currentThread();
    return new Holder(what, thread.threadId(), thread.getName(), System.nanoTime());
  }

  /** Returns whether the calling thread is the holder. */
  public boolean isMe() {
    return threadId == Thread.currentThread().threadId();
  }

  @Override
  public String toString() {
    String name = threadName.isEmpty() ? "" : " \"" + threadName + "\"";
    return "'"
        + what
        + "', on thread "
        + threadId
        + name
        + " for "
        + (System.nanoTime() - since) / 1_000_000
        + " ms";
  }
}
