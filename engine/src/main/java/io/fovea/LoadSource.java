package io.fovea;

/**
 * Where the records of a load come from: code that adds them one by one.
 *
 * @param <L> what they are added to: {@link RowLoad} or {@link TableLoad}
 * @param <X> what it throws
 * @since 0.1.0
 */
@FunctionalInterface
public interface LoadSource<L, X extends Exception> {
  /**
   * Adds all records. Runs once, in the thread that loads, outside of any transaction; it may run
   * transactions of its own, and read a {@linkplain Database#snapshot snapshot}.
   *
   * @param into takes them, until this returns
   * @throws X to give the load up; nothing is loaded then
   */
  void run(L into) throws X;
}
