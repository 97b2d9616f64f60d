/**
 * A replicated database on Apache Ratis.
 *
 * <p>Purpose: {@link io.fovea.ratis.ReplicatedDatabase} takes part in a group of peers that hold
 * the same database. Commands go through the log of the group and are applied by each peer; reads
 * are those of one peer, after an entry of the log where they are to be linearizable.
 *
 * <p>May import: {@code io.fovea.replication}, the engine's API, Ratis; Micrometer in {@link
 * io.fovea.ratis.ReplicationMetrics} alone.
 *
 * <p>Threading: any thread, unless a type says otherwise.
 */
@NullMarked
package io.fovea.ratis;

import org.jspecify.annotations.NullMarked;
