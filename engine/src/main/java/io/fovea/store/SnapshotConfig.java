package io.fovea.store;

/**
 * Limits on the snapshots of a store.
 *
 * @param bufferBytes the size of each snapshot's pool
 * @param memoryBytes the memory for page copies, for all snapshots together
 * @param fileBytes the size of the file for copies that do not fit in memory; 0 for none
 */
public record SnapshotConfig(long bufferBytes, long memoryBytes, long fileBytes) {}
