package io.fovea.store;

import io.fovea.txn.TxConfig;
import io.fovea.txn.TxSwitches;
import java.util.function.UnaryOperator;

/**
 * What a test may break, to see that its checks would notice, or make worse, to see that nothing
 * comes of it; and settings that no option has.
 *
 * @param pageBeforeLog pages are written without waiting for the log
 * @param poisonedHints frame hints are made up: all that are remembered lead astray
 * @param transactions steps that transactions leave out
 * @param settings changes those of the transactions, for instance to a sketch of one cell
 */
public record Switches(
    boolean pageBeforeLog,
    boolean poisonedHints,
    TxSwitches transactions,
    UnaryOperator<TxConfig> settings) {
  /** Nothing is broken. */
  public static final Switches NONE = new Switches(false, false);

  public Switches(boolean pageBeforeLog, boolean poisonedHints) {
    this(pageBeforeLog, poisonedHints, TxSwitches.NONE, UnaryOperator.identity());
  }
}
