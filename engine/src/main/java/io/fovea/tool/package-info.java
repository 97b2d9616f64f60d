/**
 * Tools for files of databases: the verifier.
 *
 * <p>Purpose: what a person runs from a command line, or a test after it has closed a database.
 *
 * <p>May import: the API. Threading: static methods, any thread.
 */
@NullMarked
package io.fovea.tool;

import org.jspecify.annotations.NullMarked;
