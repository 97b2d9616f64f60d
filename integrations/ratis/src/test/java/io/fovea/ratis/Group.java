package io.fovea.ratis;

import io.fovea.Cursor;
import io.fovea.Options;
import io.fovea.ScanOrder;
import io.fovea.schema.TableSpec;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/** A group of peers in this JVM. Not thread-safe. */
final class Group implements AutoCloseable {
  private final Path directory;
  private final UnaryOperator<ReplicationOptions> change;
  final List<Peer> peers = new ArrayList<>();
  final Map<String, ReplicatedDatabase> up = new ConcurrentSkipListMap<>();

  Group(Path directory, UnaryOperator<ReplicationOptions> change, String... ids) {
    this.directory = directory;
    this.change = change;
    for (String id : ids) {
      peers.add(new Peer(id, "127.0.0.1:" + Ports.next()));
    }
  }

  /** Starts three peers and waits for a leader. */
  static Group ofThree(Path directory, UnaryOperator<ReplicationOptions> change) {
    Group g = new Group(directory, change, "a", "b", "c");
    g.peers.forEach(p -> g.start(p.id()));
    g.leader();
    return g;
  }

  static ReplicationOptions small(ReplicationOptions o) {
    return Operations.in(o)
        .database(
            Options.defaults()
                .bufferBytes(16 << 20)
                .log(l -> l.segmentBytes(4 << 20).maxBytes(16 << 20)))
        // Other tests may be using the processors.
        .electionTimeout(Duration.ofSeconds(1))
        .attemptTimeout(Duration.ofSeconds(2))
        .requestTimeout(Duration.ofSeconds(60));
  }

  Path directory(String id) {
    return directory.resolve(id);
  }

  /** Returns a file of Ratis' directory. */
  Path inLog(String id, Predicate<Path> is) throws IOException {
    try (Stream<Path> files = Files.walk(directory(id).resolve("log"))) {
      return files.filter(is).findFirst().orElseThrow();
    }
  }

  ReplicationOptions options(String id, List<Peer> members) {
    return change.apply(small(ReplicationOptions.of(id, directory(id), members)));
  }

  ReplicatedDatabase start(String id) {
    ReplicatedDatabase db = ReplicatedDatabase.join(options(id, peers));
    up.put(id, db);
    return db;
  }

  /** Starts a peer that was added, or will be. */
  void startJoining(Peer peer) {
    List<Peer> members = new ArrayList<>(peers);
    members.add(peer);
    up.put(peer.id(), ReplicatedDatabase.join(options(peer.id(), members).joining(true)));
  }

  void stop(String id) {
    ReplicatedDatabase db = up.remove(id);
    if (db != null) {
      db.close();
    }
  }

  ReplicatedDatabase get(String id) {
    return up.get(id);
  }

  /** Waits for a leader among the running peers. */
  ReplicatedDatabase leader() {
    long until = System.nanoTime() + Duration.ofSeconds(60).toNanos();
    while (System.nanoTime() < until) {
      for (ReplicatedDatabase db : up.values()) {
        if (db.membership().isLeader()) {
          return db;
        }
      }
      FaultWorkload.pause(5);
    }
    throw new AssertionError(
        "There is no leader: " + up.values().stream().map(ReplicatedDatabase::health).toList());
  }

  ReplicatedDatabase follower() {
    ReplicatedDatabase leader = leader();
    return up.values().stream().filter(d -> d != leader).findFirst().orElseThrow();
  }

  /** Exports all tables of byte strings, including those of the replica and its sessions. */
  static byte[] export(ReplicatedDatabase db, Consistency consistency) throws IOException {
    return db.read(
        consistency,
        tx -> {
          ByteArrayOutputStream bytes = new ByteArrayOutputStream();
          DataOutputStream out = new DataOutputStream(bytes);
          for (String name : tx.tables()) {
            out.writeUTF(name);
            int keyMax =
                name.equals("fovea.sessions")
                    ? 24
                    : name.equals("fovea.sessions.order")
                        ? 8
                        : name.equals("fovea.replica") ? 16 : 64;
            try (Cursor<byte[], byte[]> c =
                tx.table(TableSpec.bytes(name, keyMax))
                    .bytes()
                    .scan(tx, null, null, ScanOrder.ASCENDING)) {
              while (c.next()) {
                out.writeInt(c.key().length);
                out.write(c.key());
                out.writeInt(c.value().length);
                out.write(c.value());
              }
            }
          }
          return bytes.toByteArray();
        });
  }

  @Override
  public void close() {
    stopAll();
  }

  /** Stops all peers at once, without a transfer of leadership. */
  void stopAll() {
    List<Thread> closing =
        up.values().stream().map(db -> Thread.ofPlatform().start(() -> db.close(false))).toList();
    up.clear();
    for (Thread t : closing) {
      try {
        t.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
