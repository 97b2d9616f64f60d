package io.fovea;

import io.fovea.buffer.FrameHints;
import io.fovea.buffer.PoolConfig;
import io.fovea.buffer.ReplacementKind;
import io.fovea.error.InvalidUseException;
import io.fovea.error.PoolTooSmallException;
import io.fovea.txn.ProtocolKind;
import io.fovea.txn.StoreKind;
import io.fovea.txn.TimestampConfig;
import io.fovea.txn.TxConfig;

/** What options mean to the rooms of the engine. */
final class EngineConfig {
  private EngineConfig() {}

  /** Of the pool of the data: the buffer, less what timestamps take of it. */
  static PoolConfig dataPool(Options options, Switches switches) {
    PoolConfig all = pool(options, switches, options.bufferBytes());
    long timestamps = TimestampFile.bufferBytes(options, all);
    long least = PoolConfig.bytesMin(all.pageSize(), all.translation(), all.replacement());
    if (options.bufferBytes() - timestamps < least) {
      throw new PoolTooSmallException(options.bufferBytes(), timestamps == 0 ? least : 2 * least);
    }
    return timestamps == 0 ? all : pool(options, switches, options.bufferBytes() - timestamps);
  }

  /**
   * Refuses what the machine can't have. Timestamps count with what they may take at most, though
   * they are address space until they are needed.
   *
   * @param memory of the machine or the container, in bytes
   * @param heap the largest, in bytes
   */
  static void checkMemory(Options options, long memory, long heap) {
    boolean onDisk = TimestampFile.wanted(options);
    long timestamps = options.timestampBytes() + (onDisk ? 0 : options.sketchBytesMax());
    long left = memory - Math.min(heap, memory) - Math.min(timestamps, memory);
    if (options.bufferBytes() > left) {
      throw new InvalidUseException(
          "A buffer of "
              + mib(options.bufferBytes())
              + ", timestamps of "
              + mib(timestamps)
              + " and a heap of "
              + mib(heap)
              + " together exceed the "
              + mib(memory)
              + " that this machine or container has. Lower Options.bufferBytes,"
              + " Options.timestampBytes, or the heap, with -Xmx.");
    }
  }

  static String mib(long bytes) {
    return (bytes + (1 << 20) - 1 >> 20) + " MiB";
  }

  /** Of the pool of the timestamps, where they have one. */
  static PoolConfig timestampPool(Options options, Switches switches) {
    return pool(
        options, switches, options.bufferBytes() - dataPool(options, switches).bufferBytes());
  }

  private static PoolConfig pool(Options options, Switches switches, long bufferBytes) {
    return PoolConfig.of(options.pageSize(), bufferBytes)
        .with(frameHints(options.hints(), switches))
        .with(io.fovea.buffer.Translation.valueOf(options.translation().name()))
        .with(ReplacementKind.valueOf(options.replacement().name()))
        .withReadsMax(options.readsMax())
        .with(io.fovea.buffer.Pretouch.valueOf(options.pretouch().name()));
  }

  private static FrameHints frameHints(Hints hints, Switches switches) {
    if (!hints.frames()) {
      return FrameHints.OFF;
    }
    return switches.poisonedHints() ? FrameHints.POISONED : FrameHints.ON;
  }

  static TxConfig transactions(Options options) {
    TxConfig d = TxConfig.DEFAULT;
    StoreKind kind = StoreKind.valueOf(options.timestamps().name());
    return d.withLimits(options.maxTransactions(), options.maxTransactionBytes(), d.itemsMax())
        .with(
            TimestampConfig.of(
                kind,
                d.timestamps().release(),
                Math.min(TimestampConfig.exactBytes(kind), options.timestampBytes()),
                options.timestampBytes(),
                options.sketchBytesMin(),
                options.sketchBytesMax()))
        .withRevalidation(options.revalidateReads())
        .withPlaces(options.hints().sets())
        .with(ProtocolKind.valueOf(options.protocol().name()));
  }
}
