package io.fovea.catalog;

/**
 * The result of a load.
 *
 * @param added records with new keys
 * @param replaced records that replaced others
 * @param kept records ignored because others had their keys
 * @param records records of the table now
 * @param pages pages written, including those of indexes
 * @param sortedBytes bytes of sorted runs in files
 * @param nanos duration in nanoseconds
 */
public record LoadResult(
    long added, long replaced, long kept, long records, long pages, long sortedBytes, long nanos) {}
