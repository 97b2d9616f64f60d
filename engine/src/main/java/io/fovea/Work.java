package io.fovea;

/**
 * The body of a transaction with a result. It may run more than once; the last result counts.
 *
 * @param <R> the type of the result
 * @param <X> the exception that it throws
 * @since 0.1.0
 */
@FunctionalInterface
public interface Work<R extends @org.jspecify.annotations.Nullable Object, X extends Exception> {
  /**
   * Runs the body.
   *
   * @param tx the transaction; belongs to the calling thread and ends with the body
   * @return the result
   * @throws X to roll the transaction back
   */
  R call(Transaction tx) throws X;
}
