/**
 * Native memory: access by offset, comparison and copying, hashing, checksums, reserved regions.
 * Also polling waits and the creation of threads.
 *
 * <p>Purpose: the only place where bytes outside the Java heap are read and written. Everything
 * above passes a {@link java.lang.foreign.MemorySegment} and an offset; nothing above holds an
 * address.
 *
 * <p>May import: {@code io.fovea.error} and the module {@code io.fovea.bindings}.
 *
 * <p>Threading: static functions without state, except for the test observers of {@link
 * io.fovea.memory.Threads}. Each method's name says whether an access is atomic and in which order;
 * all others are plain.
 */
@NullMarked
package io.fovea.memory;

import org.jspecify.annotations.NullMarked;
