package io.fovea;

import io.fovea.txn.TxConfig;
import io.fovea.txn.TxSwitches;
import java.util.function.UnaryOperator;

/**
 * What a test may break, to see that its checks would notice, and settings that no option has.
 *
 * @param pageBeforeLog pages are written without waiting for the log
 * @param transactions steps that transactions leave out
 * @param settings changes those of the transactions, for instance to a sketch of one cell
 */
record Switches(boolean pageBeforeLog, TxSwitches transactions, UnaryOperator<TxConfig> settings) {
  /** Nothing is broken. */
  static final Switches NONE = new Switches(false);

  Switches(boolean pageBeforeLog) {
    this(pageBeforeLog, TxSwitches.NONE, UnaryOperator.identity());
  }
}
