/**
 * Code common to the subcommands: shared options for picocli to mix in, their validation, and
 * opening a database with them. Imports {@code bench} only.
 */
package io.fovea.tpcc.settings;
