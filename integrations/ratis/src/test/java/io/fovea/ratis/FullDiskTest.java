package io.fovea.ratis;

import static io.fovea.ratis.Consistency.LINEARIZABLE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.StorageFullException;
import io.fovea.ratis.Operations.Add;
import io.fovea.replication.Position;
import java.io.IOException;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/**
 * A peer whose disk is full stops and reports this; the others continue, and the peer catches up
 * once space was freed and it was restarted. One run fills the disk of the log, one that of the
 * database; one hits a follower, the other the leader. {@code -Dratis.seed} selects which, and
 * {@code -Dratis.all=true} runs both.
 *
 * <p>The disk is simulated by a limit on the size of the process's files ({@link FileLimit}). A log
 * segment has 8 MiB, the database's own log 4. So while the database is small, a limit of 6 MiB
 * affects only Ratis' log; a limit above 8 MiB affects only the database.
 */
@Tag("slow")
@EnabledOnOs(OS.LINUX)
class FullDiskTest {
  private static final long MIB = 1 << 20;
  private static final long LOG_LIMIT = 6 * MIB;
  private static final long DATABASE_LIMIT = 10 * MIB;
  private static final int HEAVY = 200_000;
  private static final boolean ALL = Boolean.getBoolean("ratis.all");
  private static final long SEED = Long.getLong("ratis.seed", System.nanoTime() >> 10);

  @TempDir Path directory;

  @Test
  void peerWithFullDiskRecovers() throws Exception {
    try (FaultWorkload workload = new FaultWorkload(directory, 1, "large")) {
      for (boolean leads : new boolean[] {false, true}) {
        if (ALL || leads == (SEED % 2 == 0)) {
          round(workload, true, leads, !leads);
          round(workload, false, !leads, !leads);
        }
      }
    }
  }

  private static void round(FaultWorkload workload, boolean log, boolean leads, boolean politely)
      throws Exception {
    String round =
        "-Dratis.seed="
            + SEED
            + (leads ? ": leader" : ": follower")
            + (log ? ", log" : ", database")
            + ": ";
    PeerProcess a = workload.peers.get("a");
    String leader = "";
    for (int i = 0; i < 600 && leader.length() != 1; i++) {
      leader = a.ask("leader", 10_000).substring(3);
      FaultWorkload.pause(50);
    }
    String of = leader;
    String id =
        leads ? of : List.of("a", "b", "c").stream().filter(p -> !p.equals(of)).findFirst().get();
    PeerProcess victim = workload.peers.get(id);
    List<PeerProcess> others = new ArrayList<>(workload.peers.values());
    others.remove(victim);

    long data = Long.parseLong(victim.ask("data", 10_000).substring(3));
    victim.limit(log ? LOG_LIMIT : Math.max(DATABASE_LIMIT, data + MIB));
    String health = "";
    for (int i = 0; i < 200 && !health.startsWith("ok DOWN"); i++) {
      String heavy = "heavy " + round.hashCode() + "." + i;
      done(others.get(i % 2), heavy + (log ? " " + HEAVY + " 10" : " 10 " + HEAVY), round);
      health = victim.ask("health", 10_000);
    }
    assertTrue(health.startsWith("ok DOWN"), round + health);
    assertTrue(health.contains("disk is full") || health.contains("is full:"), round + health);
    assertTrue(health.contains(log ? "log can't be written" : "its database"), round + health);
    assertTrue(health.contains("restart this peer"), round + health);

    // It fails immediately; its local reads continue, and so do the others.
    assertEquals("failed STOPPED", victim.ask("write x 1", 10_000), round);
    assertEquals("failed STOPPED", victim.ask("read x", 10_000), round);
    assertTrue(victim.ask("local x", 10_000).startsWith("ok"), round);
    for (PeerProcess other : others) {
      done(other, "write " + id + " " + HEAVY, round);
      assertEquals("ok " + HEAVY, done(other, "read " + id, round), round);
      assertTrue(other.ask("health", 10_000).startsWith("ok UP"), round);
    }

    // Space was freed, and an operator restarts it.
    victim.limit(FileLimit.NONE);
    if (politely) {
      assertEquals("ok", victim.ask("close", 30_000), round);
    }
    victim.kill();
    workload.start(id);
    workload.peers.get(id).awaitUp();
    Set<String> digests = new TreeSet<>();
    for (PeerProcess each : workload.peers.values()) {
      digests.add(done(each, "digest", round));
    }
    assertEquals(1, digests.size(), round + digests);
    assertTrue(workload.peers.get(id).ask("health", 10_000).startsWith("ok UP"), round);
  }

  /**
   * Repeats the request until it succeeds: on a busy machine an election takes longer than a
   * request.
   */
  private static String done(PeerProcess peer, String request, String round) {
    String answer = "";
    for (int tries = 0; tries < 8 && !answer.startsWith("ok"); tries++) {
      answer = peer.ask(request, 30_000);
    }
    assertTrue(answer.startsWith("ok"), round + request + ": " + answer);
    return answer;
  }

