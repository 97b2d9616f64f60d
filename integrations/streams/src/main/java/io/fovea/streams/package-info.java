/**
 * State stores of Kafka Streams in a Fovea database.
 *
 * <p>Purpose: {@link io.fovea.streams.FoveaStores} supplies stores that keep their data in one
 * database per Streams instance.
 *
 * <p>May import: the engine's API and Kafka Streams. Only the class {@code KafkaInternals} uses
 * internals of Kafka. Threading: the stream thread of a task writes its stores; any thread reads
 * them.
 */
@NullMarked
package io.fovea.streams;

import org.jspecify.annotations.NullMarked;
