/**
 * Native memory: access by offset, comparison and copying, hashing, checksums, reserved regions;
 * how threads wait for what others write there, and how threads are made.
 *
 * <p>Purpose: the one place where bytes outside the Java heap are read and written. Everything
 * above passes a {@link java.lang.foreign.MemorySegment} and an offset; nothing above holds an
 * address.
 *
 * <p>May import: {@code io.fovea.error} and the module {@code io.fovea.bindings}.
 *
 * <p>Threading: static functions without state, but for what a test has told {@link
 * io.fovea.memory.Threads}. Which access is atomic and in which order is said by each method's
 * name; all others are plain.
 */
@NullMarked
package io.fovea.memory;

import org.jspecify.annotations.NullMarked;
