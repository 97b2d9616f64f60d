package io.fovea.wal;

import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The segments of a log that is open in this process. Safe for use by any thread. */
record OwnSegments(Log log, SegmentFile file) implements LogSegments {
  @Override
  public UUID database() {
    return file.start.database();
  }

  @Override
  public long segmentBytes() {
    return file.segmentBytes;
  }

  @Override
  public long durableLsn() {
    return log.durableLsn();
  }

  @Override
  public boolean pin(long lsn) {
    return file.slots().pin(lsn);
  }

  @Override
  public void unpin(long lsn) {
    file.slots().unpin(lsn);
  }

  @Override
  public boolean find(long lsn, SegmentSlots.@Nullable Live[] out) {
    return file.slots().find(lsn, out);
  }

  @Override
  public long firstLsn() {
    return file.slots().firstLsn();
  }
}
