package io.fovea.catalog;

/**
 * What a load has done.
 *
 * @param added records whose keys the table did not have
 * @param replaced records that took the place of others
 * @param kept records that were left out, since others of their keys were there
 * @param records what the table has now
 * @param pages that were written, those of indexes included
 * @param sortedBytes what was sorted in files
 * @param nanos how long it took
 */
public record LoadResult(
    long added, long replaced, long kept, long records, long pages, long sortedBytes, long nanos) {}
