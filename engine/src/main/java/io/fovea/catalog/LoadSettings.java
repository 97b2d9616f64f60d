package io.fovea.catalog;

import io.fovea.config.Duplicates;
import io.fovea.config.LoadProgress;
import java.util.function.Consumer;

/**
 * The settings of a load.
 *
 * @param memoryBytes the approximate memory for sorting
 * @param ascending whether records arrive in key order
 * @param fill the fill factor of pages, above 0 and at most 1
 * @param duplicates which of two records with the same key is kept
 * @param progress receives the progress on the thread of the load; an exception ends the load
 */
public record LoadSettings(
    long memoryBytes,
    boolean ascending,
    double fill,
    Duplicates duplicates,
    Consumer<? super LoadProgress> progress) {}
