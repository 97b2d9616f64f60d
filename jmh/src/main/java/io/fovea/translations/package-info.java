/**
 * Comparison of translations: engines in separate processes, all open, measured in turn.
 *
 * <p>{@link io.fovea.translations.Translations} has the figures, and {@link
 * io.fovea.translations.Engine} a process. The pages are docs/benchmarks/predictive.md and
 * swizzling.md.
 */
package io.fovea.translations;
