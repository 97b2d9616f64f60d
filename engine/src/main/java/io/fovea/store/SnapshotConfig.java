package io.fovea.store;

/**
 * What snapshots of a store may take.
 *
 * @param bufferBytes of the pool of each snapshot
 * @param memoryBytes of copies of pages, of all snapshots together
 * @param fileBytes of the file that copies go to which have no room in memory; 0 for none
 */
public record SnapshotConfig(long bufferBytes, long memoryBytes, long fileBytes) {}
