/**
 * Benchmarks of Fovea's and RocksDB's state stores in Kafka Streams: {@code docs/benchmarks/run.sh
 * streams}.
 *
 * <p>{@link io.fovea.streams.bench.StreamsBench} runs each measurement in its own process: {@link
 * io.fovea.streams.bench.StoreBench} without a broker, {@link io.fovea.streams.bench.AppBench} with
 * one.
 */
package io.fovea.streams.bench;
