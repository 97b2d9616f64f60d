package io.fovea.wal;

/**
 * What a log has done since it was opened.
 *
 * @param records how many records were appended
 * @param bytes how many bytes of records were appended
 * @param bytesWritten how many bytes were written to the device, padding included
 * @param groups how many groups were written
 * @param syncs how often the device was synced
 * @param waits how many waits for durability had to wait
 * @param fileBytes how large the file is
 */
public record LogStats(
    long records,
    long bytes,
    long bytesWritten,
    long groups,
    long syncs,
    long waits,
    long fileBytes) {}
