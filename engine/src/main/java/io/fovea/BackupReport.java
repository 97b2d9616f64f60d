package io.fovea;

import java.time.Duration;

/**
 * What a backup copied.
 *
 * <p>A value; any thread.
 *
 * @param pages pages of the data file
 * @param pagesReread pages among them that were being written when they were read, and were read
 *     again
 * @param dataBytes the size of the copy's data file
 * @param logBytes the size of the copy's log; 0 where it has none
 * @param duration how long it took
 * @since 0.1.0
 */
public record BackupReport(
    long pages, long pagesReread, long dataBytes, long logBytes, Duration duration) {}
