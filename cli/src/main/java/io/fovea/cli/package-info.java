/**
 * The command {@code fovea}, which inspects and changes database files.
 *
 * <p>Uses only the engine's exported packages. {@link io.fovea.cli.Main} is the command line; each
 * command is a class that extends {@link io.fovea.cli.FileCommand}. Answers go to standard output,
 * everything else to standard error. Threading: one thread per command line.
 *
 * <p>A shell ({@link io.fovea.cli.Shell}) runs the same commands on a database that it has open:
 * {@link io.fovea.cli.FileCommand} returns that database to them.
 *
 * <p>{@link io.fovea.cli.ServeCommand} answers the requests of a browser with the classes named
 * {@code Console}, on the threads of {@link io.fovea.cli.console.ConsoleServer}.
 */
@NullMarked
package io.fovea.cli;

import org.jspecify.annotations.NullMarked;
