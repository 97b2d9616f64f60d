package io.fovea.ratis;

import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.replication.Command;
import io.fovea.replication.CommandContext;
import io.fovea.replication.RefusedException;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Commands of the tests: registers in a table, and accounts in two others. */
final class Operations {
  static final TableSpec REGISTERS = TableSpec.bytes("registers", 64);
  static final TableSpec CHECKING = TableSpec.bytes("checking", 64);
  static final TableSpec SAVINGS = TableSpec.bytes("savings", 64);

  static final TableSpec LEDGER = TableSpec.bytes("ledger", 64);
  static final TableSpec HEAVIES = TableSpec.bytes("heavies", 64);

  /** Accounts in each of the two tables that {@link Pay} moves money between. */
  static final int ACCOUNTS = 5;

  private Operations() {}

  static ReplicationOptions in(ReplicationOptions options) {
    return options
        .command(Put.class, Put::encode, Put::decode)
        .command(Swap.class, Swap::encode, Swap::decode)
        .command(Add.class, Add::encode, Add::decode)
        .command(Transfer.class, Transfer::encode, Transfer::decode)
        .command(Pay.class, Pay::encode, Pay::decode)
        .command(Heavy.class, Heavy::encode, Heavy::decode)
        .command(Break.class, b -> new byte[0], b -> new Break())
        .command(Stop.class, s -> new byte[0], s -> new Stop());
  }

  static byte[] utf(String s) {
    return s.getBytes(StandardCharsets.UTF_8);
  }

  static long number(byte[] b) {
    return b == null ? 0 : ByteBuffer.wrap(b).getLong();
  }

  static byte[] bytes(long n) {
    return ByteBuffer.allocate(8).putLong(n).array();
  }

  static long value(Transaction tx, TableSpec table, String key) {
    return tx.tables().contains(table.name())
        ? number(tx.table(table).bytes().get(tx, utf(key)))
        : 0;
  }

  /** The balances of all accounts in a table, including those that do not exist yet. */
  static String balances(Transaction tx, TableSpec table) {
    StringBuilder all = new StringBuilder();
    for (int i = 0; i < ACCOUNTS; i++) {
      all.append(i == 0 ? "" : ",").append(value(tx, table, table == CHECKING ? "c" + i : "s" + i));
    }
    return all.toString();
  }

  private static byte[] encode(String key, long... numbers) {
    byte[] k = utf(key);
    ByteBuffer b = ByteBuffer.allocate(1 + k.length + 8 * numbers.length);
    b.put((byte) k.length).put(k);
    for (long n : numbers) {
      b.putLong(n);
    }
    return b.array();
  }

  private static String key(ByteBuffer b) {
    byte[] k = new byte[b.get()];
    b.get(k);
    return new String(k, StandardCharsets.UTF_8);
  }

  /** Writes a register. */
  record Put(String key, long value) implements Command {
    @Override
    public byte[] apply(CommandContext c) {
      c.table(REGISTERS).bytes().put(c.tx(), utf(key), bytes(value));
      return NOTHING;
    }

    byte[] encode() {
      return Operations.encode(key, value);
    }

    static Put decode(byte[] bytes) {
      ByteBuffer b = ByteBuffer.wrap(bytes);
      return new Put(Operations.key(b), b.getLong());
    }
  }

  /** Compares and sets a register; the result is 1 if it was set. */
  record Swap(String key, long from, long to) implements Command {
    @Override
    public byte[] apply(CommandContext c) {
      Table<byte[], byte[]> t = c.table(REGISTERS).bytes();
      if (number(t.get(c.tx(), utf(key))) != from) {
        return bytes(0);
      }
      t.put(c.tx(), utf(key), bytes(to));
      return bytes(1);
    }

    byte[] encode() {
      return Operations.encode(key, from, to);
    }

    static Swap decode(byte[] bytes) {
      ByteBuffer b = ByteBuffer.wrap(bytes);
      return new Swap(Operations.key(b), b.getLong(), b.getLong());
    }
  }

  /** Adds to a register; the result is the previous value. */
  record Add(String key, long more) implements Command {
    @Override
    public byte[] apply(CommandContext c) {
      Table<byte[], byte[]> t = c.table(REGISTERS).bytes();
      long old = number(t.get(c.tx(), utf(key)));
      t.put(c.tx(), utf(key), bytes(old + more));
      return bytes(old);
    }

    byte[] encode() {
      return Operations.encode(key, more);
    }

