/**
 * The native calls of Fovea: io_uring through liburing, and a few functions of libc.
 *
 * <p>Three layers, from the bottom: {@code io.fovea.bindings.generated} is the output of jextract.
 * This package uses its constants; tests compare its layouts and declarations with {@code
 * UringLayout} and {@code NativeFunction}, the one handle through which all functions are called.
 * {@link io.fovea.bindings.FileCalls}, {@link io.fovea.bindings.MemoryCalls}, {@link
 * io.fovea.bindings.EventFd} and {@link io.fovea.bindings.Libc} return error numbers. {@link
 * io.fovea.bindings.Ring} reimplements liburing's inline functions, which no foreign linker can
 * bind.
 *
 * <p>Imports: the JDK and the generated package, nothing of the engine.
 *
 * <p>Availability is a value: {@link io.fovea.bindings.Libc#probe()} and {@link
 * io.fovea.bindings.Uring#probe()} tell whether the platform has what the other classes need, and
 * never throw. Use the other classes only after their probe returned {@link
 * io.fovea.bindings.Availability.Available}.
 *
 * <p>Errors: ordinary failures are returned as negated error numbers (see {@link
 * io.fovea.bindings.Errno}). Setup without which the caller cannot continue throws {@link
 * io.fovea.bindings.NativeException}.
 *
 * <p>Threads: the calls of libc may be made from any thread, including virtual ones, but a call
 * that blocks pins its carrier. A {@code Ring} belongs to the platform thread that opened it.
 */
@NullMarked
package io.fovea.bindings;

import org.jspecify.annotations.NullMarked;
