package io.fovea.ratis;

/**
 * The result of a command that was applied: the command is in the log of a majority of the peers.
 *
 * @param index the log entry that applied it; for {@link Consistency#atLeast}
 * @param result the bytes that the command returned
 * @since 0.1.0
 */
public record CommandResult(long index, byte[] result) {}
