package io.fovea.wal;

/**
 * Counters of a log since it was opened.
 *
 * @param records the number of records appended
 * @param bytes the number of bytes of records appended
 * @param bytesWritten the number of bytes written to the device, including padding
 * @param groups the number of groups written
 * @param syncs the number of device syncs
 * @param waits the number of waits for durability that did not return immediately
 * @param fileBytes the size of the file
 */
public record LogStats(
    long records,
    long bytes,
    long bytesWritten,
    long groups,
    long syncs,
    long waits,
    long fileBytes) {}
