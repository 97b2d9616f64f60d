/**
 * The command {@code fovea}: what a person, or a script, asks files of databases.
 *
 * <p>It uses the engine's exported packages only. {@link io.fovea.cli.Main} is the command line;
 * each command is a class of its own, which extends {@link io.fovea.cli.FileCommand}. Answers go to
 * standard output, everything else to standard error. Threading: one thread for each command line.
 *
 * <p>A shell ({@link io.fovea.cli.Shell}) runs the same commands for a database that it has open:
 * they ask {@link io.fovea.cli.FileCommand} for theirs, and are given that one.
 */
@NullMarked
package io.fovea.cli;

import org.jspecify.annotations.NullMarked;
