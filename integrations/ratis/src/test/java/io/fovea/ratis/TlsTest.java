package io.fovea.ratis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.ratis.Health.State;
import io.fovea.ratis.Operations.Add;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Peers and the command with TLS, and the messages for wrong certificates. */
@Tag("slow")
class TlsTest {
  @TempDir static Path folder;
  private static Certificates all;

  @TempDir Path directory;

  @BeforeAll
  static void makeCertificates() throws Exception {
    all = new Certificates(folder.resolve("certificates"));
    all.authority("ours");
    all.issue("peer", "ours", "127.0.0.1");
    all.issue("elsewhere", "ours", "10.9.8.7");
    all.issue("old", "ours", "127.0.0.1", "-startdate", "-9d", "-validity", "8");
    all.authority("theirs");
    all.issue("stranger", "theirs", "127.0.0.1");
    all.make();
  }

  private record Ran(int code, String out, String err) {}

  /** Runs a command; on a busy machine, repeats it with more time. */
  private static Ran run(Group g, String command, String... more) {
    Ran ran = run(g, 5, command, more);
    return ran.out.contains("DEADLINE_EXCEEDED") ? run(g, 120, command, more) : ran;
  }

  private static Ran run(Group g, int seconds, String command, String... more) {
    List<String> args = new ArrayList<>(List.of(command));
    args.add(
        g.peers.stream().map(p -> p.id() + "=" + p.address()).collect(Collectors.joining(",")));
    args.addAll(List.of("--timeout", String.valueOf(seconds)));
    args.addAll(Arrays.asList(more));
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int code =
        ReplicaCommand.run(new PrintWriter(out), new PrintWriter(err), args.toArray(String[]::new));
    return new Ran(code, out.toString(), err.toString());
  }

  private static String[] tls(String certificate, String authority) {
    return new String[] {
      "--tls-trust", all.certificate(authority).toString(),
      "--tls-certificate", all.certificate(certificate).toString(),
      "--tls-key", all.key(certificate).toString()
    };
  }

  private static UnaryOperator<ReplicationOptions> speaking(String certificate) {
    return o -> o.tls(all.certificate(certificate), all.key(certificate), all.certificate("ours"));
  }

  /** No peer answers, and the reason is given for each. */
  private static void assertRefused(Ran ran, int peers, String why) {
    assertEquals(1, ran.code, ran.out);
    assertEquals(peers, ran.out.split("It did not answer: " + why, -1).length - 1, ran.out);
    assertTrue(ran.out.contains("0 of " + peers + " are healthy, no leader."), ran.out);
  }

  @Test
  void strangersAreRefused() throws Exception {
    try (Group g = Group.ofThree(directory, speaking("peer"))) {
      g.follower().submit(new Add("n", 1)).get();
      assertEquals(1, number(g.follower()));
      Ran well = run(g, "status", tls("peer", "ours"));
      assertEquals(0, well.code, well.out + well.err);
      assertTrue(well.out.contains("3 of 3 are healthy"), well.out);
      // No peer connects to a client, so its certificate may be for any address.
      assertEquals(new Ran(0, "b leads.\n", ""), run(g, "transfer", withWord("b", "elsewhere")));

      assertRefused(
          run(g, "status", tls("peer", "theirs")),
          3,
          "its certificate is not of an authority that is trusted here");
      assertRefused(
          run(g, "status", tls("stranger", "ours")),
          3,
          "it does not accept the certificate of this side, or there is none");
      assertRefused(
          run(g, "status", "--tls-trust", all.certificate("ours").toString()),
          3,
          "it does not accept the certificate of this side, or there is none");
      assertRefused(
          run(g, "status"),
          3,
          "it closed the connection; it may speak TLS, and this side does not");
      Ran change = run(g, "remove", withWord("a", "stranger"));
      assertEquals(1, change.code, change.out);
      assertTrue(change.err.contains("None of the peers that answer is the leader"), change.err);
      assertEquals(3, g.leader().membership().peers().size());

      g.stop("c");
      strangerInPlaceOf("c", g);
    }
  }

