/**
 * All operations of the API at once, against one small database: do they get into each other's way?
 *
 * <pre>
 *   Explorer ──seed──► Setup      which protocol, pool, log, device ...
 *      │                 │
 *      └──────► Round ──lives──► Life        one opening, its threads, and how it ends:
 *                 │                │         close, kill, fault, rest
 *                 │                └─steps─► Feature    one kind of operation, with its own check
 *                 └──reopens, checks──► Truth           what must have survived
 * </pre>
 */
@NullMarked
package io.fovea.explorer;

import org.jspecify.annotations.NullMarked;