  /** A peer that is far behind has no space for the copy. */
  @Test
  void peerWithoutSpaceForCopyRecovers() throws Exception {
    try (FaultWorkload workload = new FaultWorkload(directory, 1, "often")) {
      workload.peers.get("c").kill();
      for (int i = 0; i < 120; i++) {
        String to = i % 2 == 0 ? "a" : "b";
        done(workload.peers.get(to), "heavy k" + i + " 1000 " + HEAVY, "");
      }
      workload.start("c");
      workload.peers.get("c").limit(20 * MIB);
      workload.peers.get("c").awaitUp();
      String health = "";
      for (int i = 0; i < 300 && !health.startsWith("ok DOWN"); i++) {
        FaultWorkload.pause(50);
        health = workload.peers.get("c").ask("health", 10_000);
      }
      assertTrue(health.contains("disk is full: the copy that it needs"), health);
      done(workload.peers.get("a"), "write x 1", "");

      workload.peers.get("c").limit(FileLimit.NONE);
      workload.peers.get("c").kill();
      workload.start("c");
      workload.peers.get("c").awaitUp();
      String digest = done(workload.peers.get("a"), "digest", "");
      for (int i = 0;
          i < 30 && !workload.peers.get("c").ask("local x", 10_000).equals("ok 1");
          i++) {
        FaultWorkload.pause(200);
      }
      assertEquals(digest, done(workload.peers.get("c"), "digest", ""));
    }
  }

  /** Ratis leaves an empty vote file on a full disk: {@link VoteFile}. */
  @Test
  void peerWithTruncatedVoteFileRecovers() throws Exception {
    try (Group g = Group.ofThree(directory, o -> o)) {
      assertEquals(0, Operations.number(g.leader().submit(new Add("n", 1)).get().result()));
      String id = g.follower().id();
      g.stop(id);
      Path file = g.inLog(id, f -> f.endsWith("raft-meta"));
      long term = term(file);
      Files.write(file, new byte[0]);
      g.start(id);
      for (ReplicatedDatabase db : g.up.values()) {
        db.submit(new Add("n", 1)).get();
      }
      long n = g.get(id).read(LINEARIZABLE, t -> Operations.value(t, Operations.REGISTERS, "n"));
      assertEquals(4, n);
      assertTrue(term(file) > term + 1_000_000, "all are in a later term");
      assertEquals(Health.State.UP, g.get(id).health().state());
    }
  }

  private static long term(Path file) throws IOException {
    Properties p = new Properties();
    p.load(new StringReader(Files.readString(file)));
    return Long.parseLong(p.getProperty("term"));
  }

  @Test
  void repairsOnlyTruncatedFiles() throws IOException {
    UUID group = new UUID(1, 2);
    Position applied = new Position(Long.MAX_VALUE / 2, 9);
    assertFalse(VoteFile.mend(directory, group, "a", applied), "a new peer");
    Path current = Files.createDirectories(directory.resolve(group.toString()).resolve("current"));
    assertFalse(VoteFile.mend(directory, group, "a", applied));
    Path file = current.resolve("raft-meta");
    for (String whole :
        List.of("#\n#today\nterm=7\nvotedFor=b\n", "votedFor=\nterm=0\n", "term=3\nvotedFor=\n")) {
      Files.writeString(file, whole);
      assertFalse(VoteFile.mend(directory, group, "a", applied), whole);
      assertEquals(whole, Files.readString(file));
    }
    for (String cut :
        List.of("", "#", "#\n", "term=7\n", "votedFor=b\n", "votedFor=b\nterm=1", "\0\0")) {
      Files.writeString(file, cut);
      assertTrue(VoteFile.mend(directory, group, "a", applied), cut);
      assertEquals(applied.term() + 1_000_000, term(file));
      assertFalse(VoteFile.mend(directory, group, "a", applied), cut);
    }
    Files.writeString(file, "");
    assertTrue(VoteFile.mend(directory, group, "a", Position.NONE));
    assertTrue(term(file) > 1_700_000_000_000L, "the clock");
  }

  @Test
  void isDistinguished() {
    assertEquals("it broke", FullDisk.told("it broke", null));
    assertEquals("it broke", FullDisk.told("it broke", new IOException("Input/output error")));
    for (Throwable full :
        List.of(
            new IOException("No space left on device"),
            new UncheckedIOException(new IOException("File too large")),
            new RuntimeException(new IOException("Disk quota exceeded")))) {
      assertTrue(FullDisk.isCause(full));
      assertTrue(
          FullDisk.told("it broke", full)
              .startsWith("a disk is full: it broke. Free space. Then restart"));
    }
    Throwable full = new StorageFullException("write", "data.fovea", 1, "ENOSPC");
    String told = FullDisk.told("the entry 7 can't be applied", new RuntimeException(full));
    assertTrue(told.startsWith("the disk of its database is full: The storage is full"), told);

    IOException first = new IOException("first");
    IOException second = new IOException("second", first);
    first.initCause(second);
    assertNotNull(FullDisk.told("a cycle", first));
  }
}
