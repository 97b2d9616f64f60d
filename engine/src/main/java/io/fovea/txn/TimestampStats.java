package io.fovea.txn;

import io.fovea.config.TimestampStore;

/**
 * Statistics of the timestamp store. Each counter is accurate, but together they need not describe
 * one instant.
 *
 * @param kind where the timestamps of unused items are kept
 * @param live current entries of the exact table, including unused ones
 * @param capacity the maximum number of entries within the budget
 * @param materialised entries made from the timestamps of unused items
 * @param approximate of these, the entries made from a bound above 0, which may be another item's
 * @param released entries released to the sketch
 * @param spilled entries that found their first bucket full of entries in use
 * @param refused pins that found the whole budget in use
 * @param converted transactions that count references, because they were long or large
 * @param evictions idle transactions aborted for their memory
 * @param suspectedFalseConflicts transactions that met a conflict after making an entry from a
 *     bound above 0
 * @param resizes size changes of the sketch
 * @param pageReads pages of timestamps read
 * @param pageWrites pages of timestamps written
 * @param epochs by how much the epoch has advanced
 * @param sketchBytes native memory of the sketch
 * @param bytes native memory reserved, including the sketch and pages
 */
public record TimestampStats(
    TimestampStore kind,
    long live,
    long capacity,
    long materialised,
    long approximate,
    long released,
    long spilled,
    long refused,
    long converted,
    long evictions,
    long suspectedFalseConflicts,
    long resizes,
    long pageReads,
    long pageWrites,
    long epochs,
    long sketchBytes,
    long bytes) {

  /** Returns the native memory of the current entries and the sketch. */
  public long bytesLive() {
    return bytes - (capacity - live) * TimestampTable.SLOT_BYTES;
  }
}
