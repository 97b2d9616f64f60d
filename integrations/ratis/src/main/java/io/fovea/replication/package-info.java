/**
 * A database as a replicated state machine, independent of any consensus protocol.
 *
 * <p>Purpose: applies the entries of a replicated log to a database, each in one transaction
 * together with its position in the log; remembers submitted requests; sends copies of the database
 * and restores them. An adapter calls {@link io.fovea.replication.Replica}; {@code io.fovea.ratis}
 * is the one for Apache Ratis.
 *
 * <p>May import: the engine's API. No class of Ratis, as {@code ArchitectureTest} checks.
 *
 * <p>Threading: one thread applies entries. Any thread reads and requests copies.
 */
@NullMarked
package io.fovea.replication;

import org.jspecify.annotations.NullMarked;
