/**
 * <i>Taking the Shortcut</i> (Schuhknecht, CIDR 2024): the paper's hash tables, exact, and its
 * experiments. The engine's version is {@code ShortcutDirectory}; docs/benchmarks/shortcut.md has
 * the figures.
 */
package io.fovea.shortcut;
