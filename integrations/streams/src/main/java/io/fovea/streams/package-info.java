/**
 * State stores of Kafka Streams in a Fovea database.
 *
 * <p>Purpose: {@link io.fovea.streams.FoveaStores} gives Kafka Streams stores that keep their data
 * in one database of the Streams instance.
 *
 * <p>May import: the engine's API and Kafka Streams. What is internal of Kafka goes through one
 * class, {@code KafkaInternals}. Threading: a store is written by the stream thread of its task;
 * any thread reads it.
 */
@NullMarked
package io.fovea.streams;

import org.jspecify.annotations.NullMarked;
