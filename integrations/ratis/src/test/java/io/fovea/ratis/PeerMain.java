package io.fovea.ratis;

import io.fovea.Cursor;
import io.fovea.Options;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.ratis.Operations.Heavy;
import io.fovea.ratis.Operations.Pay;
import io.fovea.ratis.Operations.Put;
import io.fovea.ratis.Operations.Swap;
import io.fovea.replication.Command;
import io.fovea.replication.RefusedException;
import io.fovea.replication.Replica;
import io.fovea.schema.TableSpec;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.zip.CRC32C;
import org.apache.ratis.server.RaftServerConfigKeys;
import org.apache.ratis.util.SizeInBytes;

/**
 * A peer as a process: reads one request per line and answers each with a line. It ends with its
 * input, so that no process remains when a test is killed.
 *
 * <pre>
 *   number read   key           →  number ok value
 *   number write  key value     →  number ok 0
 *   number swap   key from to   →  number ok 0|1
 *   number pay    name from to amount
 *   number ledger               →  number ok name=count@index,... sum
 *   number balances             →  number ok value,value,...
 *   number heavy  key log stored →  number ok 0
 *   number local  key           →  number ok value
 *   number digest               →  number ok hash of all tables of the commands
 *   number leader, health, data, close, index
 * </pre>
 *
 * or {@code number failed|unknown reason}.
 *
 * <p>Flags: {@code stale} presents local reads as linearizable; {@code torn} reads accounts in two
 * transactions; {@code forgetful} has no sessions; {@code apart} commits the position separately;
 * {@code impatient} retries early; {@code large} has log segments large enough to hit the limit of
 * the disk; {@code often} makes frequent checkpoints, so that a peer is soon too far behind.
 */
final class PeerMain {
  private final ReplicatedDatabase db;
  private final Consistency reads;
  private final boolean torn;
  private final Path directory;
  private final PrintStream out;

  private PeerMain(
      ReplicatedDatabase db, Consistency reads, boolean torn, Path directory, PrintStream out) {
    this.db = db;
    this.reads = reads;
    this.torn = torn;
    this.directory = directory;
    this.out = out;
  }

  private static ReplicationOptions log(String flags, ReplicationOptions o) {
    return flags.contains("large")
        ? o.database(
                Options.defaults()
                    .bufferBytes(16 << 20)
                    .log(l -> l.bufferBytes(1 << 20).segmentBytes(1 << 20).maxBytes(4 << 20)))
            .snapshotEvery(1000)
            .ratis(
                p -> {
                  RaftServerConfigKeys.Log.setSegmentSizeMax(p, SizeInBytes.valueOf("8MB"));
                  RaftServerConfigKeys.Log.setPreallocatedSize(p, SizeInBytes.valueOf("1MB"));
                })
        : flags.contains("often") ? CopyTest.shortLog(o).snapshotEvery(50) : CopyTest.shortLog(o);
  }

