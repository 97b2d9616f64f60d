package io.fovea;

import io.fovea.catalog.SequenceCore;
import io.fovea.config.Durability;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.SequenceExhaustedException;
import io.fovea.error.StorageException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.SequenceSpec;

/**
 * Gives numbers, each once, and each above those that were given before: for keys of new records.
 *
 * <pre>{@code
 * Sequence ids = db.sequence("orders");
 * db.run(tx -> orders.insert(tx, ids.next(), order));
 * }</pre>
 *
 * <p><b>Unique, for ever</b>, unless it is {@linkplain Database#alterSequence altered}. A value is
 * given to one caller, by any thread, and never again: not after a crash, whatever the durability
 * of the database is, and not in a database that was restored from a backup which has a record with
 * it. Of two calls, the one that begins when the other has returned gets the higher value. (With
 * {@link Durability#NONE} a file that was not closed can't be opened, and its sequences are lost
 * with it.)
 *
 * <p><b>With gaps.</b> Taking a value is no part of a transaction: values of one that is rolled
 * back, or whose body is done again, are skipped. So are values that were reserved and not given
 * when a process died, up to twice {@link SequenceSpec#cached}; a close skips none. What must have
 * no gaps, as numbers of invoices, is a row with a counter, that the transaction updates: such
 * transactions then wait for one another, or conflict.
 *
 * <p><b>Cost.</b> Values come from memory, in nanoseconds, and transactions that take them don't
 * conflict. Once in {@link SequenceSpec#cached} values a thread writes a record to the log; that
 * waits for the device only where a block is used up before the log has become durable, within half
 * a block.
 *
 * <p>Any thread, platform or virtual, inside of bodies and outside.
 *
 * @since 0.1.0
 */
public final class Sequence {
  private final SequenceCore core;

  Sequence(SequenceCore core) {
    this.core = core;
  }

  /**
   * Its name.
   *
   * @return the name
   */
  public String name() {
    return core.latest().spec().name();
  }

  /**
   * What it gives.
   *
   * @return its range and step, and how many values are cached now
   */
  public SequenceSpec spec() {
    return core.latest().spec();
  }

  /**
   * Takes the next value.
   *
   * @return a value that nobody has got before, and that is above all that were given before
   * @throws SequenceExhaustedException if there is none any more
   * @throws InvalidUseException if the sequence was dropped, was made by a transaction that did not
   *     commit, or the database was opened for reading only
   * @throws TransactionAbortedException in a transaction of this thread, if somebody waits until
   *     none is active, and values are to be reserved: to be done again
   * @throws OperationInterruptedException if the thread is interrupted while it waits for another
   *     that reserves values; a value is skipped
   * @throws StorageException if the operating system refuses; a value is skipped
   * @throws DurabilityLostException if nothing can become durable any more
   * @throws DatabaseClosedException if the database was closed
   */
  public long next() {
    return core.next();
  }

  /**
   * Takes some values in a row: the one that is returned, and the next ones, each {@link
   * SequenceSpec#step} above the one before.
   *
   * @param values how many, at least 1
   * @return the first of them
   * @throws SequenceExhaustedException if there are not so many; none is taken
   * @throws InvalidUseException if {@code values} is below 1, and as {@link #next()}; so with all
   *     other exceptions, where all of these values are skipped
   */
  public long next(int values) {
    if (values < 1) {
      throw new InvalidUseException("At least 1 value is taken of a sequence, not " + values + ".");
    }
    return core.next(values);
  }

  /**
   * Skips values: from now on none is given that is below a value. For records that come from
   * elsewhere, with their keys. That is durable when it returns. Nothing happens where the sequence
   * is as far already.
   *
   * @param value what the next value is at least
   * @throws InvalidUseException if it is above the last value and the next one, and as {@link
   *     #next()}; so with all other exceptions
   */
  public void skipTo(long value) {
    core.skipTo(value);
  }

  /**
   * What the next value is, without taking it. Another thread may take it meanwhile.
   *
   * @return the value
   * @throws SequenceExhaustedException if there is none
   * @throws InvalidUseException if the sequence was dropped
   * @throws DatabaseClosedException if the database was closed
   */
  public long peek() {
    return core.peek();
  }

  /**
   * How many values are left. Another thread may take some meanwhile.
   *
   * @return their number; at most {@link Long#MAX_VALUE}
   * @throws InvalidUseException if the sequence was dropped
   * @throws DatabaseClosedException if the database was closed
   */
  public long left() {
    return core.left();
  }

  @Override
  public String toString() {
    return "Sequence[" + core.latest().spec() + "]";
  }
}
