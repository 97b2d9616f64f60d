package io.fovea.catalog;

import java.lang.foreign.MemorySegment;

/**
 * Supplies the records of a load.
 *
 * @param <X> the type of exception it throws
 */
@FunctionalInterface
public interface LoadFeed<X extends Exception> {
  /** Receives the records. */
  interface Sink {
    /** Copies a record from native memory. */
    void add(MemorySegment key, long off, int len, MemorySegment value, long vOff, int vLen);
  }

  /**
   * Supplies all records.
   *
   * @throws X to end the load without effect
   */
  void run(Sink sink) throws X;
}
