package io.fovea;

import io.fovea.error.AbortCause;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/**
 * Counters and sizes of a database at one moment. Counters run from when it was opened, and are
 * exact only while nothing happens.
 *
 * <p>A value; any thread.
 *
 * @param commits transactions that committed
 * @param rollbacks transactions that their own code rolled back, by a call or by an exception
 * @param abortsByCause attempts that were aborted, by cause; every cause is a key
 * @param retries attempts after the first
 * @param activeTransactions transactions that run now
 * @param oldestTransactionNanos the age of the oldest transaction that runs, 0 if none does
 * @param transactionNanos how long the transactions that committed took, together
 * @param buffer the buffer pool
 * @param io the device
 * @param storage the file
 * @since 0.1.0
 */
public record DatabaseStats(
    long commits,
    long rollbacks,
    Map<AbortCause, Long> abortsByCause,
    long retries,
    long activeTransactions,
    long oldestTransactionNanos,
    long transactionNanos,
    Buffer buffer,
    Device io,
    Storage storage) {

  /** Copies the map. */
  public DatabaseStats {
    Map<AbortCause, Long> copy = new EnumMap<>(AbortCause.class);
    copy.putAll(abortsByCause);
    abortsByCause = Collections.unmodifiableMap(copy);
  }

  /**
   * Attempts that were aborted, whatever the cause.
   *
   * @return their number
   */
  public long aborts() {
    return abortsByCause.values().stream().mapToLong(Long::longValue).sum();
  }

  /**
   * The buffer pool.
   *
   * @param bytesMax the memory that it may take
   * @param bytes the memory that it has
   * @param pageSize the size of a page, in bytes
   * @param frames how many pages it holds
   * @param framesFree frames that hold no page
   * @param framesDirty frames whose page is newer than the file
   * @param hits page accesses that were answered without reading
   * @param misses page accesses that read from the device
   * @param predicted accesses whose frame was guessed right
   * @param mispredicted accesses whose frame was found by the table
   * @param promotions pages that were moved to their home frame
   * @param evictionsClean pages dropped from the pool unchanged
   * @param evictionsDirty pages written and then dropped
   * @since 0.1.0
   */
  public record Buffer(
      long bytesMax,
      long bytes,
      int pageSize,
      long frames,
      long framesFree,
      long framesDirty,
      long hits,
      long misses,
      long predicted,
      long mispredicted,
      long promotions,
      long evictionsClean,
      long evictionsDirty) {}

  /**
   * The device.
   *
   * @param kind how the file is reached, as in {@code io_uring}
   * @param reads read operations
   * @param writes write operations
   * @param syncs sync operations
   * @param readBytes bytes read
   * @param writtenBytes bytes written
   * @param readErrors reads that failed
   * @param writeErrors writes that failed
   * @param syncErrors syncs that failed
   * @since 0.1.0
   */
  public record Device(
      String kind,
      long reads,
      long writes,
      long syncs,
      long readBytes,
      long writtenBytes,
      long readErrors,
      long writeErrors,
      long syncErrors) {}

  /**
   * The file.
   *
   * @param bytes its size
   * @param freeBytes the part of it that waits to be used again
   * @since 0.1.0
   */
  public record Storage(long bytes, long freeBytes) {}
}
