/**
 * Translations beside each other: engines in processes of their own, which are all open and are
 * measured in turn.
 *
 * <p>{@link io.fovea.translations.Translations} has the figures, and {@link
 * io.fovea.translations.Engine} a process. The pages are docs/benchmarks/translations.md,
 * translations-larger.md, swizzling.md, drift.md and ladder.md.
 */
package io.fovea.translations;
