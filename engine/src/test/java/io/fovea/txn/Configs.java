package io.fovea.txn;

/** Variations of {@link TxConfig#DEFAULT}. */
final class Configs {
  private Configs() {}

  static TxConfig contexts(int n) {
    return of(n, 2, 2048, Timestamps.Release.EPOCH, false);
  }

  static TxConfig limits(int contexts, long scratchBytes, int items) {
    TxConfig d = TxConfig.DEFAULT;
    return new TxConfig(
        contexts,
        scratchBytes,
        items,
        d.exactBytes(),
        d.exactBytesMax(),
        d.sketchRows(),
        d.sketchColumns(),
        d.release(),
        false,
        true);
  }

  /** A small exact table, so that entries come and go all the time. */
  static TxConfig of(
      int contexts, int rows, int columns, Timestamps.Release release, boolean revalidateAll) {
    TxConfig d = TxConfig.DEFAULT;
    return new TxConfig(
        contexts,
        d.scratchBytesMax(),
        d.itemsMax(),
        16 << 10,
        d.exactBytesMax(),
        rows,
        columns,
        release,
        revalidateAll,
        true);
  }
}
