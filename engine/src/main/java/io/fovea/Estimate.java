package io.fovea;

/**
 * The approximate contents of a range, from {@link RowTable#estimate} or {@link RowIndex#estimate}.
 *
 * @param count the number of records, or of entries of an index
 * @param bytes the size of their keys and values as stored, including values outside the leaves but
 *     not free space in pages
 * @since 0.1.0
 */
public record Estimate(long count, long bytes) {}
