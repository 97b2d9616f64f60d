package io.fovea.ratis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.ratis.Operations.Add;
import io.fovea.ratis.Operations.Stop;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The output of the command for a group, and its exit codes. */
@Tag("slow")
class ReplicaCommandTest {
  @TempDir Path directory;

  private record Ran(int code, String out, String err) {}

  private static Ran run(String... args) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int code = ReplicaCommand.run(new PrintWriter(out), new PrintWriter(err), args);
    return new Ran(code, out.toString(), err.toString());
  }

  /** Replaces numbers of the log and ports, which differ from run to run. */
  private static String plain(Group g, String text) {
    String plain = text.replaceAll("(applied|committed|snapshot|index) -?[0-9]+", "$1 N");
    plain = plain.replaceAll("(\"(?:applied|committed|snapshot)\": )-?[0-9]+", "$1N");
    for (Peer p : g.peers) {
      plain = plain.replace(p.address(), p.id() + ":1");
    }
    return plain;
  }

  private static String seeds(Group g) {
    return g.peers.stream().map(p -> p.id() + "=" + p.address()).collect(Collectors.joining(","));
  }

  @Test
  void showsAndChangesGroup() throws Exception {
    try (Group g = Group.ofThree(directory, o -> o)) {
      for (int i = 0; i < 20; i++) {
        g.leader().submit(new Add("n", 1)).get();
      }
      run("transfer", seeds(g), "a");
      for (ReplicatedDatabase db : g.up.values()) {
        db.read(Consistency.LINEARIZABLE, tx -> null); // each peer knows the leader
      }
      String one = "b=" + g.peers.get(1).address();

      // One member suffices, and names the others.
      Ran status = run("status", one);
      assertEquals(
          """
          b  b:1  follower   applied N  committed N  snapshot N
          a  a:1  leader     applied N  committed N  snapshot N
          c  c:1  follower   applied N  committed N  snapshot N
          3 of 3 are healthy, a leads.
          """,
          plain(g, status.out));
      assertEquals(0, status.code, status.err);
      assertEquals(
          """
          [{"id": "b", "address": "b:1", "role": "FOLLOWER", "leader": "a", "well": true, \
          "trouble": "", "applied": N, "committed": N, "snapshot": N}, \
          {"id": "a", "address": "a:1", "role": "LEADER", "leader": "a", "well": true, \
          "trouble": "", "applied": N, "committed": N, "snapshot": N}, \
          {"id": "c", "address": "c:1", "role": "FOLLOWER", "leader": "a", "well": true, \
          "trouble": "", "applied": N, "committed": N, "snapshot": N}]
          """,
          plain(g, run("status", "--json", one).out));
      assertEquals(
          """
          b  applied N  digest D at N  agrees
          a  applied N  digest D at N  agrees
          c  applied N  digest D at N  agrees
          3 of 3 agree.
          """,
          run("verify", one)
              .out
              .replaceAll("(applied|at) [0-9]+", "$1 N")
              .replaceAll(" [0-9a-f]{16} ", " D "));
      assertEquals(
          List.of("a", "b", "c"),
          List.of(run("verify", "--json", one).out.split("\"state\": \"agrees\"")).stream()
              .filter(o -> o.contains("\"id\": "))
              .map(o -> o.replaceAll("(?s).*\"id\": \"([abc])\".*", "$1"))
              .sorted()
              .toList());
      assertEquals("a=a:1\nb=b:1\nc=c:1\n", plain(g, run("peers", one).out));
      assertEquals(
          "[{\"id\": \"a\", \"address\": \"a:1\"}, {\"id\": \"b\", \"address\": \"b:1\"},"
              + " {\"id\": \"c\", \"address\": \"c:1\"}]\n",
          plain(g, run("peers", one, "--json").out));

      assertEquals(new Ran(0, "b leads.\n", ""), run("transfer", one, "b"));
      assertEquals("b", g.leader().id());
      assertEquals(new Ran(0, "{\"leader\": \"b\"}\n", ""), run("transfer", "--json", one, "b"));
      Ran any = run("transfer", one);
      assertEquals(0, any.code, any.err);
      assertTrue(any.out.matches("[ac] leads\\.\n"), any.out);

      assertEquals("c has a snapshot at index N.\n", plain(g, run("snapshot", one, "c").out));
      assertEquals(
          "b has a snapshot at index N.\na has a snapshot at index N.\nc has a snapshot at index"
              + " N.\n",
          plain(g, run("snapshot", one).out));

      Peer d = new Peer("d", "127.0.0.1:" + Ports.next());
      String fourth = d.id() + "=" + d.address();
      g.startJoining(d);
      assertEquals(new Ran(0, "d is a member now.\n", ""), run("add", one, fourth));
      assertEquals(
          new Ran(0, "d is already a member at this address.\n", ""), run("add", one, fourth));
      assertEquals(4, g.leader().membership().peers().size());
      assertEquals(new Ran(0, "d was removed.\n", ""), run("remove", one, "d"));
      assertEquals(new Ran(0, "d was not a member.\n", ""), run("remove", one, "d"));
      assertEquals(new Ran(0, "{\"removed\": false}\n", ""), run("remove", one, "d", "--json"));
      g.stop("d");

      // An unreachable peer is shown, and the code is 1.
      String away = g.follower().id();
      g.stop(away);
      Ran less = run("--timeout", "2", "status", seeds(g));
      assertEquals(1, less.code);
      assertTrue(less.out.contains("2 of 3 are healthy, " + g.leader().id() + " leads."), less.out);
      assertTrue(plain(g, less.out).contains(away + ":1  away       It did not answer:"), less.out);
      Ran two = run("--timeout", "2", "verify", seeds(g));
      assertEquals(1, two.code);
      assertTrue(two.out.contains(away + "  not compared  It did not answer:"), two.out);
      assertTrue(two.out.endsWith("2 of 3 agree.\n"), two.out);
    }
  }

  @Test
  void reportsProblems() throws Exception {
    try (Group g = Group.ofThree(directory, o -> o.requestTimeout(Duration.ofSeconds(3)))) {
      String all = seeds(g);
      Ran none = run("transfer", all, "zebra");
      assertEquals(new Ran(2, "", "fovea replica: \"zebra\" is not a member.\n"), none);
      assertEquals(2, run("snapshot", all, "zebra").code);
      Ran group = run("status", all, "--group", "other");
      assertEquals(1, group.code);
      assertTrue(group.out.contains("0 of 3 are healthy, no leader."), group.out);

      // A command that fails for a local reason stops all peers, which say so while their servers
      // answer.
      try {
        g.leader().submit(new Stop()).get();
      } catch (ExecutionException e) {
        // it stopped them
      }
      Ran down = run("status", all, "--timeout", "2");
      assertEquals(1, down.code);
      assertTrue(down.out.contains("It has stopped"), down.out);
      assertTrue(down.out.contains("no leader"), down.out);
      Ran change = run("remove", all, "a", "--timeout", "2");
      assertEquals(1, change.code);
      assertTrue(change.err.contains("None of the peers that answer is the leader"), change.err);
    }
  }

  @Test
  void mistakesExitWithTwo() throws IOException {
    Path file = Files.createFile(directory.resolve("ca.pem"));
    for (String[] args :
        List.of(
            new String[] {"status"},
            new String[] {"status", "10.0.0.1:7001"},
            new String[] {"status", "a=nowhere"},
            new String[] {"add", "a=127.0.0.1:1", "b"},
            new String[] {"status", "a=127.0.0.1:1", "--timeout", "0"},
            new String[] {"status", "a=127.0.0.1:1", "--tls-key", file.toString()},
            new String[] {"dance", "a=127.0.0.1:1"})) {
      Ran ran = run(args);
      assertEquals(2, ran.code, String.join(" ", args));
      assertTrue(!ran.err.isEmpty(), String.join(" ", args));
    }
    Ran help = run("--help");
    assertEquals(0, help.code);
    for (String command :
        List.of("status", "peers", "verify", "add", "remove", "transfer", "snapshot")) {
      assertTrue(help.out.contains("  " + command), help.out);
    }
    assertTrue(run("status", "--help").out.contains("fovea replica status"));
    Ran nobody = run("peers", "a=127.0.0.1:" + Ports.next(), "--timeout", "1");
    assertEquals(1, nobody.code);
    assertTrue(nobody.err.startsWith("fovea replica: a: It did not answer: "), nobody.err);
  }
}
