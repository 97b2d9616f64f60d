package io.fovea.tpcc;

import io.fovea.Key;
import io.fovea.Row;
import io.fovea.RowTable;
import io.fovea.Transaction;
import io.fovea.tpcc.Schema.History;
import io.fovea.tpcc.Schema.Order;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Looks up each acknowledged transaction of a list in the database: the row of an order, whose
 * customer and number of lines never change, or the history row of a payment. The twelve
 * consistency conditions cover the other rows of these transactions.
 */
final class AcknowledgedCheck {
  private static final int RECORDS_AT_A_TIME = 1_000;
  private static final int EXAMPLES_MAX = 5;

  private final Tables tables;
  private final Row order;
  private final Key orderKey;
  private final Row history;
  private final Key historyKey;

  AcknowledgedCheck(Tables tables) {
    this.tables = tables;
    this.order = tables.order().row();
    this.orderKey = tables.order().key();
    this.history = tables.history().row();
    this.historyKey = tables.history().key();
  }

  /** The result. */
  record Result(long records, long missing, List<String> examples) {}

  /**
   * Reads the list and looks up its transactions. Throws DriverException if the list cannot be read or is not a list.
   */
  Result check(Path file) {
    long records = 0;
    long missing = 0;
    List<String> examples = new ArrayList<>();
    ByteBuffer buffer =
        ByteBuffer.allocate(RECORDS_AT_A_TIME * Acknowledged.RECORD_BYTES)
            .order(ByteOrder.LITTLE_ENDIAN);
    try (FileChannel channel = FileChannel.open(file)) {
      while (fill(channel, buffer)) {
        int n = buffer.limit() / Acknowledged.RECORD_BYTES;
        List<String> wrong = tables.database().read(tx -> wrong(tx, buffer, n, file));
        records += n;
        missing += wrong.size();
        wrong.stream().limit(EXAMPLES_MAX - examples.size()).forEach(examples::add);
      }
    } catch (IOException e) {
      throw new DriverException(Exit.UNUSABLE, "cannot read " + file + ": " + e, e);
    }
    return new Result(records, missing, List.copyOf(examples));
  }

  /** Reads whole records; false at the end. A partial record was never acknowledged. */
  private static boolean fill(FileChannel channel, ByteBuffer buffer) throws IOException {
    buffer.clear();
    while (buffer.hasRemaining() && channel.read(buffer) >= 0) {
      // until the buffer is full or the file ends
    }
    buffer.flip();
    return buffer.remaining() >= Acknowledged.RECORD_BYTES;
  }

  private List<String> wrong(Transaction tx, ByteBuffer from, int n, Path file) {
    List<String> wrong = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      int at = i * Acknowledged.RECORD_BYTES;
      int kind = from.getInt(at);
      String found =
          switch (kind) {
            case Acknowledged.NEW_ORDER -> newOrder(tx, from, at);
            case Acknowledged.PAYMENT -> payment(tx, from, at);
            default ->
                throw new DriverException(
                    Exit.UNUSABLE,
                    file
                        + " is not a list of acknowledged transactions: it has a record of kind "
                        + kind);
          };
      if (found != null) {
        wrong.add(found);
      }
    }
    return wrong;
  }

  private String newOrder(Transaction tx, ByteBuffer from, int at) {
    int w = from.getInt(at + 4);
    int d = from.getInt(at + 8);
    int customer = from.getInt(at + 12);
    int o = Math.toIntExact(from.getLong(at + 16));
    long lines = from.getLong(at + 24);
    boolean there = tables.order().get(tx, orderKey.set(w, d, o), order);
    if (there && order.getInt(Order.CUSTOMER) == customer && order.getInt(Order.LINES) == lines) {
      return null;
    }
    return "New-Order of warehouse "
        + w
        + ", district "
        + d
        + ", number "
        + o
        + ": expected an order of "
        + lines
        + " lines by customer "
        + customer
        + ", found "
        + (there
            ? order.getInt(Order.LINES) + " lines by customer " + order.getInt(Order.CUSTOMER)
            : "none");
  }

  private String payment(Transaction tx, ByteBuffer from, int at) {
    int stream = from.getInt(at + 4);
    int customer = from.getInt(at + 12);
    long sequence = from.getLong(at + 16);
    long amount = from.getLong(at + 24);
    historyKey.clear().int32(stream).int64(sequence);
    RowTable histories = tables.history();
    boolean there = histories.get(tx, historyKey, history);
    if (there
        && history.getInt(History.CUSTOMER) == customer
        && history.getLong(History.AMOUNT) == amount) {
      return null;
    }
    return "Payment "
        + sequence
        + " of stream "
        + stream
        + ": expected "
        + Money.format(amount)
        + " by customer "
        + customer
        + ", found "
        + (there
            ? Money.format(history.getLong(History.AMOUNT))
                + " by customer "
                + history.getInt(History.CUSTOMER)
            : "none");
  }
}