  /** Arguments: name, directory, listening address, flags, and the peers as name=address. */
  public static void main(String[] args) throws IOException {
    List<Peer> peers = new ArrayList<>();
    for (int i = 4; i < args.length; i++) {
      String[] p = args[i].split("=");
      peers.add(new Peer(p[0], p[1]));
    }
    String flags = args[3];
    PrintStream out = System.out;
    System.setOut(System.err);
    ReplicationOptions options =
        log(flags, Group.small(ReplicationOptions.of(args[0], Path.of(args[1]), peers)))
            .listen(args[2])
            .electionTimeout(Duration.ofMillis(600))
            .requestTimeout(Duration.ofSeconds(8))
            .attemptTimeout(Duration.ofMillis(flags.contains("impatient") ? 100 : 800))
            .experiments(
                new Replica.Experiments(!flags.contains("forgetful"), !flags.contains("apart")));
    ReplicatedDatabase db = ReplicatedDatabase.join(options);
    Consistency reads = flags.contains("stale") ? Consistency.LOCAL : Consistency.LINEARIZABLE;
    PeerMain main = new PeerMain(db, reads, flags.contains("torn"), Path.of(args[1]), out);
    out.println("up");
    out.flush();
    try (BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line; (line = in.readLine()) != null; ) {
        String[] words = line.split(" ");
        Thread.ofVirtual().start(() -> main.answer(words));
      }
    }
    Runtime.getRuntime().halt(0);
  }

  private void answer(String[] w) {
    String answer;
    try {
      answer =
          switch (w[1]) {
            case "read" ->
                "ok "
                    + db.read(
                        reads,
                        (Transaction tx) -> Operations.value(tx, Operations.REGISTERS, w[2]));
            case "write" -> submit(new Put(w[2], Long.parseLong(w[3])));
            case "swap" -> submit(new Swap(w[2], Long.parseLong(w[3]), Long.parseLong(w[4])));
            case "pay" -> submit(new Pay(w[2], w[3], w[4], Long.parseLong(w[5])));
            case "heavy" -> submit(new Heavy(w[2], Integer.parseInt(w[3]), Integer.parseInt(w[4])));
            case "balances" -> "ok " + balances();
            case "ledger" -> "ok " + db.read(Consistency.LINEARIZABLE, PeerMain::ledger);
            case "role" -> "ok " + db.health().role();
            case "local" ->
                "ok "
                    + db.read(
                        Consistency.LOCAL,
                        (Transaction tx) -> Operations.value(tx, Operations.REGISTERS, w[2]));
            case "digest" -> "ok " + db.read(Consistency.LINEARIZABLE, PeerMain::digest);
            case "leader" -> "ok " + db.membership().leader();
            case "health" -> "ok " + db.health().state() + " " + db.health().reason();
            case "data" -> "ok " + dataBytes();
            case "close" -> {
              db.close();
              yield "ok";
            }
            default -> "ok " + db.appliedIndex();
          };
    } catch (ReplicationException e) {
      answer = (e.mayBeApplied() ? "unknown " : "failed ") + e.reason();
    } catch (RefusedException e) {
      answer = "refused";
    } catch (Exception e) {
      answer = "unknown " + e;
    }
    synchronized (out) {
      out.println(w[0] + " " + answer.replace('\n', ' '));
      out.flush();
    }
  }

  private String submit(Command c) throws Exception {
    try {
      byte[] result = db.submit(c).get().result();
      return "ok "
          + (c instanceof Pay
              ? new String(result, StandardCharsets.UTF_8)
              : Long.toString(Operations.number(padded(result))));
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception x ? x : e;
    }
  }

  private static byte[] padded(byte[] result) {
    return result.length == 8 ? result : new byte[8];
  }

  private static long sum(Transaction tx) {
    long sum = 0;
    for (TableSpec t : List.of(Operations.CHECKING, Operations.SAVINGS)) {
      if (tx.tables().contains(t.name())) {
        try (Cursor<byte[], byte[]> c =
            tx.table(t).bytes().scan(tx, null, null, ScanOrder.ASCENDING)) {
          while (c.next()) {
            sum += Operations.number(c.value());
          }
        }
      }
    }
    return sum;
  }

  private String balances() {
    return torn
        ? db.read(reads, tx -> Operations.balances(tx, Operations.CHECKING))
            + ","
            + db.read(reads, tx -> Operations.balances(tx, Operations.SAVINGS))
        : db.read(
            reads,
            (Transaction tx) ->
                Operations.balances(tx, Operations.CHECKING)
                    + ","
                    + Operations.balances(tx, Operations.SAVINGS));
  }

  /**
   * Hashes the tables of commands, but not those of the replica, which depend on the number of
   * retries.
   */
  private static String digest(Transaction tx) {
    CRC32C hash = new CRC32C();
    for (String name : tx.tables()) {
      if (!name.startsWith("fovea.")) {
        try (Cursor<byte[], byte[]> c =
            tx.table(TableSpec.bytes(name, 64)).bytes().scan(tx, null, null, ScanOrder.ASCENDING)) {
          while (c.next()) {
            hash.update(c.key());
            hash.update(c.value());
          }
        }
      }
    }
    return Long.toHexString(hash.getValue());
  }

  /** The size of the database file. */
  private long dataBytes() throws IOException {
    long most = 0;
    for (String place : List.of("one", "two")) {
      Path file = directory.resolve("database").resolve(place).resolve("data.fovea");
      most = Math.max(most, Files.exists(file) ? Files.size(file) : 0);
    }
    return most;
  }

  private static String ledger(Transaction tx) {
    StringBuilder all = new StringBuilder();
    if (tx.tables().contains(Operations.LEDGER.name())) {
      Table<byte[], byte[]> ledger = tx.table(Operations.LEDGER).bytes();
      try (Cursor<byte[], byte[]> c = ledger.scan(tx, null, null, ScanOrder.ASCENDING)) {
        while (c.next()) {
          all.append(new String(c.key(), StandardCharsets.UTF_8))
              .append('=')
              .append(Pay.count(c.value()))
              .append('@')
              .append(Pay.index(c.value()))
              .append(',');
        }
      }
    }
    return all + " " + sum(tx);
  }
}
