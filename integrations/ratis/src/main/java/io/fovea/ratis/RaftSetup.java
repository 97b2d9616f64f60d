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

/** What our options are in Ratis' words. */
final class RaftSetup {
  /**
   * What a caller may not change: the transport, whose requests wait for each other; composed
   * appends, which acknowledge what is not there; copies of Ratis' own, which are none of a
   * database; and the directory of the log, whose end is mended before Ratis reads it.
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
    // By default a leader that was cut off for a moment would not stand again for 10 s, and a peer
    // that was restarted would wait up to 5 s for its leader's next try.
    RaftServerConfigKeys.LeaderElection.setLeaderStepDownWaitTime(
        p, time(o.electionTimeout().multipliedBy(2)));
    RaftServerConfigKeys.Log.Appender.setRetryPolicy(p, "1ms,10, 50ms,20, 200ms,1000000");

    // The database is its own snapshot: a checkpoint makes it one, and drops the log before it.
    RaftServerConfigKeys.Snapshot.setAutoTriggerEnabled(p, true);
    RaftServerConfigKeys.Snapshot.setAutoTriggerThreshold(p, o.snapshotEvery());
    RaftServerConfigKeys.Snapshot.setTriggerWhenStopEnabled(p, false);
    RaftServerConfigKeys.Log.setPurgeUptoSnapshotIndex(p, true);
    RaftServerConfigKeys.Log.setPurgePreservationLogNum(p, o.snapshotEvery());
    RaftServerConfigKeys.Log.setPurgeGap(p, 1);

    // A peer that is far behind is told so, and asks for a copy itself: a copy has the index that
    // it has when it is done, which the leader would have to know when it begins.
    RaftServerConfigKeys.Log.Appender.setInstallSnapshotEnabled(p, false);

    // A follower would append one request behind another's future, and get two things wrong (3.3.0,
    // ServerImplUtils.NavigableIndices): a request that begins where one begins that is under way
    // is acknowledged as a whole, with what only it has; and a request that gets ahead of the one
    // before it fails, and with it each later one for good. SerialAppends waits instead.
    RaftServerConfigKeys.Log.setAppendEntriesComposeEnabled(p, false);

    // Entries that say what is committed would be half of the log; commands say it as well.
    RaftServerConfigKeys.Log.setLogMetadataEnabled(p, false);

    // Retries are known by the session table. Ratis' own memory of them would hold each reply for
    // a minute, and each try of ours is a call of its own for it.
    RaftServerConfigKeys.RetryCache.setExpiryTime(p, TimeDuration.valueOf(1, TimeUnit.SECONDS));
    RaftServerConfigKeys.Write.setElementLimit(p, o.pendingMax());
    RaftServerConfigKeys.Log.Appender.setBufferByteLimit(p, SizeInBytes.valueOf("4MB"));
    change(p, o.properties());
    return p;
  }

  /** Lets a caller change all but what acknowledged commands rest on. */
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
                + ": what is acknowledged could be lost, or the peer not start again.");
      }
    }
  }
}
