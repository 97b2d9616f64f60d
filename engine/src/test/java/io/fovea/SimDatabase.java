package io.fovea;

import io.fovea.buffer.FrameHints;
import io.fovea.buffer.TestLatches;
import io.fovea.io.Storage;
import io.fovea.support.Surroundings;
import io.fovea.txn.TestLocks;
import io.fovea.txn.TxConfig;
import io.fovea.txn.TxEngine;
import io.fovea.txn.TxSwitches;
import java.util.function.UnaryOperator;

/** For tests of other packages: what a database offers to those of its own. */
public final class SimDatabase {
  private SimDatabase() {}

  /** Opens a database on storage that a test has made. */
  public static Database open(Storage storage, Options options) {
    return Database.open(storage, options, Switches.NONE);
  }

  /** Opens one that writes pages before the log: broken, to see that tests find out. */
  public static Database openPageBeforeLog(Storage storage, Options options) {
    return Database.open(storage, options, new Switches(true, false));
  }

  /** Opens one as some surroundings have it: with hints, without, or with wrong ones. */
  public static Database open(Storage storage, Options options, Surroundings surroundings) {
    boolean off = surroundings.hints() == FrameHints.OFF;
    boolean poisoned = surroundings.hints() == FrameHints.POISONED;
    Hints hints = off ? Hints.NONE : poisoned ? Hints.ALL : options.hints();
    return Database.open(storage, options.hints(hints), new Switches(false, poisoned));
  }

  /** Opens one whose transactions leave out steps, or have settings that no option has. */
  public static Database open(
      Storage storage, Options options, TxSwitches switches, UnaryOperator<TxConfig> settings) {
    return Database.open(storage, options, new Switches(false, false, switches, settings));
  }

  /** What is latched or locked in a database that nobody uses; empty where nothing is. */
  public static String held(Database db) {
    return TestLatches.held(db.store().pool()) + TestLocks.held(db.store().engine());
  }

  /** What runs its transactions. */
  public static TxEngine engine(Database db) {
    return db.store().engine();
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
