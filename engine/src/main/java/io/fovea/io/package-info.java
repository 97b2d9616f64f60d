/**
 * Block devices: the only door between the engine and storage.
 *
 * <p>Purpose: {@link io.fovea.io.BlockDevice} and its kinds: io_uring, positioned reads and writes
 * through libc, native memory. A simulated one lives with the tests. {@link io.fovea.io.Devices}
 * picks one; {@link io.fovea.io.FileLock} keeps a file to one opener.
 *
 * <p>May import: {@code io.fovea.error}, {@code io.fovea.memory} and the module {@code
 * io.fovea.bindings}.
 *
 * <p>Threading: devices may be used by any number of threads, platform or virtual. A virtual thread
 * makes no blocking call into the kernel; it parks while a thread of the device does. No
 * interruptible channel is used anywhere: an interrupt neither ends an operation nor closes a file,
 * and the flag of the interrupted thread is kept. Batches belong to one thread at a time. Nothing
 * here calls back into the engine, and no latch of another room may be needed to finish an
 * operation.
 */
@NullMarked
package io.fovea.io;

import org.jspecify.annotations.NullMarked;
