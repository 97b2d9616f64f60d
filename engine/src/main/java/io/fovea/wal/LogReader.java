package io.fovea.wal;

import io.fovea.io.BlockDevice;
import java.lang.foreign.MemorySegment;
import java.util.UUID;

/** Reads a log from a position to its end. One thread. */
public final class LogReader implements AutoCloseable {
  private LogReader() {}

  /**
   * Opens a log for reading.
   *
   * @param device the file
   * @param database whose log it must be
   * @param fromLsn the first record
   * @throws io.fovea.error.CorruptionException if the log does not reach back so far
   */
  public static LogReader open(BlockDevice device, UUID database, long fromLsn) {
    throw new UnsupportedOperationException();
  }

  /**
   * Goes to the next record.
   *
   * @return false at the end of what is valid
   * @throws io.fovea.error.CorruptionException for damage below what was durable
   */
  public boolean next() {
    throw new UnsupportedOperationException();
  }

  /** The kind of the record. */
  public int type() {
    throw new UnsupportedOperationException();
  }

  /** Where it begins. */
  public long start() {
    throw new UnsupportedOperationException();
  }

  /** Where it ends; after {@link #next} returned false, where the log ends. */
  public long end() {
    throw new UnsupportedOperationException();
  }

  /** The memory with its body, until the next call. */
  public MemorySegment segment() {
    throw new UnsupportedOperationException();
  }

  /** Where the body begins there. */
  public long body() {
    throw new UnsupportedOperationException();
  }

  /** How long the body is. */
  public int bodyLength() {
    throw new UnsupportedOperationException();
  }

  /** The highest incarnation that was met. */
  public long incarnation() {
    throw new UnsupportedOperationException();
  }

  @Override
  public void close() {}
}
