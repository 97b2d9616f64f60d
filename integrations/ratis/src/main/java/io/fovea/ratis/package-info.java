/**
 * A replicated database on Apache Ratis.
 *
 * <p>Purpose: {@link io.fovea.ratis.ReplicatedDatabase} is one peer of a group that replicates a
 * database. Commands go through the group's log, and each peer applies them. Reads run on one peer;
 * a linearizable read first waits for a new entry of the log.
 *
 * <p>May import: {@code io.fovea.replication}, the engine's API, Ratis; Micrometer in {@link
 * io.fovea.ratis.ReplicationMetrics} alone.
 *
 * <p>Threading: thread-safe, unless a type says otherwise.
 */
@NullMarked
package io.fovea.ratis;

import org.jspecify.annotations.NullMarked;
