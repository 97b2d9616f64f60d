/**
 * The write-ahead log: what was done, in the order in which it holds.
 *
 * <p><b>May import</b>: io, memory, error. <b>Threads</b>: a {@link io.fovea.wal.LogSession}
 * belongs to one thread at a time; everything else is for any thread. <b>Latches</b>: none is taken
 * here; appending never waits once space was granted, so it is fine with latches held.
 */
@NullMarked
package io.fovea.wal;

import org.jspecify.annotations.NullMarked;
