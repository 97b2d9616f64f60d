package io.fovea;

import io.fovea.io.Storage;

/** For tests of other packages: what a database offers to those of its own. */
public final class SimDatabase {
  private SimDatabase() {}

  /** Opens a database on storage that a test has made. */
  public static Database open(Storage storage, Options options) {
    return Database.open(storage, options, Switches.NONE);
  }

  /** Opens one that writes pages before the log: broken, to see that tests find out. */
  public static Database openPageBeforeLog(Storage storage, Options options) {
    return Database.open(storage, options, new Switches(true));
  }

  /** A checkpoint, now. */
  public static void checkpoint(Database db) {
    db.checkpoint();
  }

  /** Ends it as a kill would: nothing is written, nothing is marked. */
  public static void abandon(Database db) {
    db.abandon();
  }
}
