package io.fovea;

import io.fovea.catalog.LoadFeed;
import io.fovea.error.InvalidUseException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.index.TableCore;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Receives the stored form of a load's records. Used by the loading thread until the source
 * returns.
 */
final class StoredLoad implements AutoCloseable {
  private static final int STAGE_BYTES = 4096;

  private final TableCore core;
  private final LoadFeed.Sink sink;
  private Arena arena = Arena.ofShared();
  private MemorySegment stage = arena.allocate(STAGE_BYTES, 8);
  private boolean closed;

  StoredLoad(TableCore core, LoadFeed.Sink sink) {
    this.core = core;
    this.sink = sink;
  }

  void add(MemorySegment key, MemorySegment value) {
    long keyBytes = key.byteSize();
    long valueBytes = value.byteSize();
    if (closed) {
      throw new InvalidUseException("The load has ended.");
    }
    if (keyBytes == 0) {
      throw new InvalidUseException("A key must have at least one byte.");
    }
    if (keyBytes > core.keyBytesMax) {
      throw core.keyTooLong(keyBytes);
    }
    long max = core.tree.maxValueSize();
    if (valueBytes > max) {
      throw new ValueTooLargeException("table " + core.displayName(), valueBytes, max);
    }
    if (keyBytes + valueBytes > stage.byteSize()) {
      arena.close();
      arena = Arena.ofShared();
      stage = arena.allocate(Math.max(keyBytes + valueBytes, 2 * stage.byteSize()), 8);
    }
    MemorySegment.copy(key, 0, stage, 0, keyBytes);
    MemorySegment.copy(value, 0, stage, keyBytes, valueBytes);
    core.requireStorable(stage, keyBytes, (int) valueBytes);
    sink.add(stage, 0, (int) keyBytes, stage, keyBytes, (int) valueBytes);
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      arena.close();
    }
  }
}
