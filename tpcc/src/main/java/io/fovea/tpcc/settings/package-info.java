/**
 * What the subcommands have in common on the command line: how a database is opened, how sizes,
 * times and words are written, which mistakes there are. Imports {@code bench} only.
 */
package io.fovea.tpcc.settings;
