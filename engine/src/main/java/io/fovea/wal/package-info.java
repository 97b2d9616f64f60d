/**
 * The write-ahead log: changes in their serialization order, made durable in groups.
 *
 * <pre>
 *   LogSession    appending: a slot, a grant of space, a record         Log         the facade
 *   Ring          memory that appenders fill and the writer empties     Space       waits for ring space
 *   LogWriter     groups: gathering, leaders, the sync                  DurabilityWaiters  waits for syncs
 *   --- the file
 *   SegmentFile   moves the writer from segment to segment              SegmentHeader
 *   SegmentSlots  live and free slots, recycling, pins                  SegmentSpace   file space, and waits
 *   SegmentPreallocator  makes slots ahead of need                      SlotFile      slots on the device
 *   --- reading
 *   LogReader     end of the log, or damage                             SegmentScan, ReadWindow
 *   Watermark     how far the log is known to have been durable         LogCopy     for a backup
 *   DurableRecords  records while the log is written                    ChangeSubscribers  woken for more
 *   --- bytes
 *   Record, RecordType, Group
 * </pre>
 *
 * <p><b>May import</b>: io, memory, error. <b>Threads</b>: a {@link io.fovea.wal.LogSession}
 * belongs to one thread at a time; everything else is for any thread. <b>Latches</b>: this package
 * takes none. Appending never waits once space was granted, so it may be done with latches held.
 *
 * <p>The memory order and the argument are in docs/internals/log-and-recovery.md.
 */
@NullMarked
package io.fovea.wal;

import org.jspecify.annotations.NullMarked;
