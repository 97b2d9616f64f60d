/**
 * <i>Taking the Shortcut</i> (Schuhknecht, CIDR 2024): the paper's hash tables, exact, and its
 * experiments. What the engine made of it is {@code ShortcutDirectory}; docs/benchmarks/shortcut.md
 * has the figures.
 */
package io.fovea.shortcut;
