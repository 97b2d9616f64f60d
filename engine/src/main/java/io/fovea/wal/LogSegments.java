package io.fovea.wal;

import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Where in its file a log has what is durable: what {@link DurableRecords} asks. */
interface LogSegments {
  /** Whose log it is. */
  UUID database();

  /** The distance of slots. */
  long segmentBytes();

  /** How far everything is on stable storage. */
  long durableLsn();

  /** As {@link SegmentSlots#pin(long)}. */
  boolean pin(long lsn);

  /** As {@link SegmentSlots#unpin}. */
  void unpin(long lsn);

  /** As {@link SegmentSlots#find}. */
  boolean find(long lsn, SegmentSlots.@Nullable Live[] out);

  /** Where what is there begins. */
  long firstLsn();
}
