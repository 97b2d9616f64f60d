package io.fovea.store;

/**
 * Limits of the snapshots of a store.
 *
 * @param bufferBytes of each snapshot's pool
 * @param memoryBytes of page copies, for all snapshots together
 * @param fileBytes of the file for copies that exceed the memory; 0 for none
 */
public record SnapshotConfig(long bufferBytes, long memoryBytes, long fileBytes) {}
