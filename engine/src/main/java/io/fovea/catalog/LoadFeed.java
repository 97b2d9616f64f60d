package io.fovea.catalog;

import java.lang.foreign.MemorySegment;

/**
 * Gives the records of a load.
 *
 * @param <X> what it throws
 */
@FunctionalInterface
public interface LoadFeed<X extends Exception> {
  /** Takes them. */
  interface Sink {
    /** Takes a record, which is copied; all memory is native. */
    void add(MemorySegment key, long off, int len, MemorySegment value, long vOff, int vLen);
  }

  /**
   * Gives all records.
   *
   * @param sink where to
   * @throws X to end the load without a trace
   */
  void run(Sink sink) throws X;
}