    static Add decode(byte[] bytes) {
      ByteBuffer b = ByteBuffer.wrap(bytes);
      return new Add(Operations.key(b), b.getLong());
    }
  }

  /** Moves money between accounts of two tables; refused if there is too little. */
  record Transfer(String from, String to, long amount) implements Command {
    @Override
    public byte[] apply(CommandContext c) throws RefusedException {
      Table<byte[], byte[]> checking = c.table(CHECKING).bytes();
      Table<byte[], byte[]> savings = c.table(SAVINGS).bytes();
      long a = number(checking.get(c.tx(), utf(from)));
      long b = number(savings.get(c.tx(), utf(to)));
      checking.put(c.tx(), utf(from), bytes(a - amount));
      savings.put(c.tx(), utf(to), bytes(b + amount));
      if (a - amount < -1000 || b + amount < -1000) {
        throw new RefusedException("The account has too little.");
      }
      return NOTHING;
    }

    byte[] encode() {
      byte[] a = Operations.encode(from, amount);
      byte[] b = Operations.encode(to);
      return ByteBuffer.allocate(a.length + b.length).put(a).put(b).array();
    }

    static Transfer decode(byte[] bytes) {
      ByteBuffer b = ByteBuffer.wrap(bytes);
      String from = Operations.key(b);
      long amount = b.getLong();
      return new Transfer(from, Operations.key(b), amount);
    }
  }

  /**
   * Moves money between two tables, and counts the payment in a third one, with the index of its
   * first application. Refused if the first account would have less than {@link #LEAST}. The result
   * is "index balance balance".
   */
  record Pay(String name, String from, String to, long amount) implements Command {
    /** low enough that most payments are made, and some refused */
    static final long LEAST = -300;

    @Override
    public byte[] apply(CommandContext c) throws RefusedException {
      long a = add(c, CHECKING, from, -amount);
      long b = add(c, SAVINGS, to, amount);
      Table<byte[], byte[]> ledger = c.table(LEDGER).bytes();
      byte[] old = ledger.get(c.tx(), utf(name));
      ByteBuffer now = ByteBuffer.allocate(16);
      now.putLong(old == null ? 1 : count(old) + 1).putLong(old == null ? c.index() : index(old));
      ledger.put(c.tx(), utf(name), now.array());
      if (a < LEAST) {
        throw new RefusedException("The account would have " + a + ".");
      }
      return utf(c.index() + " " + a + " " + b);
    }

    static long count(byte[] row) {
      return ByteBuffer.wrap(row).getLong();
    }

    static long index(byte[] row) {
      return ByteBuffer.wrap(row).getLong(8);
    }

    private static long add(CommandContext c, TableSpec table, String key, long more) {
      Table<byte[], byte[]> t = c.table(table).bytes();
      long now = number(t.get(c.tx(), utf(key))) + more;
      t.put(c.tx(), utf(key), bytes(now));
      return now;
    }

    byte[] encode() {
      return utf(String.join(" ", name, from, to, Long.toString(amount)));
    }

    static Pay decode(byte[] bytes) {
      String[] w = new String(bytes, StandardCharsets.UTF_8).split(" ");
      return new Pay(w[0], w[1], w[2], Long.parseLong(w[3]));
    }
  }

  /** Takes the given numbers of bytes in the log and in the database. */
  record Heavy(String key, int logBytes, int storedBytes) implements Command {
    @Override
    public byte[] apply(CommandContext c) {
      byte[] value = new byte[storedBytes];
      c.random().nextBytes(value);
      c.table(HEAVIES).bytes().put(c.tx(), utf(key), value);
      return NOTHING;
    }

    byte[] encode() {
      byte[] head = Operations.encode(key, storedBytes);
      return Arrays.copyOf(head, head.length + logBytes);
    }

    static Heavy decode(byte[] bytes) {
      ByteBuffer b = ByteBuffer.wrap(bytes);
      String key = Operations.key(b);
      int stored = (int) b.getLong();
      return new Heavy(key, b.remaining(), stored);
    }
  }

  /** A command with a bug: each peer refuses it. */
  record Break() implements Command {
    @Override
    public byte[] apply(CommandContext c) {
      throw new IllegalStateException("This command has a bug.");
    }
  }

  /** Fails like a peer's own I/O error, which stops each peer that applies it. */
  record Stop() implements Command {
    @Override
    public byte[] apply(CommandContext c) {
      throw new UncheckedIOException(new IOException("This command reads a file."));
    }
  }
}
