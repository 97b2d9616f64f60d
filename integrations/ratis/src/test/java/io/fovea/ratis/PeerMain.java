package io.fovea.ratis;

import io.fovea.ByteCursor;
import io.fovea.ByteTable;
import io.fovea.Order;
import io.fovea.Transaction;
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
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;

/**
 * A peer as a process: takes a request a line from its input, and answers a line each. It ends when
 * its input does, so that none is left when a test is killed.
 *
 * <pre>
 *   number read   key           →  number ok value
 *   number write  key value     →  number ok 0
 *   number swap   key from to   →  number ok 0|1
 *   number pay    name from to amount
 *   number ledger               →  number ok name=count,... sum
 *   number index                →  number ok index
 * </pre>
 *
 * or {@code number failed|unknown reason}.
 */
final class PeerMain {
  private final ReplicatedDatabase db;
  private final Consistency reads;
  private final PrintStream out;

  private PeerMain(ReplicatedDatabase db, Consistency reads, PrintStream out) {
    this.db = db;
    this.reads = reads;
    this.out = out;
  }

  /** Arguments: name, directory, where it listens, flags, and the peers as name=address. */
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
        CopyTest.shortLog(Group.small(ReplicationOptions.of(args[0], Path.of(args[1]), peers)))
            .listen(args[2])
            .electionTimeout(Duration.ofMillis(600))
            .requestTimeout(Duration.ofSeconds(8))
            .attemptTimeout(Duration.ofMillis(flags.contains("impatient") ? 100 : 800))
            .experiments(
                new Replica.Experiments(!flags.contains("forgetful"), !flags.contains("apart")));
    ReplicatedDatabase db = ReplicatedDatabase.join(options);
    Consistency reads = flags.contains("stale") ? Consistency.LOCAL : Consistency.LINEARIZABLE;
    PeerMain main = new PeerMain(db, reads, out);
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
            case "sum" -> "ok " + db.read(reads, PeerMain::sum);
            case "ledger" -> "ok " + db.read(Consistency.LINEARIZABLE, PeerMain::ledger);
            case "role" -> "ok " + db.health().role();
            default -> "ok " + db.appliedIndex();
          };
    } catch (ReplicationException e) {
      answer = (e.mayBeApplied() ? "unknown " : "failed ") + e.reason();
    } catch (RefusedException e) {
      answer = "failed refused";
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
      return "ok " + Operations.number(padded(db.submit(c).get().result()));
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
        try (ByteCursor c = tx.table(t).bytes().scan(tx, null, null, Order.ASCENDING)) {
          while (c.next()) {
            sum += Operations.number(c.value());
          }
        }
      }
    }
    return sum;
  }

  private static String ledger(Transaction tx) {
    StringBuilder all = new StringBuilder();
    if (tx.tables().contains(Operations.LEDGER.name())) {
      ByteTable ledger = tx.table(Operations.LEDGER).bytes();
      try (ByteCursor c = ledger.scan(tx, null, null, Order.ASCENDING)) {
        while (c.next()) {
          all.append(new String(c.key(), StandardCharsets.UTF_8))
              .append('=')
              .append(Operations.number(c.value()))
              .append(',');
        }
      }
    }
    return all + " " + sum(tx);
  }
}
