/**
 * A database as a replicated state machine: the part that knows no consensus protocol.
 *
 * <p>Purpose: apply the entries of a replicated log to a database, each in one transaction together
 * with its position in the log; remember what clients have submitted; give copies of the database
 * away, and take them in. An adapter calls {@link io.fovea.replication.Replica}; {@code
 * io.fovea.ratis} has the one for Apache Ratis.
 *
 * <p>May import: the engine's API. No class of Ratis: {@code RoomsTest} holds that.
 *
 * <p>Threading: one thread applies entries. Any thread reads, and asks for copies.
 */
@NullMarked
package io.fovea.replication;

import org.jspecify.annotations.NullMarked;
