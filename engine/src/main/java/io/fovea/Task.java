package io.fovea;

/**
 * The body of a transaction without a result. It may run more than once.
 *
 * @param <X> the exception that it throws
 * @since 0.1.0
 */
@FunctionalInterface
public interface Task<X extends Exception> {
  /**
   * Runs the body.
   *
   * @param tx the transaction; belongs to the calling thread and ends with the body
   * @throws X to roll the transaction back
   */
  void run(Transaction tx) throws X;
}
