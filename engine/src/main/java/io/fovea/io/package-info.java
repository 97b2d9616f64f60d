/**
 * Block devices: the only interface between the engine and storage.
 *
 * <pre>
 *   BlockDevice    reads, writes, syncs                    IoBatch      many operations together
 *   Devices        which device is opened, and why         IoErrors     meanings of errors
 *   UringDevice    io_uring ─ RingPoller (its thread)      ReadRing     a ring that one thread uses at a time
 *   PosixDevice    positioned reads and writes ─ Workers (its threads)
 *   MemoryDevice   no file                                 OverlayDevice  a private copy in memory
 *   LibcFile, JdkFile       a file with native access, and without
 *   Storage        the files of a database                 FileLock     one writer, or many readers
 * </pre>
 *
 * <p>A simulated device lives with the tests.
 *
 * <p>May import: {@code io.fovea.config}, {@code io.fovea.error}, {@code io.fovea.memory} and the
 * module {@code io.fovea.bindings}.
 *
 * <p>Threading: devices may be used by any number of threads, platform or virtual. A virtual thread
 * makes no blocking call into the kernel; it parks while a thread of the device does. No
 * interruptible channel is used: an interrupt neither ends an operation nor closes a file, and the
 * flag of the interrupted thread is kept. Batches belong to one thread at a time. Only {@link
 * io.fovea.io.IoBatch.Completion} calls back into the engine; it may take latches that are held
 * briefly. No other latch of the engine is needed to finish an operation.
 */
@NullMarked
package io.fovea.io;

import org.jspecify.annotations.NullMarked;
