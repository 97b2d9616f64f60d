/**
 * Committed changes, read from the log while it is written.
 *
 * <pre>
 *   ChangeReader    commits in the order of the log, from a position on
 *   TableNames      which trees are tables, as of where the reader is
 *   ChangePoint     a position
 * </pre>
 *
 * <p>Contract: what is read was durable, and is read once and in the order of the log; a reader
 * begins again where it stopped, after any crash, or says that the log no longer has it. Nothing
 * here waits for, or holds up, transactions.
 */
@NullMarked
package io.fovea.changes;

import org.jspecify.annotations.NullMarked;
