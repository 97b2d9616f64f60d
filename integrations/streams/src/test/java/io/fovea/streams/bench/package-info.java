/**
 * Fovea's state stores beside RocksDB's, in Kafka Streams: {@code docs/benchmarks/run.sh streams}.
 *
 * <p>{@link io.fovea.streams.bench.StreamsBench} asks the questions; each measurement has a process
 * of its own, {@link io.fovea.streams.bench.StoreBench} without a broker and {@link
 * io.fovea.streams.bench.AppBench} with one.
 */
package io.fovea.streams.bench;
