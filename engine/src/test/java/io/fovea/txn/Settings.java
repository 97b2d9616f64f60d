package io.fovea.txn;

import io.fovea.support.Records;

/** For tests of other packages: settings of transactions that no option has. */
public final class Settings {
  private Settings() {}

  /** A small exact table over a sketch of a size, so that entries come and go all the time. */
  public static TxConfig sketch(TxConfig c, int rows, int columns) {
    TimestampConfig t = c.timestamps();
    return Records.with(
        c,
        "timestamps",
        TimestampConfig.sketch(16 << 10, t.budgetBytes(), rows, columns, t.release()));
  }

  /** A small exact table, whatever is behind it, so that entries come and go all the time. */
  public static TxConfig exact(TxConfig c, long bytes) {
    TimestampConfig t = c.timestamps();
    return Records.with(
        c,
        "timestamps",
        new TimestampConfig(
            t.kind(),
            t.release(),
            bytes,
            t.budgetBytes(),
            t.sketchRows(),
            t.sketchColumns(),
            t.sketchColumnsMax()));
  }

  /** The same with reference counts. */
  public static TxConfig counting(TxConfig c) {
    TimestampConfig t = c.timestamps();
    return Records.with(
        c,
        "timestamps",
        new TimestampConfig(
            t.kind(),
            TimestampConfig.Release.REFERENCE_COUNT,
            t.activeTimestampBytes(),
            t.budgetBytes(),
            t.sketchRows(),
            t.sketchColumns(),
            t.sketchColumnsMax()));
  }
}
