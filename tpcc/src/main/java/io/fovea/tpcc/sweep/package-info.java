/**
 * Runs another subcommand with all combinations of some options, in turn and several times, and
 * makes a table of the medians. Knows nothing of what the options mean.
 */
package io.fovea.tpcc.sweep;
