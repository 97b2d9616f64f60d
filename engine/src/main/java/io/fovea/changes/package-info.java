/**
 * Committed changes, read from the log while it is written.
 *
 * <pre>
 *   ChangeReader    commits in the order of the log, starting at a position
 *   TableNames      the trees that are tables, at the position of the reader
 *   ChangePoint     a position
 * </pre>
 *
 * <p>Contract: only durable commits are read, once each, in the order of the log. A reader resumes
 * where it stopped, after any crash, or reports that the log no longer contains that position.
 * Nothing here waits for, or delays, transactions.
 */
@NullMarked
package io.fovea.changes;

import org.jspecify.annotations.NullMarked;
