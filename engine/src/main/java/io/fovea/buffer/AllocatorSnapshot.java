package io.fovea.buffer;

/**
 * Which pages were in use at a position in the log.
 *
 * @param state the state of the allocator
 * @param lsn the state includes exactly the allocations and frees whose records begin before it
 */
public record AllocatorSnapshot(AllocatorState state, long lsn) {}
