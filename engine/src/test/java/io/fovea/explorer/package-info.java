/**
 * Runs all operations of the API at once against one small database, to find interference.
 *
 * <pre>
 *   Explorer ──seed──► Setup      protocol, pool, log, device ...
 *      │                 │
 *      └──────► Round ──lives──► Life        one opening, its threads, and how it ends:
 *                 │                │         close, kill, fault, rest
 *                 │                └─steps─► Feature    one kind of operation, with its own check
 *                 └──reopens, checks──► ExpectedState   what must have survived
 * </pre>
 *
 * <p>With {@code --delays} the engine runs with delays at random sites ({@link
 * io.fovea.explorer.Delays}); while a database ends, threads are stopped in the middle of their
 * operations until the end has overtaken them.
 */
@NullMarked
package io.fovea.explorer;

import org.jspecify.annotations.NullMarked;
