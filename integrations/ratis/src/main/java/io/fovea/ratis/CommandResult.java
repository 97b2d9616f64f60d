package io.fovea.ratis;

/**
 * A command was applied: it is in the log of a majority of the peers.
 *
 * @param index the entry of the log that it was applied by; for {@link Consistency#atLeast}
 * @param result what the command returned
 * @since 0.1.0
 */
public record CommandResult(long index, byte[] result) {}
