package io.fovea.txn;

import io.fovea.support.Records;

/** For tests of other packages: settings without an option. */
public final class Settings {
  private Settings() {}

  /** A small exact table over a sketch, so that entries are created and released all the time. */
  public static TxConfig sketch(TxConfig c, int rows, int columns) {
    TimestampConfig t = c.timestamps();
    return Records.with(
        c,
        "timestamps",
        TimestampConfig.sketch(16 << 10, t.budgetBytes(), rows, columns, t.release()));
  }

  /** A small exact table over any store, so that entries are created and released all the time. */
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

  /** With reference counts. */
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
