package io.fovea.ratis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.ratis.RaftConfigKeys;
import org.apache.ratis.client.RaftClientConfigKeys;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.grpc.GrpcConfigKeys;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.server.RaftServerConfigKeys;
import org.apache.ratis.util.SizeInBytes;
import org.apache.ratis.util.TimeDuration;
import org.jspecify.annotations.Nullable;

/** Translates replication options to properties of Ratis. */
final class RaftSetup {
  /**
   * Properties that a caller must not change: the transport, which serializes appends; composed
   * appends, which acknowledge missing entries; Ratis' own snapshots, which do not contain the
   * database; and the log directory, whose end is repaired before Ratis reads it.
   */
  private static final List<String> HELD =
      List.of(
          RaftConfigKeys.Rpc.TYPE_KEY,
          RaftServerConfigKeys.Log.APPEND_ENTRIES_COMPOSE_ENABLED_KEY,
          RaftServerConfigKeys.Log.Appender.INSTALL_SNAPSHOT_ENABLED_KEY,
          RaftServerConfigKeys.STORAGE_DIR_KEY);

  private RaftSetup() {}

  static RaftGroupId groupId(ReplicationOptions o) {
    return groupId(o.group());
  }

  static RaftGroupId groupId(String name) {
    return RaftGroupId.valueOf(
        UUID.nameUUIDFromBytes(("fovea:" + name).getBytes(StandardCharsets.UTF_8)));
  }

  static RaftPeer peer(Peer peer) {
    return RaftPeer.newBuilder().setId(peer.id()).setAddress(peer.address()).build();
  }

  static List<RaftPeer> peers(Collection<Peer> peers) {
    return peers.stream().map(RaftSetup::peer).toList();
  }

  static RaftGroup group(ReplicationOptions o) {
    return RaftGroup.valueOf(groupId(o), peers(o.peers()));
  }

  static TimeDuration time(Duration d) {
    return TimeDuration.valueOf(d.toMillis(), TimeUnit.MILLISECONDS);
  }

  static RaftProperties properties(ReplicationOptions o) {
    RaftProperties p = new RaftProperties();
    RaftServerConfigKeys.setStorageDir(p, List.of(o.directory().resolve("log").toFile()));
    RaftConfigKeys.Rpc.setType(p, new SerialGrpc());
    GrpcConfigKeys.Server.setHost(p, o.listen().host());
    GrpcConfigKeys.Server.setPort(p, o.listen().port());

    RaftServerConfigKeys.Rpc.setTimeoutMin(p, time(o.electionTimeout()));
    RaftServerConfigKeys.Rpc.setTimeoutMax(p, time(o.electionTimeout().multipliedBy(2)));
    RaftServerConfigKeys.Rpc.setFirstElectionTimeoutMin(p, time(o.electionTimeout()));
    RaftServerConfigKeys.Rpc.setFirstElectionTimeoutMax(
        p, time(o.electionTimeout().multipliedBy(2)));
    RaftServerConfigKeys.Rpc.setRequestTimeout(p, time(o.attemptTimeout()));
    RaftClientConfigKeys.Rpc.setRequestTimeout(p, time(o.attemptTimeout()));
    RaftServerConfigKeys.LeaderElection.setPreVote(p, true);
    // By default a leader that was cut off briefly would not stand for election for 10 s, and a
    // restarted peer would wait up to 5 s for its leader's next attempt.
    RaftServerConfigKeys.LeaderElection.setLeaderStepDownWaitTime(
        p, time(o.electionTimeout().multipliedBy(2)));
    RaftServerConfigKeys.Log.Appender.setRetryPolicy(p, "1ms,10, 50ms,20, 200ms,1000000");

    // The database is its own snapshot: a checkpoint creates it, and allows the log before it to be
    // dropped.
    RaftServerConfigKeys.Snapshot.setAutoTriggerEnabled(p, true);
    RaftServerConfigKeys.Snapshot.setAutoTriggerThreshold(p, o.snapshotEvery());
    RaftServerConfigKeys.Snapshot.setTriggerWhenStopEnabled(p, false);
    RaftServerConfigKeys.Log.setPurgeUptoSnapshotIndex(p, true);
    RaftServerConfigKeys.Log.setPurgePreservationLogNum(p, o.snapshotEvery());
    RaftServerConfigKeys.Log.setPurgeGap(p, 1);

    // A peer that is too far behind is notified and requests a copy itself. The index of a copy is
    // known only when the copy is complete; Ratis' leader would have to know it at the start.
    RaftServerConfigKeys.Log.Appender.setInstallSnapshotEnabled(p, false);

    // With composed appends a follower gets two things wrong (3.3.0,
    // ServerImplUtils.NavigableIndices). A request that begins at the same entry as one in progress
    // is acknowledged as a whole, including entries that only it contains. A request that overtakes
    // its predecessor fails, and so does every later one. SerialAppends waits instead.
    RaftServerConfigKeys.Log.setAppendEntriesComposeEnabled(p, false);

    // Entries that record the commit index would be half of the log; commands carry it too.
    RaftServerConfigKeys.Log.setLogMetadataEnabled(p, false);

    // The session table detects retries. Ratis' cache would hold each reply for a minute, and does
    // not recognize our attempts, each of which is a separate call.
    RaftServerConfigKeys.RetryCache.setExpiryTime(p, TimeDuration.valueOf(1, TimeUnit.SECONDS));
    RaftServerConfigKeys.Write.setElementLimit(p, o.pendingMax());
    RaftServerConfigKeys.Log.Appender.setBufferByteLimit(p, SizeInBytes.valueOf("4MB"));
    change(p, o.properties());
    return p;
  }

  /** Lets the caller change all properties except {@link #HELD}. */
  private static void change(RaftProperties p, Consumer<RaftProperties> change) {
    List<@Nullable String> before = HELD.stream().map(p::get).toList();
    change.accept(p);
    for (int i = 0; i < HELD.size(); i++) {
      String now = p.get(HELD.get(i));
      if (!Objects.equals(before.get(i), now)) {
        throw new IllegalArgumentException(
            HELD.get(i)
                + " can't be changed to "
                + now
                + ": acknowledged commands could be lost, or the peer could not restart.");
      }
    }
  }
}
