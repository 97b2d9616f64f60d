package io.fovea.ratis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.ratis.RaftConfigKeys;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.rpc.SupportedRpcType;
import org.apache.ratis.server.RaftServerConfigKeys;
import org.apache.ratis.util.SizeInBytes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ratis' properties that a caller may change, and those it may not. */
class RaftSetupTest {
  @TempDir Path directory;

  private ReplicationOptions with(Consumer<RaftProperties> change) {
    List<Peer> peers = List.of(new Peer("a", "127.0.0.1:" + Ports.next()));
    return Group.small(ReplicationOptions.of("a", directory, peers)).ratis(change);
  }

  @Test
  void safetyPropertiesAreFixed() {
    Map<String, Consumer<RaftProperties>> changes =
        Map.of(
            "raft.rpc.type",
            p -> RaftConfigKeys.Rpc.setType(p, SupportedRpcType.NETTY),
            "raft.server.log.append-entries.compose.enabled",
            p -> RaftServerConfigKeys.Log.setAppendEntriesComposeEnabled(p, true),
            "raft.server.log.appender.install.snapshot.enabled",
            p -> RaftServerConfigKeys.Log.Appender.setInstallSnapshotEnabled(p, true),
            "raft.server.storage.dir",
            p -> RaftServerConfigKeys.setStorageDir(p, List.of(new File("elsewhere"))));
    changes.forEach(
        (key, change) -> {
          ReplicationOptions options = with(change);
          Exception e =
              assertThrows(IllegalArgumentException.class, () -> ReplicatedDatabase.join(options));
          assertTrue(e.getMessage().startsWith(key + " can't be changed"), e::getMessage);
        });
  }

  @Test
  void otherPropertiesCanChange() {
    RaftProperties p =
        RaftSetup.properties(
            with(
                of -> {
                  RaftServerConfigKeys.Log.setSegmentSizeMax(of, SizeInBytes.valueOf("1MB"));
                  // the current value again
                  RaftServerConfigKeys.Log.setAppendEntriesComposeEnabled(of, false);
                }));
    assertEquals("1MB", p.get("raft.server.log.segment.size.max"));
  }
}
