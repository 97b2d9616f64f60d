package io.fovea.wal;

import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The location of durable records in a log's file, for {@link DurableRecords}. */
interface LogSegments {
  /** Returns the database that the log belongs to. */
  UUID database();

  /** Returns the size of a slot. */
  long segmentBytes();

  /** Returns the position up to which everything is on stable storage. */
  long durableLsn();

  /** Pins the log; see {@link SegmentSlots#pin(long)}. */
  boolean pin(long lsn);

  /** Releases a pin; see {@link SegmentSlots#unpin}. */
  void unpin(long lsn);

  /** Finds a segment; see {@link SegmentSlots#find}. */
  boolean find(long lsn, SegmentSlots.@Nullable Live[] out);

  /** Returns the start of the oldest record. */
  long firstLsn();
}
