package io.fovea;

import io.fovea.catalog.LoadFeed;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.index.TableCore;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Takes the records of a load: {@link ByteTable#load(LoadOptions, LoadSource)}.
 *
 * <p>The thread that loads, until the source returns.
 *
 * @since 0.1.0
 */
public final class ByteLoad implements AutoCloseable {
  private static final int STAGE_BYTES = 4096;

  private final TableCore core;
  private final LoadFeed.Sink sink;
  private Arena arena = Arena.ofShared();
  private MemorySegment stage = arena.allocate(STAGE_BYTES, 8);
  private boolean closed;

  ByteLoad(TableCore core, LoadFeed.Sink sink) {
    this.core = core;
    this.sink = sink;
  }

  /**
   * Adds a record, which is copied.
   *
   * @param key its key
   * @param value its value
   * @throws InvalidUseException if the key is empty, is below the one before in an {@link
   *     LoadOptions#ascending} load, or the load has ended
   * @throws DuplicateKeyException if the options say so
   * @throws KeyTooLargeException if the key is longer than the table allows
   * @throws ValueTooLargeException if the value is longer than any can be
   */
  public void add(byte[] key, byte[] value) {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(value, "value");
    add(MemorySegment.ofArray(key), MemorySegment.ofArray(value));
  }

  /**
   * Adds a record, which is copied.
   *
   * @param key its key
   * @param value its value
   * @throws InvalidUseException if the key is empty, is below the one before in an {@link
   *     LoadOptions#ascending} load, or the load has ended
   * @throws DuplicateKeyException if the options say so
   * @throws KeyTooLargeException if the key is longer than the table allows
   * @throws ValueTooLargeException if the value is longer than any can be
   */
  public void add(MemorySegment key, MemorySegment value) {
    long keyBytes = key.byteSize();
    long valueBytes = value.byteSize();
    if (closed) {
      throw new InvalidUseException("The load has ended.");
    }
    if (keyBytes == 0) {
      throw new InvalidUseException("A key has at least one byte.");
    }
    if (keyBytes > core.keyBytesMax) {
      throw core.keyTooLong(keyBytes);
    }
    long most = core.tree.maxValueSize();
    if (valueBytes > most) {
      throw new ValueTooLargeException("table " + core.shown(), valueBytes, most);
    }
    if (keyBytes + valueBytes > stage.byteSize()) {
      arena.close();
      arena = Arena.ofShared();
      stage = arena.allocate(Math.max(keyBytes + valueBytes, 2 * stage.byteSize()), 8);
    }
    MemorySegment.copy(key, 0, stage, 0, keyBytes);
    MemorySegment.copy(value, 0, stage, keyBytes, valueBytes);
    sink.add(stage, 0, (int) keyBytes, stage, keyBytes, (int) valueBytes);
  }

  /** Ends it; the load does that when the source returns. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      arena.close();
    }
  }
}
