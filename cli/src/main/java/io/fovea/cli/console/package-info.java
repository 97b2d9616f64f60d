/**
 * The web server of the console: one page, its files, and answers in JSON, for the owner of a
 * token.
 *
 * <p>Uses the JDK's HTTP server and Gson, and knows nothing of databases: {@link
 * io.fovea.cli.console.ConsoleServer} is given the answers as functions. Threading: requests run on
 * the server's threads, several at a time.
 */
@NullMarked
package io.fovea.cli.console;

import org.jspecify.annotations.NullMarked;
