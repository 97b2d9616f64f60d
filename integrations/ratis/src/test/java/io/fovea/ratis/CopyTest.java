package io.fovea.ratis;

import static io.fovea.ratis.Consistency.LINEARIZABLE;
import static io.fovea.ratis.Consistency.LOCAL;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.ratis.Operations.Add;
import io.fovea.ratis.Operations.Put;
import io.fovea.replication.Wipe;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.apache.ratis.server.RaftServerConfigKeys;
import org.apache.ratis.util.SizeInBytes;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Peers so far behind that they fetch a copy of the database. */
@Tag("slow")
class CopyTest {
  private static final long LIMIT = 200;

  @TempDir Path directory;

  /** Writes continuously until it is closed. */
  static final class Writer implements AutoCloseable {
    final AtomicBoolean stop = new AtomicBoolean();
    final AtomicReference<Throwable> failure = new AtomicReference<>();
    final Thread thread;
    volatile long done;

    Writer(ReplicatedDatabase db) {
      thread =
          Thread.ofPlatform()
              .start(
                  () -> {
                    Deque<CompletableFuture<CommandResult>> under = new ArrayDeque<>();
                    try {
                      while (!stop.get()) {
                        under.add(db.submit(new Put("key" + done % 5000, done)));
                        if (under.size() > 20) {
                          under.poll().get();
                        }
                        done++;
                      }
                      while (!under.isEmpty()) {
                        under.poll().get();
                      }
                    } catch (Exception e) {
                      failure.set(e);
                    }
                  });
    }

    void until(long count) throws InterruptedException {
      long from = done;
      while (done < from + count && thread.isAlive()) {
        Thread.sleep(5);
      }
    }

    @Override
    public void close() {
      stop.set(true);
      try {
        thread.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      if (failure.get() != null) {
        throw new AssertionError("The writer has failed.", failure.get());
      }
    }
  }

  /** The log drops whole segments, so they are small here. */
  static ReplicationOptions shortLog(ReplicationOptions o) {
    return o.snapshotEvery(LIMIT)
        .ratis(
            p -> {
              RaftServerConfigKeys.Log.setSegmentSizeMax(p, SizeInBytes.valueOf("8KB"));
              RaftServerConfigKeys.Log.setPreallocatedSize(p, SizeInBytes.valueOf("4KB"));
            });
  }

  @Test
  void wipedPeerRecoversDuringWrites() throws Exception {
    try (Group g = Group.ofThree(directory, CopyTest::shortLog)) {
      ReplicatedDatabase leader = g.leader();
      String id = g.follower().id();
      try (Writer writer = new Writer(leader)) {
        writer.until(2 * LIMIT);
        g.stop(id);
        Wipe.tree(g.directory(id));
        writer.until(4 * LIMIT);
        g.start(id);
        writer.until(2 * LIMIT);
        long index = leader.appliedIndex();
        g.get(id).read(LOCAL.atLeast(index), tx -> null);
      }
      assertTrue(g.get(id).stats().copiesTaken() > 0, () -> g.get(id).stats().toString());
      assertEquals(Health.State.UP, g.get(id).health().state());
      leader.submit(new Add("end", 1)).get();
      assertHasTheSame(leader, g.get(id));

      // The copy survives a restart.
      g.stop(id);
      g.start(id);
      assertHasTheSame(leader, g.get(id));
      assertEquals(0, g.get(id).stats().copiesTaken());
    }
  }

  /**
   * Compares exports byte by byte. A checkpoint of one peer alone stores its position after the
   * last command, including empty entries that follow it; the next command stores the same position
   * on both.
   */
  static void assertHasTheSame(ReplicatedDatabase one, ReplicatedDatabase other) throws Exception {
    for (int tries = 0; tries < 5; tries++) {
      if (Arrays.equals(Group.export(one, LINEARIZABLE), Group.export(other, LINEARIZABLE))) {
        return;
      }
      one.submit(new Add("again", 1)).get();
    }
    assertArrayEquals(Group.export(one, LINEARIZABLE), Group.export(other, LINEARIZABLE));
  }

  @Test
  void readersContinueDuringCopy() throws Exception {
    try (Group g = Group.ofThree(directory, CopyTest::shortLog)) {
      ReplicatedDatabase leader = g.leader();
      leader.submit(new Add("n", 1)).get();
      String id = g.follower().id();
      g.get(id).read(LINEARIZABLE, tx -> null);
      g.stop(id);
      try (Writer writer = new Writer(leader)) {
        writer.until(5 * LIMIT);
      }
      ReplicatedDatabase behind = g.start(id);
      long read = 0;
      long until = System.nanoTime() + 60_000_000_000L;
      while (behind.stats().copiesTaken() == 0 || read < 1000) {
        assertTrue(System.nanoTime() < until, () -> "no copy was taken in: " + behind.health());
        long n = behind.read(LOCAL, tx -> Operations.value(tx, Operations.REGISTERS, "n"));
        assertEquals(1, n);
        read++;
      }
      assertHasTheSame(leader, behind);
    }
  }

  /**
   * The peer's next entry is the first one in the leader's log, so the leader has no previous entry
   * to name. In Ratis 3.2.2 the leader's appender for that peer then ended for good (RATIS-2487,
   * RATIS-2499), and the peer stayed behind until another leader was elected.
   */
  @Test
  void servesPeerAwaySinceBeforeTerm() throws Exception {
    try (Group g = Group.ofThree(directory, o -> o.snapshotEvery(LIMIT))) {
      ReplicatedDatabase first = g.leader();
      first.submit(new Add("n", 1)).get();
      List<String> others = g.up.keySet().stream().filter(id -> !id.equals(first.id())).toList();
      for (String id : others) {
        g.get(id).read(LINEARIZABLE, tx -> null); // it is up to date
      }
      String away = others.get(0);
      g.stop(away);
      first.membership().transferLeadership(others.get(1), Duration.ofSeconds(10));
      ReplicatedDatabase leader = g.leader();
      assertEquals(others.get(1), leader.id());
      try (Writer writer = new Writer(leader)) {
        while (writer.thread.isAlive() && hasFirstSegment(g, leader.id())) {
          writer.until(LIMIT);
        }
      }
      g.start(away);
      assertHasTheSame(leader, g.get(away));
    }
  }

  /**
   * Returns whether the log still has its first segment. Opens no file, because files may be
   * deleted concurrently.
   */
  private static boolean hasFirstSegment(Group g, String id) throws IOException {
    String group = RaftSetup.groupId(g.options(id, g.peers)).getUuid().toString();
    Path current = g.directory(id).resolve("log").resolve(group).resolve("current");
    try (Stream<Path> files = Files.list(current)) {
      return files.anyMatch(f -> f.getFileName().toString().startsWith("log_0-"));
    }
  }
}
