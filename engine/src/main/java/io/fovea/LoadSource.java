package io.fovea;

/**
 * The source of a load: code that adds records one by one.
 *
 * @param <L> the receiver: {@link RowLoad} or {@link TableLoad}
 * @param <X> the type of exception that it throws
 * @since 0.1.0
 */
@FunctionalInterface
public interface LoadSource<L, X extends Exception> {
  /**
   * Adds all records. Runs once, in the loading thread, outside of any transaction; it may run
   * transactions and read a {@linkplain Database#snapshot snapshot}.
   *
   * @param into receives the records; valid until this method returns
   * @throws X to cancel the load, in which case nothing is loaded
   */
  void run(L into) throws X;
}
