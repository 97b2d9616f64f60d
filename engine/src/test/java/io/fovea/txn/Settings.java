package io.fovea.txn;

/** For tests of other packages: settings of transactions that no option has. */
public final class Settings {
  private Settings() {}

  /** A small exact table over a sketch of a size, so that entries come and go all the time. */
  public static TxConfig sketch(TxConfig c, int rows, int columns) {
    return new TxConfig(
        c.contexts(),
        c.scratchBytesMax(),
        c.itemsMax(),
        16 << 10,
        c.exactBytesMax(),
        rows,
        columns,
        c.release(),
        c.revalidateAll(),
        c.durability(),
        c.commitPartBytes());
  }

  /** The same with reference counts. */
  public static TxConfig counting(TxConfig c) {
    return new TxConfig(
        c.contexts(),
        c.scratchBytesMax(),
        c.itemsMax(),
        c.exactBytes(),
        c.exactBytesMax(),
        c.sketchRows(),
        c.sketchColumns(),
        Timestamps.Release.REFERENCE_COUNT,
        c.revalidateAll(),
        c.durability(),
        c.commitPartBytes());
  }
}
