/**
 * Kafka Streams as users run it: a broker in a separate process, and applications that are killed.
 *
 * <p>{@link io.fovea.streams.broker.Broker} starts the broker, {@link
 * io.fovea.streams.broker.Child} any other process, such as a {@link
 * io.fovea.streams.broker.CountApp}. All processes end with the one that started them, however that
 * ends.
 *
 * <p>{@code -Dstreams.seed=N} sets the seed, {@code -Dstreams.kills=N} how often an application is
 * killed. {@code target/soak-report.txt} lists the runs.
 */
package io.fovea.streams.broker;
