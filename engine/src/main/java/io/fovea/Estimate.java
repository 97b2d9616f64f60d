package io.fovea;

/**
 * About how much is in a range: what {@link RowTable#estimate} and {@link RowIndex#estimate}
 * return.
 *
 * @param count how many records, or entries of an index
 * @param bytes of their keys and values in the tree, as they are stored; values that are kept
 *     outside of the leaves included, room that pages have left not
 * @since 0.1.0
 */
public record Estimate(long count, long bytes) {}
