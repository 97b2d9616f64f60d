package io.fovea;

/**
 * The body of a transaction that gives no result. It may run more than once.
 *
 * @param <X> what it throws
 * @since 0.1.0
 */
@FunctionalInterface
public interface Task<X extends Exception> {
  /**
   * Does the work.
   *
   * @param tx the transaction to do it in; belongs to the calling thread and ends with the body
   * @throws X to roll the transaction back
   */
  void run(Transaction tx) throws X;
}
