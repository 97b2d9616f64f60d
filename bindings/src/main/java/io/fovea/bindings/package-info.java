/**
 * What Fovea calls outside the JVM: io_uring through liburing, and a few functions of libc.
 *
 * <p>Three layers, from the bottom: {@code io.fovea.bindings.generated} is what jextract made of
 * the headers and nothing else touches it; {@link io.fovea.bindings.FileCalls}, {@link
 * io.fovea.bindings.MemoryCalls}, {@link io.fovea.bindings.EventFd} and {@link
 * io.fovea.bindings.Libc} give its functions back their error numbers; {@link
 * io.fovea.bindings.Ring} does in Java what liburing does in inline functions, which no foreign
 * linker can bind.
 *
 * <p>Imports: the JDK and the generated package. Nothing of the engine.
 *
 * <p>Presence is a value: {@link io.fovea.bindings.Libc#probe()} and {@link
 * io.fovea.bindings.Uring#probe()} say whether the platform has what the other classes need, and
 * neither throws. Everything else may be touched only after its probe said {@link
 * io.fovea.bindings.Availability.Available}.
 *
 * <p>Errors: calls that fail in the ordinary course return the negated error number (see {@link
 * io.fovea.bindings.Errno}); set-up that the caller cannot go on without throws {@link
 * io.fovea.bindings.NativeException}.
 *
 * <p>Threads: the calls of libc may be made from any thread, virtual ones included, but a call that
 * blocks holds its carrier; a {@code Ring} belongs to the platform thread that opened it.
 */
@NullMarked
package io.fovea.bindings;

import org.jspecify.annotations.NullMarked;
