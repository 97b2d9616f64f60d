package io.fovea.ratis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.replication.Replica;
import io.fovea.replication.Replica.Digest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.ratis.protocol.RaftPeerId;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Which peers are compared, and which digest is right. */
class DigestComparisonTest {
  private final Map<String, Fake> peers = new TreeMap<>();

  private record Fake(long start, long oldest, long newest, long sum) {}

  private DigestComparison compare(@Nullable String leader) {
    return DigestComparison.of(
        peers.keySet().stream().map(RaftPeerId::valueOf).toList(),
        leader == null ? null : RaftPeerId.valueOf(leader),
        (id, question, most) -> {
          Fake f = peers.get(id.toString());
          if (f.sum == 0) {
            throw new IOException("away");
          }
          long index = ByteBuffer.wrap(question).getLong(1);
          boolean known = index >= f.oldest && index <= f.newest;
          return DigestComparison.encode(
              new Digest(f.start, f.oldest, f.newest, known ? f.sum : null));
        },
        Duration.ofSeconds(1));
  }

  private static Set<String> names(List<RaftPeerId> ids) {
    return Set.copyOf(ids.stream().map(RaftPeerId::toString).toList());
  }

  @Test
  void majorityIsRight() {
    for (String leader : List.of("a", "b", "c")) {
      peers.put("a", new Fake(-1, 0, 100, 7));
      peers.put("b", new Fake(-1, 0, 90, 7));
      peers.put("c", new Fake(-1, 0, 95, 8));
      DigestComparison c = compare(leader);
      assertEquals(90, c.index());
      assertTrue(c.differ());
      assertEquals(Set.of("c"), names(c.wrong()));
    }
  }

  @Test
  void leaderIsRightWithoutMajorityIfAllAnswer() {
    peers.put("a", new Fake(-1, 0, 100, 7));
    peers.put("b", new Fake(-1, 0, 90, 8));
    assertEquals(Set.of("b"), names(compare("a").wrong()));
    assertEquals(Set.of("a"), names(compare("b").wrong()));
    assertNull(compare(null).right());
    peers.put("c", new Fake(-1, 0, 90, 9));
    assertEquals(Set.of("b", "c"), names(compare("a").wrong()));
    peers.put("c", new Fake(-1, 0, 90, 0));
    DigestComparison c = compare("a");
    assertTrue(c.differ());
    assertNull(c.right());
    assertEquals(Set.of(), names(c.wrong()));
    assertEquals(Set.of("c"), names(List.copyOf(c.silent().keySet())));
  }

  @Test
  void peersFarBehindAreLeftOut() {
    peers.put("a", new Fake(-1, 50, 100, 7));
    peers.put("b", new Fake(-1, 60, 90, 7));
    peers.put("c", new Fake(-1, 0, 40, 8));
    DigestComparison c = compare("a");
    assertEquals(90, c.index());
    assertFalse(c.differ());
    assertEquals(2, c.sums().size());
    peers.put("c", new Fake(-1, 0, 60, 7));
    assertEquals(60, compare("a").index());
  }

  @Test
  void digestsWithOtherStartAreNotCompared() {
    peers.put("a", new Fake(5, 50, 100, 7));
    peers.put("b", new Fake(-1, 60, 90, 9));
    peers.put("c", new Fake(Replica.NO_DIGEST, 0, 95, 8));
    DigestComparison c = compare("a");
    assertEquals(1, c.sums().size());
    assertFalse(c.differ());
    assertEquals(5, c.start());
    peers.put("a", new Fake(Replica.NO_DIGEST, 50, 100, 7));
    assertEquals(-1, compare("a").index());
  }
}
