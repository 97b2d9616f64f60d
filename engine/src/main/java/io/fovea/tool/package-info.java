/**
 * Tools for files of databases: verify, stat, dump, backup.
 *
 * <p>Purpose: what a person runs from a command line ({@link io.fovea.tool.Tool}), or a test after
 * it has closed a database. Nothing but {@code backup} changes anything on disk: files are opened
 * for reading, and what has to be recovered is recovered in memory.
 *
 * <p>May import: everything below it, for a dump shows what the rooms have written; and picocli,
 * which nobody else may. Threading: static methods, any thread.
 */
@NullMarked
package io.fovea.tool;

import org.jspecify.annotations.NullMarked;
