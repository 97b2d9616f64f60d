package io.fovea.ratis.bench;

import io.fovea.Options;
import io.fovea.config.Durability;
import io.fovea.ratis.Consistency;
import io.fovea.ratis.Peer;
import io.fovea.ratis.Ports;
import io.fovea.ratis.ReplicatedDatabase;
import io.fovea.ratis.ReplicationOptions;
import io.fovea.replication.Command;
import io.fovea.replication.CommandContext;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.apache.ratis.client.RaftClient;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.grpc.GrpcConfigKeys;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.RaftServerConfigKeys;

/**
 * Measures throughput and latency of commits, of one and three peers in this JVM on the loopback
 * address, compared with a minimal file store on Ratis. See docs/benchmarks/ratis.md.
 *
 * <p>Each client submits a command, waits for its result and submits the next. A command writes a
 * value of 100 bytes under one of 100,000 keys.
 */
public final class ReplicationBenchmark {
  private static final int KEYS = 100_000;
  private static final int CLIENTS = Integer.getInteger("clients", 32);
  private static final int SECONDS = Integer.getInteger("seconds", 10);
  private static final TableSpec VALUES = TableSpec.bytes("values", 4);

  record Write(int key, byte[] value) implements Command {
    @Override
    public byte[] apply(CommandContext c) {
      c.table(VALUES).bytes().put(c.tx(), ByteBuffer.allocate(4).putInt(key).array(), value);
      return NOTHING;
    }

    byte[] encode() {
      return ByteBuffer.allocate(4 + value.length).putInt(key).put(value).array();
    }

    static Write decode(byte[] bytes) {
      ByteBuffer b = ByteBuffer.wrap(bytes);
      int key = b.getInt();
      byte[] value = new byte[b.remaining()];
      b.get(value);
      return new Write(key, value);
    }
  }

  /** Runs one request to its end. */
  private interface Request {
    void run(int key, byte[] value) throws Exception;
  }

  private ReplicationBenchmark() {}

  /**
   * Runs all measurements, and prints a table row for each.
   *
   * @param args the directory, on the device to be measured, created if it is missing; the
   *     temporary directory by default
   * @throws Exception if something fails
   */
  public static void main(String[] args) throws Exception {
    Path directory =
        args.length > 0
            ? Files.createDirectories(Path.of(args[0]))
            : Files.createTempDirectory("replication");
    System.out.println("| what | peers | applied | a second | p50 ms | p99 ms |");
    System.out.println("|---|---|---|---|---|---|");
    for (int peers : new int[] {1, 3}) {
      for (Durability durability : new Durability[] {Durability.ASYNC, Durability.SYNC}) {
        fovea(Files.createTempDirectory(directory, "fovea"), peers, durability);
        files(Files.createTempDirectory(directory, "files"), peers, durability);
      }
    }
    System.exit(0);
  }

  private static List<Peer> peers(int count) {
    List<Peer> peers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      peers.add(new Peer("p" + i, "127.0.0.1:" + Ports.next()));
    }
    return peers;
  }

  private static void fovea(Path directory, int count, Durability durability) throws Exception {
    List<Peer> peers = peers(count);
    List<ReplicatedDatabase> up = new ArrayList<>();
    try {
      for (Peer p : peers) {
        up.add(
            ReplicatedDatabase.join(
                ReplicationOptions.of(p.id(), directory.resolve(p.id()), peers)
                    .durability(durability)
                    .database(Options.defaults().bufferBytes(256 << 20))
                    .command(Write.class, Write::encode, Write::decode)));
      }
      up.get(0).awaitLeader(Duration.ofSeconds(60));
      ReplicatedDatabase leader =
          up.stream().filter(d -> d.membership().isLeader()).findFirst().orElse(up.get(0));
      measure("Fovea: commands", count, durability, (k, v) -> leader.submit(new Write(k, v)).get());
      if (durability == Durability.ASYNC) { // reads do not wait for the sync of SYNC
        reads("Fovea: linearizable reads, leader", count, leader);
        if (count > 1) {
          ReplicatedDatabase other = up.stream().filter(d -> d != leader).findFirst().orElseThrow();
          reads("Fovea: linearizable reads, another peer", count, other);
        }
      }
    } finally {
      up.forEach(ReplicatedDatabase::close);
    }
  }

  private static void reads(String what, int count, ReplicatedDatabase db) throws Exception {
    measure(
        what,
        count,
        Durability.ASYNC,
        (k, v) ->
            db.read(
                Consistency.LINEARIZABLE,
                tx -> tx.table(VALUES).bytes().get(tx, ByteBuffer.allocate(4).putInt(k).array())));
  }

  private static void files(Path directory, int count, Durability durability) throws Exception {
    List<Peer> peers = peers(count);
    List<RaftPeer> members =
        peers.stream()
            .map(p -> RaftPeer.newBuilder().setId(p.id()).setAddress(p.address()).build())
            .toList();
    RaftGroup group = RaftGroup.valueOf(RaftGroupId.randomId(), members);
    List<RaftServer> servers = new ArrayList<>();
    for (RaftPeer p : members) {
      RaftProperties properties = new RaftProperties();
      RaftServerConfigKeys.setStorageDir(
          properties, List.of(directory.resolve(p.getId() + "-log").toFile()));
      GrpcConfigKeys.Server.setPort(
          properties, Integer.parseInt(p.getAddress().substring(p.getAddress().indexOf(':') + 1)));
      RaftServer server =
          RaftServer.newBuilder()
              .setServerId(p.getId())
              .setGroup(group)
              .setProperties(properties)
              .setStateMachine(
                  new FileStore(
                      directory.resolve(p.getId().toString()), durability == Durability.SYNC))
              .build();
      server.start();
      servers.add(server);
    }
    try (RaftClient client =
        RaftClient.newBuilder().setRaftGroup(group).setProperties(new RaftProperties()).build()) {
      client.io().send(Message.valueOf(FileStore.command(0, new byte[1])));
      measure(
          "file store: commands",
          count,
          durability,
          (k, v) -> client.async().send(Message.valueOf(FileStore.command(k, v))).get());
    } finally {
      for (RaftServer s : servers) {
        s.close();
      }
    }
  }

  private static void measure(String what, int peers, Durability durability, Request request)
      throws Exception {
    run(request, Math.max(1, SECONDS / 3));
    long began = System.nanoTime();
    Histogram nanos = run(request, SECONDS);
    double seconds = (System.nanoTime() - began) / 1e9;
    System.out.printf(
        "| %s | %d | %s | %.0f | %.2f | %.2f |%n",
        what,
        peers,
        durability,
        nanos.getTotalCount() / seconds,
        nanos.getValueAtPercentile(50) / 1e6,
        nanos.getValueAtPercentile(99) / 1e6);
  }

  private static Histogram run(Request request, int seconds) throws Exception {
    Histogram all = new Histogram(TimeUnit.MINUTES.toNanos(1), 3);
    try (ExecutorService clients = Executors.newFixedThreadPool(CLIENTS)) {
      long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
      List<Future<Histogram>> parts = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        Random random = new Random(i);
        Callable<Histogram> client =
            () -> {
              Histogram h = new Histogram(TimeUnit.MINUTES.toNanos(1), 3);
              while (System.nanoTime() < until) {
                byte[] value = new byte[100];
                random.nextBytes(value);
                long began = System.nanoTime();
                request.run(random.nextInt(KEYS), value);
                h.recordValue(System.nanoTime() - began);
              }
              return h;
            };
        parts.add(clients.submit(client));
      }
      for (Future<Histogram> p : parts) {
        all.add(p.get());
      }
    }
    return all;
  }
}
