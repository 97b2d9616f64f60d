package io.fovea.replication;

import io.fovea.ObjectSpec;
import io.fovea.RowTable;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.TableSpec;
import java.time.Instant;
import java.util.SplittableRandom;

/**
 * What a command may use: the transaction, and values that are the same on all replicas.
 *
 * <p>Valid only during the call of {@link Command#apply}, and on its thread.
 *
 * @since 0.1.0
 */
public final class CommandContext {
  private final Transaction tx;
  private final Position position;
  private final long clockMillis;
  private final SplittableRandom random;

  CommandContext(Transaction tx, Position position, long clockMillis) {
    this.tx = tx;
    this.position = position;
    this.clockMillis = clockMillis;
    // Created for each attempt, so that a repeated attempt sees the same numbers.
    this.random = new SplittableRandom(position.index() * 0x9E3779B97F4A7C15L ^ clockMillis);
  }

  /**
   * Returns the transaction, which commits together with the position of the entry.
   *
   * @return the transaction; the command must neither commit it nor roll it back
   */
  public Transaction tx() {
    return tx;
  }

  /**
   * Opens a table, and creates it if it does not exist: {@link Transaction#table(TableSpec)}.
   *
   * @param spec the specification of the table
   * @return the table, for this call
   * @throws InvalidUseException if its rows expire: they would expire by each replica's clock, at
   *     different times
   */
  public RowTable table(TableSpec spec) {
    if (spec.expiry() != null) {
      throw new InvalidUseException(
          "Table \""
              + spec.name()
              + "\" can't be replicated: its rows expire by the clock of each replica, so"
              + " replicas would differ. Delete old rows in a command, by its clock().");
    }
    return tx.table(spec);
  }

  /**
   * Opens a table of Java records: {@link Transaction#table(ObjectSpec)}.
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param spec the specification of the table
   * @return the table, for this call
   */
  public <K, V> Table<K, V> table(ObjectSpec<K, V> spec) {
    return tx.table(spec);
  }

  /** {@return the command's index in the log; each is used once} */
  public long index() {
    return position.index();
  }

  /** {@return the term of the leader that appended the command to the log} */
  public long term() {
    return position.term();
  }

  /**
   * Returns the leader's time when it received the command. It may go backward when the leader
   * changes, because clocks differ.
   *
   * @return the time, in milliseconds
   */
  public Instant clock() {
    return Instant.ofEpochMilli(clockMillis);
  }

  /**
   * Returns random numbers, the same on every replica. They can be predicted from the log: do not
   * use them for secrets.
   *
   * @return the generator for this call
   */
  public SplittableRandom random() {
    return random;
  }
}
