package io.fovea.catalog;

import io.fovea.config.Duplicates;
import io.fovea.config.LoadProgress;
import java.util.function.Consumer;

/**
 * How a table is loaded.
 *
 * @param memoryBytes the memory for sorting, about
 * @param ascending whether records come in the order of their keys
 * @param fill how full pages are made, above 0 up to 1
 * @param duplicates what becomes of records of the same key
 * @param progress is told how far the load is, by its thread; may throw, which ends the load
 */
public record LoadSettings(
    long memoryBytes,
    boolean ascending,
    double fill,
    Duplicates duplicates,
    Consumer<? super LoadProgress> progress) {}
