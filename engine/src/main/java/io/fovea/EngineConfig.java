package io.fovea;

import io.fovea.buffer.FrameHints;
import io.fovea.buffer.PoolConfig;
import io.fovea.buffer.ReplacementKind;
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
    return timestamps == 0 ? all : pool(options, switches, options.bufferBytes() - timestamps);
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
