/**
 * What the subcommands have in common: the options that several of them have, each described once,
 * for picocli to mix in; the mistakes in them; and how a database is opened with them. Imports
 * {@code bench} only.
 */
package io.fovea.tpcc.settings;
