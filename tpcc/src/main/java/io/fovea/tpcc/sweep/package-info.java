/**
 * Runs another subcommand with all combinations of option values, in several rounds, and tabulates
 * the medians. Independent of the meaning of the options.
 */
package io.fovea.tpcc.sweep;
