package io.fovea.ratis.example;

import static io.fovea.ratis.Consistency.LINEARIZABLE;

import io.fovea.Table;
import io.fovea.ratis.CommandResult;
import io.fovea.ratis.Peer;
import io.fovea.ratis.ReplicatedDatabase;
import io.fovea.ratis.ReplicationException;
import io.fovea.ratis.ReplicationOptions;
import io.fovea.replication.Command;
import io.fovea.replication.CommandContext;
import io.fovea.replication.RefusedException;
import io.fovea.replication.RequestId;
import io.fovea.schema.TableSpec;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;

/**
 * A shop whose stock is replicated on three peers. Start it three times, as {@code a}, {@code b}
 * and {@code c}; each takes orders, and one may be killed meanwhile.
 */
public final class Shop {
  static final TableSpec STOCK = TableSpec.bytes("stock", 100);

  /** Takes goods out of the stock, or puts them in. */
  record Order(String goods, int count) implements Command {
    @Override
    public byte[] apply(CommandContext context) throws RefusedException {
      Table<byte[], byte[]> stock = context.table(STOCK).bytes();
      int there = number(stock.get(context.tx(), goods.getBytes(StandardCharsets.UTF_8)));
      if (there + count < 0) {
        throw new RefusedException("There are " + there + " of " + goods + ".");
      }
      stock.put(context.tx(), goods.getBytes(StandardCharsets.UTF_8), bytes(there + count));
      return bytes(there + count);
    }

    byte[] encode() {
      return (count + " " + goods).getBytes(StandardCharsets.UTF_8);
    }

    static Order decode(byte[] bytes) {
      String[] parts = new String(bytes, StandardCharsets.UTF_8).split(" ", 2);
      return new Order(parts[1], Integer.parseInt(parts[0]));
    }
  }

  static ReplicationOptions options(String id, Path directory, List<Peer> peers) {
    return ReplicationOptions.of(id, directory, peers)
        .command("order", Order.class, Order::encode, Order::decode);
  }

  private static final List<Peer> PEERS =
      List.of(
          new Peer("a", "127.0.0.1:7001"),
          new Peer("b", "127.0.0.1:7002"),
          new Peer("c", "127.0.0.1:7003"));

  private Shop() {}

  static byte[] bytes(int n) {
    return ByteBuffer.allocate(4).putInt(n).array();
  }

  static int number(byte[] b) {
    return b == null ? 0 : ByteBuffer.wrap(b).getInt();
  }

  static int order(ReplicatedDatabase db, String goods, int count)
      throws InterruptedException, RefusedException {
    RequestId id = db.newRequest();
    while (true) {
      try {
        CommandResult commandResult = db.submit(id, new Order(goods, count)).get();
        return number(commandResult.result());
      } catch (ExecutionException e) {
        if (e.getCause() instanceof RefusedException refused) {
          throw refused; // there is too little
        }
        if (e.getCause() instanceof ReplicationException lost
            && lost.reason() == ReplicationException.Reason.TIMEOUT) {
          continue; // the same request: it is done once, however often it is sent
        }
        throw new IllegalStateException(e.getCause());
      }
    }
  }

  static int stock(ReplicatedDatabase db, String goods) {
    return db.read(
        LINEARIZABLE,
        tx ->
            tx.tables().contains(STOCK.name())
                ? number(tx.table(STOCK).bytes().get(tx, goods.getBytes(StandardCharsets.UTF_8)))
                : 0);
  }

  /**
   * Runs one peer. Input lines: {@code NUMBER GOODS} orders, {@code GOODS} queries, {@code ?} shows
   * the health.
   *
   * @param args the peer's name, and optionally the directory for all peers
   * @throws Exception if it can't start
   */
  public static void main(String[] args) throws Exception {
    Path directory = Path.of(args.length > 1 ? args[1] : "shop", args[0]);
    try (ReplicatedDatabase db = ReplicatedDatabase.join(options(args[0], directory, PEERS));
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      db.awaitLeader(Duration.ofMinutes(1));
      System.out.println("Peer " + args[0] + " is there; " + db.membership().leader() + " leads.");
      for (String line; (line = in.readLine()) != null; ) {
        answer(db, line.trim(), System.out);
      }
    }
  }

  static void answer(ReplicatedDatabase db, String line, PrintStream out)
      throws IOException, InterruptedException {
    try {
      if (line.equals("?")) {
        out.println(db.health());
      } else if (line.matches("[+-]?[0-9]+ .+")) {
        String[] parts = line.split(" ", 2);
        int left = order(db, parts[1], Integer.parseInt(parts[0]));
        out.println(left + " of " + parts[1] + " are left.");
      } else if (!line.isEmpty()) {
        out.println("There are " + stock(db, line) + " of " + line + ".");
      }
    } catch (RefusedException | ReplicationException e) {
      out.println(e.getMessage());
    }
  }
}
