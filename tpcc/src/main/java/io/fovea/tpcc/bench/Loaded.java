package io.fovea.tpcc.bench;

/**
 * What a load has done.
 *
 * @param rows how many rows it has made
 * @param seconds how long that took
 */
public record Loaded(long rows, double seconds) {}
