package io.fovea.buffer;

/**
 * Which pages are in use, and as of when.
 *
 * @param state of the allocator
 * @param lsn every allocation and every free whose record begins before this is in it, and no other
 */
public record AllocatorSnapshot(AllocatorState state, long lsn) {}
