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
 * Generates numbers for the keys of new records: each value once, and each higher than all before
 * it.
 *
 * <pre>{@code
 * Sequence ids = db.sequence("orders");
 * db.run(tx -> orders.insert(tx, ids.next(), order));
 * }</pre>
 *
 * <p><b>Unique</b> unless {@linkplain Database#alterSequence altered}. No value is returned twice:
 * not by other threads, not after a crash, whatever the durability, and not in a database restored
 * from a backup that contains a record with the value. Of two calls, the one that begins after the
 * other has returned gets the higher value. (With {@link Durability#NONE} a file that was not
 * closed can't be opened, and its sequences are lost with it.)
 *
 * <p><b>With gaps.</b> Taking a value is not part of a transaction: values of a transaction that is
 * rolled back or retried are skipped. So are values that were reserved and unused when the process
 * died, up to twice {@link SequenceSpec#cached}; a close skips none. For numbers without gaps, such
 * as invoice numbers, let the transaction update a counter in a row; such transactions wait for one
 * another, or conflict.
 *
 * <p><b>Cost.</b> Values come from memory, in nanoseconds, and cause no conflicts. Once every
 * {@link SequenceSpec#cached} values, halfway through a block, a thread writes a log record that
 * reserves the next block. Threads wait for the device only if the block is used up before that
 * record is durable.
 *
 * <p>Any thread, inside and outside of bodies. All methods except {@link #name} and {@link #spec}
 * throw {@link InvalidUseException} if the sequence was dropped, and {@link
 * DatabaseClosedException} if the database was closed.
 *
 * @since 0.1.0
 */
public final class Sequence {
  private final SequenceCore core;

  Sequence(SequenceCore core) {
    this.core = core;
  }

  /** {@return the name of the sequence} */
  public String name() {
    return core.latest().spec().name();
  }

  /** {@return the range and step of the values, and how many are cached now} */
  public SequenceSpec spec() {
    return core.latest().spec();
  }

  /**
   * Takes the next value.
   *
   * @return a value never returned before, and higher than all earlier ones
   * @throws SequenceExhaustedException if no value is left
   * @throws InvalidUseException if the transaction that created the sequence did not commit, or the
   *     database is read-only
   * @throws TransactionAbortedException in a transaction of this thread, if values must be reserved
   *     while another thread waits until no transaction is active; retry the transaction
   * @throws OperationInterruptedException if the thread is interrupted while another thread
   *     reserves values; a value is skipped
   * @throws StorageException if an I/O operation fails; a value is skipped
   * @throws DurabilityLostException if nothing can become durable any more
   */
  public long next() {
    return core.next();
  }

  /**
   * Takes consecutive values, each {@link SequenceSpec#step} above the one before. Throws the
   * exceptions of {@link #next()}; all of these values are skipped then.
   *
   * @param values the number of values, at least 1
   * @return the first of them
   * @throws SequenceExhaustedException if fewer are left; none is taken
   * @throws InvalidUseException if {@code values} is less than 1
   */
  public long next(int values) {
    if (values < 1) {
      throw new InvalidUseException("Sequence.next takes at least 1 value, not " + values + ".");
    }
    return core.next(values);
  }

  /**
   * Skips all values below a given one, for records whose keys come from elsewhere. The change is
   * durable when the method returns. It has no effect if the sequence has already reached the
   * value. Throws the exceptions of {@link #next()}.
   *
   * @param value the minimum of the next value
   * @throws InvalidUseException if it exceeds both the last value and the next one
   */
  public void skipTo(long value) {
    core.skipTo(value);
  }

  /**
   * Returns the next value without taking it. Another thread may take it first.
   *
   * @return the value
   * @throws SequenceExhaustedException if no value is left
   */
  public long peek() {
    return core.peek();
  }

  /**
   * Returns how many values are left. Other threads may be taking some.
   *
   * @return their number; at most {@link Long#MAX_VALUE}
   */
  public long remaining() {
    return core.left();
  }

  @Override
  public String toString() {
    return "Sequence[" + core.latest().spec() + "]";
  }
}
