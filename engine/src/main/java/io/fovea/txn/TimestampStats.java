package io.fovea.txn;

import io.fovea.config.TimestampStore;

/**
 * What the timestamp store did since it was made. Counters are read while others count: each is
 * right, together they need not belong to one moment.
 *
 * @param kind where the timestamps of items out of use are
 * @param live entries of the exact table now, those no longer in use among them
 * @param capacity the most entries that the budget allows
 * @param materialised entries made from the sketch, or from where such timestamps are
 * @param approximate how many of those found a bound above 0 there, which may be another item's
 * @param released entries that went back to the sketch
 * @param spilled entries that found their first bucket full of entries in use
 * @param refused pins that found the whole budget in use
 * @param converted transactions that outlived several epochs, or grew large, and count since then
 * @param expelled idle transactions that were aborted because all others would have had to wait
 * @param suspectedFalseConflicts transactions that met a conflict after they had made an entry of a
 *     bound above 0
 * @param resizes how often the sketch got another size
 * @param pageReads pages of timestamps that were read
 * @param pageWrites pages of timestamps that were written
 * @param epochs by how much the epoch has advanced
 * @param sketchBytes native memory of the sketch
 * @param bytes native memory reserved, sketch and pages included
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
    long expelled,
    long suspectedFalseConflicts,
    long resizes,
    long pageReads,
    long pageWrites,
    long epochs,
    long sketchBytes,
    long bytes) {

  /** Native memory of the entries that there are now, sketch included. */
  public long bytesLive() {
    return bytes - (capacity - live) * TimestampTable.SLOT_BYTES;
  }
}
