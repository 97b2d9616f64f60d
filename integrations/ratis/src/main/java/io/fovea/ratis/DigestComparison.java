package io.fovea.ratis;

import io.fovea.replication.Replica;
import io.fovea.replication.Replica.Digest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.ratis.protocol.RaftPeerId;
import org.jspecify.annotations.Nullable;

/**
 * Compares the digests of a group's peers at one log index that each of them has applied.
 *
 * <p>Each peer is asked twice: for its range of indexes, and for its digest at an index that all of
 * them know. A peer that does not answer, is too far behind, or whose digest has another start is
 * left out until the next comparison. So a restart, a new leader or a copy is never mistaken for a
 * difference.
 *
 * <p><b>Which digest is right</b> if they differ: the one that a majority of the members has.
 * Without such a majority, if all members were compared, as in a group of two: the leader's,
 * because its results were sent to the submitters. If a member is missing: undecided until it
 * returns.
 *
 * @param index the compared index; -1 if none
 * @param start the start of the compared digests
 * @param ranges the answers of the peers
 * @param sums the digests at the index
 * @param right the right digest; null if undecided or nothing was compared
 * @param silent why peers did not answer
 */
record DigestComparison(
    long index,
    long start,
    Map<RaftPeerId, Digest> ranges,
    Map<RaftPeerId, Long> sums,
    @Nullable Long right,
    Map<RaftPeerId, String> silent) {
  /** Request to a state machine: {@code D index}. */
  static final byte DIGEST = 'D';

  private static final int ANSWER_BYTES = 33;

  boolean differ() {
    return new HashSet<>(sums.values()).size() > 1;
  }

  /** Returns the peers whose digest is not the right one. */
  List<RaftPeerId> wrong() {
    List<RaftPeerId> wrong = new ArrayList<>();
    sums.forEach(
        (id, sum) -> {
          if (right != null && !right.equals(sum)) {
            wrong.add(id);
          }
        });
    return wrong;
  }

  static byte[] encode(Digest d) {
    Long sum = d.sum();
    return ByteBuffer.allocate(ANSWER_BYTES)
        .putLong(d.start())
        .putLong(d.oldest())
        .putLong(d.newest())
        .put((byte) (sum == null ? 0 : 1))
        .putLong(sum == null ? 0 : sum)
        .array();
  }

  private static Digest ask(
      FoveaStateMachine.Asking asking, RaftPeerId peer, long index, Duration most)
      throws IOException {
    byte[] question = ByteBuffer.allocate(9).put(DIGEST).putLong(index).array();
    ByteBuffer b = ByteBuffer.wrap(asking.ask(peer, question, most));
    long start = b.getLong();
    long oldest = b.getLong();
    long newest = b.getLong();
    boolean known = b.get() == 1;
    long sum = b.getLong();
    return new Digest(start, oldest, newest, known ? sum : null);
  }

  /**
   * Asks the peers, one after the other.
   *
   * @param members all members
   * @param leader the leader; null if unknown
   * @param most how long one peer may take to answer
   */
  static DigestComparison of(
      Collection<RaftPeerId> members,
      @Nullable RaftPeerId leader,
      FoveaStateMachine.Asking asking,
      Duration most) {
    Map<RaftPeerId, Digest> ranges = new TreeMap<>(Comparator.comparing(RaftPeerId::toString));
    Map<RaftPeerId, Long> sums = new TreeMap<>(Comparator.comparing(RaftPeerId::toString));
    Map<RaftPeerId, String> silent = new TreeMap<>(Comparator.comparing(RaftPeerId::toString));
    for (RaftPeerId id : members) {
      try {
        ranges.put(id, ask(asking, id, Long.MAX_VALUE, most));
      } catch (IOException e) {
        silent.put(id, String.valueOf(e.getMessage()));
      }
    }
    long start = start(ranges, leader);
    long index = index(ranges, start);
    if (index >= 0) {
      for (Map.Entry<RaftPeerId, Digest> e : ranges.entrySet()) {
        try {
          Digest d = ask(asking, e.getKey(), index, most);
          Long sum = d.sum();
          if (d.start() == start && sum != null) {
            sums.put(e.getKey(), sum);
          }
        } catch (IOException gone) {
          silent.put(e.getKey(), String.valueOf(gone.getMessage()));
        }
      }
    }
    return new DigestComparison(
        index, start, ranges, sums, right(sums, members.size(), leader), silent);
  }

  /** The start of the leader's digest, otherwise the most frequent one. */
  private static long start(Map<RaftPeerId, Digest> ranges, @Nullable RaftPeerId leader) {
    Digest leads = leader == null ? null : ranges.get(leader);
    if (leads != null) {
      return leads.start();
    }
    Map<Long, Integer> counts = new TreeMap<>();
    ranges.values().forEach(d -> counts.merge(d.start(), 1, Integer::sum));
    return counts.entrySet().stream()
        .max(Map.Entry.comparingByValue())
        .map(Map.Entry::getKey)
        .orElse(Replica.NO_DIGEST);
  }

  /** The highest index that all know, leaving out peers that are too far behind; -1 for none. */
  private static long index(Map<RaftPeerId, Digest> ranges, long start) {
    List<Digest> all = new ArrayList<>();
    for (Digest d : ranges.values()) {
      if (d.start() == start && start != Replica.NO_DIGEST) {
        all.add(d);
      }
    }
    all.sort(Comparator.comparing(Digest::newest));
    for (int behind = 0; behind < all.size(); behind++) {
      long newest = all.get(behind).newest();
      if (all.stream().skip(behind).allMatch(d -> d.oldest() <= newest)) {
        return newest;
      }
    }
    return -1;
  }

  static @Nullable Long right(
      Map<RaftPeerId, Long> sums, int members, @Nullable RaftPeerId leader) {
    Set<Long> different = new HashSet<>(sums.values());
    for (Long sum : different) {
      long have = sums.values().stream().filter(sum::equals).count();
      if (different.size() == 1 || 2 * have > members) {
        return sum;
      }
    }
    return sums.size() == members && leader != null ? sums.get(leader) : null;
  }
}
