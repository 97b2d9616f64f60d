package io.fovea.txn;

import io.fovea.support.Records;

/** Variations of {@link TxConfig#DEFAULT}. */
final class Configs {
  private Configs() {}

  static TxConfig contexts(int n) {
    return of(n, 2, 2048, TimestampConfig.Release.EPOCH, false);
  }

  static TxConfig limits(int contexts, long scratchBytes, int items) {
    return Records.with(
        TxConfig.DEFAULT, "contexts", contexts, "scratchBytesMax", scratchBytes, "itemsMax", items);
  }

  /** A small exact table, so that entries are created and released all the time. */
  static TxConfig of(
      int contexts, int rows, int columns, TimestampConfig.Release release, boolean revalidateAll) {
    TxConfig d = TxConfig.DEFAULT;
    return Records.with(
        d,
        "contexts",
        contexts,
        "scratchBytesMax",
        d.scratchBytesMax(),
        "itemsMax",
        d.itemsMax(),
        "timestamps",
        TimestampConfig.sketch(16 << 10, d.timestamps().budgetBytes(), rows, columns, release),
        "revalidateAll",
        revalidateAll);
  }
}
