package io.fovea.tpcc;

import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A list of acknowledged transactions, kept outside the database. A client appends a record after
 * the commit has returned and before it begins its next transaction. {@link AcknowledgedCheck}
 * looks each of them up in the database.
 *
 * <p>A write reaches the operating system, not the disk: the list survives {@code kill -9}, but not
 * a crash of the machine. Any thread may write, each with a separate buffer.
 *
 * <pre>
 *   0  kind         4   1 New-Order, 2 Payment
 *   4  warehouse    4   of the order; of a payment its stream of history rows
 *   8  district     4   of the order; of a payment 0
 *  12  customer     4
 *  16  number       8   O_ID; of a payment the number in its stream
 *  24  value        8   O_OL_CNT; of a payment H_AMOUNT
 * </pre>
 *
 * Little-endian. A record never straddles two pages of the page cache, so it is written completely
 * or not at all.
 */
final class Acknowledged implements AutoCloseable {
  static final int RECORD_BYTES = 32;
  static final int NEW_ORDER = 1;
  static final int PAYMENT = 2;

  private final Path file;
  private final FileChannel channel;

  /**
   * Opens a list, or creates it if the file does not exist. Throws DriverException if the file cannot be written.
   */
  Acknowledged(Path file) {
    this.file = file;
    try {
      channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      // A partial record at the end belongs to a write that never returned.
      channel.truncate(channel.size() / RECORD_BYTES * RECORD_BYTES);
      channel.position(channel.size());
    } catch (IOException e) {
      throw failed(e);
    }
  }

  /** Returns a buffer for one client. */
  static ByteBuffer record() {
    return ByteBuffer.allocateDirect(RECORD_BYTES).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Appends a committed New-Order. */
  void newOrder(ByteBuffer record, int w, int d, int o, int customer, int lines) {
    write(record, NEW_ORDER, w, d, customer, o, lines);
  }

  /** Appends a committed Payment. */
  void payment(ByteBuffer record, int stream, long sequence, int customer, long amount) {
    write(record, PAYMENT, stream, 0, customer, sequence, amount);
  }

  private void write(
      ByteBuffer record, int kind, int a, int b, int customer, long number, long value) {
    record.clear();
    record.putInt(kind).putInt(a).putInt(b).putInt(customer).putLong(number).putLong(value).flip();
    try {
      // One write at a time, at the position where the previous one ended.
      int written = channel.write(record);
      if (written != RECORD_BYTES) {
        throw new IOException(written + " bytes of " + RECORD_BYTES + " were written");
      }
    } catch (IOException e) {
      throw failed(e);
    }
  }

  private DriverException failed(IOException e) {
    return new DriverException(Exit.ERROR, "cannot write " + file + ": " + e, e);
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      throw failed(e);
    }
  }
}
