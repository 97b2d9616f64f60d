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
 * What a command may look at: the transaction, and numbers that are the same on all replicas.
 *
 * <p>It belongs to the call of {@link Command#apply}, and to its thread.
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
    // Made anew for each attempt, so that an attempt that is done again sees the same numbers.
    this.random = new SplittableRandom(position.index() * 0x9E3779B97F4A7C15L ^ clockMillis);
  }

  /**
   * The transaction, which commits with the entry's position.
   *
   * @return the transaction; the command neither commits it nor rolls it back
   */
  public Transaction tx() {
    return tx;
  }

  /**
   * Opens a table, creating it where it is not there: {@link Transaction#table(TableSpec)}.
   *
   * @param spec what the table is
   * @return the table, for this call
   * @throws InvalidUseException if its rows expire: by the clock of each replica, so at different
   *     moments
   */
  public RowTable table(TableSpec spec) {
    if (spec.expiry() != null) {
      throw new InvalidUseException(
          "Table \""
              + spec.name()
              + "\" can't be replicated, because its rows expire by the clock of each replica: they"
              + " would differ. Let a command delete what is older than its clock() says.");
    }
    return tx.table(spec);
  }

  /**
   * Opens a table of Java records: {@link Transaction#table(ObjectSpec)}.
   *
   * @param <K> the class of the keys
   * @param <V> the class of the values
   * @param spec what the table is
   * @return the table, for this call
   */
  public <K, V> Table<K, V> table(ObjectSpec<K, V> spec) {
    return tx.table(spec);
  }

  /**
   * Where in the log the command is.
   *
   * @return its index; each is used once
   */
  public long index() {
    return position.index();
  }

  /**
   * In which term of a leader it was appended to the log.
   *
   * @return the term
   */
  public long term() {
    return position.term();
  }

  /**
   * What the leader's clock said when it took the command. It may go back where the leader changes:
   * their clocks differ.
   *
   * @return a time of milliseconds
   */
  public Instant clock() {
    return Instant.ofEpochMilli(clockMillis);
  }

  /**
   * Random numbers, the same on every replica. They can be predicted by who knows the log: not for
   * secrets.
   *
   * @return the generator of this call
   */
  public SplittableRandom random() {
    return random;
  }
}
