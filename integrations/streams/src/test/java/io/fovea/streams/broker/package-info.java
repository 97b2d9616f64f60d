/**
 * Kafka Streams as its users run it: a broker in a process of its own, and applications that are
 * killed.
 *
 * <p>{@link io.fovea.streams.broker.Broker} starts the broker. {@link
 * io.fovea.streams.broker.Child} starts any other process; an application of Kafka Streams is a
 * {@link io.fovea.streams.broker.CountApp} in it. All processes end when the one that started them
 * does, however that ends.
 *
 * <p>{@code -Dstreams.seed=N} begins elsewhere, {@code -Dstreams.kills=N} says how often an
 * application is killed. What was tried is in {@code target/soak-report.txt}.
 */
package io.fovea.streams.broker;
