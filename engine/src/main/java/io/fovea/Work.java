package io.fovea;

/**
 * The body of a transaction that gives a result. It may run more than once; the result of the run
 * that committed counts.
 *
 * @param <R> what it gives
 * @param <X> what it throws
 * @since 0.1.0
 */
@FunctionalInterface
public interface Work<R extends @org.jspecify.annotations.Nullable Object, X extends Exception> {
  /**
   * Does the work.
   *
   * @param tx the transaction to do it in; belongs to the calling thread and ends with the body
   * @return the result
   * @throws X to roll the transaction back
   */
  R call(Transaction tx) throws X;
}
