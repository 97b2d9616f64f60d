package io.fovea.catalog;

/**
 * The result of a load.
 *
 * @param added records with new keys
 * @param replaced records that replaced existing ones
 * @param kept records ignored because their keys were already present
 * @param records records in the table after the load
 * @param pages pages written, including those of indexes
 * @param sortedBytes bytes of sorted runs in files
 * @param nanos duration in nanoseconds
 */
public record LoadResult(
    long added, long replaced, long kept, long records, long pages, long sortedBytes, long nanos) {}