  private static long number(ReplicatedDatabase db) throws Exception {
    return db.read(Consistency.LINEARIZABLE, tx -> Operations.value(tx, Operations.REGISTERS, "n"));
  }

  private static String[] withWord(String word, String certificate) {
    List<String> args = new ArrayList<>(List.of(word));
    args.addAll(Arrays.asList(tls(certificate, "ours")));
    return args.toArray(String[]::new);
  }

  /** A peer with a certificate of another authority cannot join, and says why. */
  private void strangerInPlaceOf(String id, Group g) throws Exception {
    long before = g.leader().health().committedIndex();
    ReplicationOptions options =
        speaking("stranger")
            .apply(Group.small(ReplicationOptions.of(id, directory.resolve("stranger"), g.peers)))
            .requestTimeout(Duration.ofSeconds(4));
    try (ReplicatedDatabase stranger = ReplicatedDatabase.join(options)) {
      g.leader().submit(new Add("n", 1)).get();
      ExecutionException e =
          assertThrows(ExecutionException.class, () -> stranger.submit(new Add("n", 100)).get());
      String why = "because it does not accept the certificate of this side, or there is none.";
      assertTrue(e.getMessage().contains(why), e.getMessage());
      assertEquals(State.NO_LEADER, stranger.health().state());
      assertTrue(stranger.appliedIndex() < before, stranger.health().toString());
      Ran ran = run(g, "status", tls("peer", "ours"));
      assertEquals(1, ran.code, ran.out);
      assertTrue(
          ran.out.contains(
              "It did not answer: its certificate is not of an authority that is trusted here"),
          ran.out);
      assertTrue(ran.out.contains("2 of 3 are healthy"), ran.out);
      assertEquals(2, number(g.leader()));
    }
  }

  @Test
  void checksNamesAndTimesOfCertificates() {
    for (String certificate : List.of("elsewhere", "old")) {
      try (Group g = new Group(directory.resolve(certificate), speaking(certificate), "a")) {
        g.start("a");
        assertRefused(
            run(g, "status", tls("peer", "ours")),
            1,
            certificate.equals("old")
                ? "its certificate is not valid now"
                : "its certificate is not for its address");
      }
    }
    try (Group g = new Group(directory.resolve("plain"), o -> o, "a")) {
      g.start("a");
      assertRefused(run(g, "status", tls("peer", "ours")), 1, "the two sides do not agree on TLS");
    }
  }

  @Test
  void validatesFiles() throws Exception {
    Path empty = Files.createFile(directory.resolve("empty.pem"));
    Path none = directory.resolve("none.pem");
    Path certificate = all.certificate("peer");
    Path key = all.key("peer");
    Path authority = all.certificate("ours");
    ReplicationOptions o =
        ReplicationOptions.of("a", directory, List.of(new Peer("a", "127.0.0.1:1")));
    assertSays("none.pem\" can't be read: it does not exist.", () -> o.tls(none, key, authority));
    assertSays("none.pem\" can't be read", () -> o.tls(certificate, none, authority));
    assertSays("none.pem\" can't be read", () -> o.tls(certificate, key, none));
    assertSays("has no certificate in PEM", () -> o.tls(empty, key, authority));
    assertSays("has no certificate in PEM", () -> o.tls(certificate, key, empty));
    assertSays("has no certificate in PEM", () -> o.tls(certificate, key, key));
    assertSays("openssl pkcs8", () -> o.tls(certificate, empty, authority));
    assertSays("openssl pkcs8", () -> o.tls(certificate, certificate, authority));
    assertSays(
        "is not the key of the certificate",
        () -> o.tls(certificate, all.key("stranger"), authority));

    StringWriter err = new StringWriter();
    String[] args = {"status", "a=127.0.0.1:1", "--tls-trust", none.toString()};
    assertEquals(
        2, ReplicaCommand.run(new PrintWriter(new StringWriter()), new PrintWriter(err), args));
    assertEquals(
        "fovea replica: \"" + none + "\" can't be read: it does not exist.\n", err.toString());
  }

  private static void assertSays(String what, Runnable run) {
    String message = assertThrows(IllegalArgumentException.class, run::run).getMessage();
    assertTrue(message.contains(what), message);
  }
}
