package io.fovea.txn;

/** Variations of {@link TxConfig#DEFAULT}. */
final class Configs {
  private Configs() {}

  static TxConfig contexts(int n) {
    return of(n, 2, 2048, TimestampConfig.Release.EPOCH, false);
  }

  static TxConfig limits(int contexts, long scratchBytes, int items) {
    return TxConfig.DEFAULT.withLimits(contexts, scratchBytes, items);
  }

  /** A small exact table, so that entries come and go all the time. */
  static TxConfig of(
      int contexts, int rows, int columns, TimestampConfig.Release release, boolean revalidateAll) {
    TxConfig d = TxConfig.DEFAULT;
    return d.withLimits(contexts, d.scratchBytesMax(), d.itemsMax())
        .with(
            TimestampConfig.sketch(16 << 10, d.timestamps().budgetBytes(), rows, columns, release))
        .withRevalidation(revalidateAll);
  }
}
