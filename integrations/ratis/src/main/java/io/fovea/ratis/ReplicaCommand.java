package io.fovea.ratis;

import io.fovea.ratis.Administration.Seen;
import io.fovea.replication.Replica;
import io.fovea.replication.Replica.Digest;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.ratis.conf.Parameters;
import org.apache.ratis.protocol.RaftPeerId;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * The command that inspects and changes a replicated database, from any machine that reaches its
 * peers.
 *
 * <pre>
 *   status   PEERS              health of each peer
 *   peers    PEERS              lists the members
 *   verify   PEERS              compares the peers' data
 *   add      PEERS ID=HOST:PORT adds a peer, which was started with joining(true)
 *   remove   PEERS ID           removes a peer
 *   transfer PEERS [ID]         transfers the leadership
 *   snapshot PEERS [ID]         makes a checkpoint, at all peers or at one
 *
 *   PEERS       one or more members, as a=10.0.0.1:7001,b=10.0.0.2:7001; they name the others
 *   exit code   0  done, and all peers are healthy
 *               1  not done, or a peer is not healthy
 *               2  usage error
 *               5  the output can't be written: a full disk, a closed pipe
 * </pre>
 *
 * <p>It is separate from the command for files, which needs no Ratis. It needs picocli, an optional
 * dependency of this module.
 *
 * @since 0.1.0
 */
@Command(
    name = "fovea replica",
    header = "Inspects a replicated database and changes its members.",
    description = "PEERS are one or more members, as a=10.0.0.1:7001,b=10.0.0.2:7001.")
public final class ReplicaCommand {
  /** A strong reference: the logging framework keeps only weak ones, and would lose the level. */
  private static final Logger RATIS = Logger.getLogger("org.apache.ratis");

  private static final String AGREES = "agrees";
  private static final int OK = 0;
  private static final int PROBLEMS = 1;

  /** Exit code if the output can't be written. */
  private static final int NO_OUTPUT = 5;

  @Spec CommandSpec spec;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      scope = CommandLine.ScopeType.INHERIT,
      description = "Prints this help.")
  boolean help;

  @Option(
      names = "--group",
      paramLabel = "NAME",
      defaultValue = "fovea",
      scope = CommandLine.ScopeType.INHERIT,
      description =
          "The name of the group, as in ReplicationOptions.group (default:" + " ${DEFAULT-VALUE}).")
  String group;

  @Option(
      names = "--timeout",
      paramLabel = "SECONDS",
      defaultValue = "5",
      scope = CommandLine.ScopeType.INHERIT,
      description = "How long a peer may take to answer (default: ${DEFAULT-VALUE}).")
  int seconds;

  @Option(
      names = "--json",
      scope = CommandLine.ScopeType.INHERIT,
      description = "Prints one JSON value.")
  boolean json;

  @Option(
      names = "--tls-trust",
      paramLabel = "FILE",
      scope = CommandLine.ScopeType.INHERIT,
      description = "Uses TLS, and trusts peers with certificates of this authority (PEM).")
  @Nullable Path trust;

  @Option(
      names = "--tls-certificate",
      paramLabel = "FILE",
      scope = CommandLine.ScopeType.INHERIT,
      description = "The certificate of this command (PEM), if the peers require one.")
  @Nullable Path certificate;

  @Option(
      names = "--tls-key",
      paramLabel = "FILE",
      scope = CommandLine.ScopeType.INHERIT,
      description = "The key of that certificate (PEM).")
  @Nullable Path key;

  private ReplicaCommand() {}

  /**
   * Runs the command, and ends the JVM with its exit code.
   *
   * @param args the arguments after {@code fovea replica}
   */
  public static void main(String[] args) {
    RATIS.setLevel(Level.OFF); // the answers say what went wrong
    PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
    PrintWriter err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
    System.exit(run(out, err, args));
  }

  /** Runs the command without ending the JVM. */
  static int run(PrintWriter out, PrintWriter err, String... args) {
    int code = line(out, err).execute(args);
    return out.checkError() ? NO_OUTPUT : code;
  }

  private static CommandLine line(PrintWriter out, PrintWriter err) {
    return new CommandLine(new ReplicaCommand())
        .setOut(out)
        .setErr(err)
        .setUsageHelpAutoWidth(false)
        .setExecutionExceptionHandler(
            (e, line, parsed) -> {
              if (e instanceof IllegalArgumentException) {
                line.getErr().println("fovea replica: " + e.getMessage());
                return CommandLine.ExitCode.USAGE;
              }
              if (e instanceof ReplicationException || e instanceof IOException) {
                line.getErr().println("fovea replica: " + e.getMessage());
                return PROBLEMS;
              }
              throw e;
            });
  }

  private interface Body {
    int run(Administration group, PrintWriter out) throws IOException;
  }

  private int with(String peers, Body body) throws IOException {
    if (seconds < 1) {
      throw new ParameterException(
          spec.commandLine(), "--timeout must be at least 1 second, not " + seconds + ".");
    }
    if ((certificate == null) != (key == null) || (certificate != null && trust == null)) {
      throw new ParameterException(
          spec.commandLine(),
          "--tls-certificate and --tls-key require each other and" + " --tls-trust.");
    }
    Parameters parameters =
        trust == null ? new Parameters() : Tls.parameters(certificate, key, trust);
    PrintWriter out = spec.commandLine().getOut();
    try (Administration a =
        new Administration(group, parse(peers), Duration.ofSeconds(seconds), parameters)) {
      return body.run(a, out);
    }
  }

  private static List<Peer> parse(String peers) {
    List<Peer> all = new ArrayList<>();
    for (String part : peers.split(",", -1)) {
      all.add(parsePeer(part));
    }
    return all;
  }

  private static Peer parsePeer(String part) {
    int equals = part.indexOf('=');
    if (equals < 1) {
      throw new IllegalArgumentException(
          "\""
              + part
              + "\" is not a peer. Expected ID=HOST:PORT, as in a=10.0.0.1:7001; separate"
              + " several by commas.");
    }
    return new Peer(part.substring(0, equals), part.substring(equals + 1));
  }

  @Command(
      name = "status",
      header = "Shows the state of each peer.",
      description = {
        "Asks each member for its position in the log and its health. The exit code is 1 if a"
            + " member is not healthy or there is no leader."
      })
  int status(@CommandLine.Parameters(paramLabel = "PEERS") String peers) throws IOException {
    return with(
        peers,
        (a, out) -> {
          List<Seen> all = a.look();
          if (json) {
            out.println(list(all.stream().map(ReplicaCommand::json).toList()));
          } else {
            table(out, all);
          }
          boolean well =
              all.stream().anyMatch(Seen::leads)
                  && all.stream().allMatch(s -> s.trouble().isEmpty());
          return well ? OK : PROBLEMS;
        });
  }

  private static void table(PrintWriter out, List<Seen> all) {
    int id = all.stream().mapToInt(s -> s.peer().id().length()).max().orElse(1);
    int address = all.stream().mapToInt(s -> s.peer().address().length()).max().orElse(1);
    for (Seen s : all) {
      String head =
          String.format(
              "%-" + id + "s  %-" + address + "s  %-9s",
              s.peer().id(),
              s.peer().address(),
              word(s));
      out.println(
          s.trouble().isEmpty()
              ? head
                  + "  applied "
                  + s.applied()
                  + "  committed "
                  + s.committed()
                  + "  snapshot "
                  + s.snapshot()
              : head + "  " + s.trouble());
    }
    long well = all.stream().filter(s -> s.trouble().isEmpty()).count();
    String leader =
        all.stream()
            .filter(Seen::leads)
            .map(s -> s.peer().id() + " leads")
            .findFirst()
            .orElse("no leader");
    out.println(well + " of " + all.size() + " are healthy, " + leader + ".");
  }

  private static String word(Seen s) {
    if (!s.trouble().isEmpty() || s.role() == null) {
      return s.answered() ? "down" : "away";
    }
    return s.role().toLowerCase(Locale.ROOT);
  }

  @Command(
      name = "verify",
      header = "Compares the data of the peers.",
      description = {
        "Each peer keeps a digest of all changes made by the log. This compares the digests at"
            + " one entry that all have applied. The exit code is 1 if one differs or was not"
            + " compared."
      })
  int verify(@CommandLine.Parameters(paramLabel = "PEERS") String peers) throws IOException {
    return with(
        peers,
        (a, out) -> {
          List<Seen> all = a.look();
          DigestComparison c = a.compare(all);
          int id = all.stream().mapToInt(s -> s.peer().id().length()).max().orElse(1);
          List<String> objects = new ArrayList<>();
          boolean agree = true;
          for (Seen s : all) {
            RaftPeerId peer = idOf(s);
            Digest range = c.ranges().get(peer);
            Long sum = c.sums().get(peer);
            String hex = sum == null ? null : HexFormat.of().toHexDigits(sum);
            String state = state(s, range, sum, c);
            agree &= state.equals(AGREES) && s.trouble().isEmpty();
            long applied = range == null ? s.applied() : range.newest();
            if (json) {
              objects.add(
                  "{\"id\": "
                      + text(s.peer().id())
                      + ", \"applied\": "
                      + applied
                      + ", \"index\": "
                      + (hex == null ? "null" : Long.toString(c.index()))
                      + ", \"digest\": "
                      + (hex == null ? "null" : text(hex))
                      + ", \"state\": "
                      + text(state)
                      + ", \"trouble\": "
                      + text(s.trouble())
                      + "}");
            } else {
              out.println(
                  String.format("%-" + id + "s", s.peer().id())
                      + (range == null ? "" : "  applied " + applied)
                      + (hex == null ? "" : "  digest " + hex + " at " + c.index())
                      + "  "
                      + state
                      + (s.trouble().isEmpty() ? "" : "  " + s.trouble()));
            }
          }
          if (json) {
            out.println(list(objects));
          } else if (c.sums().isEmpty()) {
            out.println("No peers were compared.");
          } else if (c.differ()) {
            out.println(
                c.right() == null
                    ? "The peers differ, and no majority agrees."
                    : "The peers differ.");
          } else {
            out.println(c.sums().size() + " of " + all.size() + " agree.");
          }
          return agree ? OK : PROBLEMS;
        });
  }

  private static String state(
      Seen s, @Nullable Digest range, @Nullable Long sum, DigestComparison c) {
    if (sum != null) {
      boolean right = c.right() == null ? !c.differ() : c.right().equals(sum);
      return right ? AGREES : "differs";
    }
    if (range == null) {
      return s.trouble().isEmpty() ? "not compared: " + c.silent().get(idOf(s)) : "not compared";
    }
    return range.start() != c.start() || range.start() == Replica.NO_DIGEST
        ? "not compared: its digest has another start, until it adopts the leader's"
        : "not compared: it is too far behind";
  }

  private static RaftPeerId idOf(Seen s) {
    return RaftPeerId.valueOf(s.peer().id());
  }

  @Command(
      name = "peers",
      header = "Lists the members.",
      description = "The members according to the leader or, without one, to one of the peers.")
  int peers(@CommandLine.Parameters(paramLabel = "PEERS") String peers) throws IOException {
    return with(
        peers,
        (a, out) -> {
          List<Seen> all = a.look();
          List<Seen> answered = all.stream().filter(s -> !s.members().isEmpty()).toList();
          if (answered.isEmpty()) {
            all.forEach(s -> complain(s.peer().id() + ": " + s.trouble()));
            return PROBLEMS;
          }
          Seen by = answered.stream().filter(Seen::leads).findFirst().orElse(answered.get(0));
          if (json) {
            out.println(list(by.members().stream().map(ReplicaCommand::json).toList()));
          } else {
            by.members().forEach(p -> out.println(p.id() + "=" + p.address()));
          }
          if (!by.leads()) {
            complain(
                "No peer that answers is the leader: these are the members according to "
                    + by.peer().id()
                    + ".");
          }
          return by.leads() ? OK : PROBLEMS;
        });
  }

  private void complain(String what) {
    spec.commandLine().getErr().println("fovea replica: " + what);
  }

  private void said(PrintWriter out, String key, String value, String sentence) {
    out.println(json ? "{" + text(key) + ": " + value + "}" : sentence);
  }

  @Command(
      name = "add",
      header = "Adds a peer.",
      description = {
        "The peer must have been started with joining(true) and an empty directory. It becomes a"
            + " member once it has caught up. Add one at a time."
      })
  int add(
      @CommandLine.Parameters(paramLabel = "PEERS") String peers,
      @CommandLine.Parameters(paramLabel = "ID=HOST:PORT") String peer)
      throws IOException {
    Peer p = parsePeer(peer);
    return with(
        peers,
        (a, out) -> {
          boolean added = a.add(p);
          said(
              out,
              "added",
              Boolean.toString(added),
              p.id() + (added ? " is a member now." : " is already a member at this address."));
          return OK;
        });
  }

  @Command(
      name = "remove",
      header = "Removes a peer.",
      description = {
        "The peer may be down. Close it and delete its directory before you add one of the same"
            + " name again."
      })
  int remove(
      @CommandLine.Parameters(paramLabel = "PEERS") String peers,
      @CommandLine.Parameters(paramLabel = "ID") String id)
      throws IOException {
    return with(
        peers,
        (a, out) -> {
          boolean removed = a.remove(id);
          said(
              out,
              "removed",
              Boolean.toString(removed),
              id + (removed ? " was removed." : " was not a member."));
          return OK;
        });
  }

  @Command(
      name = "transfer",
      header = "Transfers the leadership.",
      description = "To the given peer, or any healthy one; for use before stopping the leader.")
  int transfer(
      @CommandLine.Parameters(paramLabel = "PEERS") String peers,
      @CommandLine.Parameters(paramLabel = "ID", arity = "0..1") @Nullable String id)
      throws IOException {
    return with(
        peers,
        (a, out) -> {
          String leader = a.transfer(id);
          said(out, "leader", text(leader), leader + " leads.");
          return OK;
        });
  }

  @Command(
      name = "snapshot",
      header = "Makes a checkpoint.",
      description = {
        "At one peer, or at each. The database then has all entries up to that point on the"
            + " device, and the log drops earlier segments. Applying waits meanwhile."
      })
  int snapshot(
      @CommandLine.Parameters(paramLabel = "PEERS") String peers,
      @CommandLine.Parameters(paramLabel = "ID", arity = "0..1") @Nullable String id)
      throws IOException {
    return with(
        peers,
        (a, out) -> {
          List<Peer> at = new ArrayList<>();
          for (Seen s : a.look()) {
            if (id == null ? s.role() != null : s.peer().id().equals(id)) {
              at.add(s.peer());
            }
          }
          if (at.isEmpty()) {
            throw new IllegalArgumentException(
                id == null ? "No peer answers." : "\"" + id + "\" is not a known member.");
          }
          int code = OK;
          for (Peer p : at) {
            try {
              long index = a.snapshot(p);
              out.println(
                  json
                      ? "{\"id\": " + text(p.id()) + ", \"snapshot\": " + index + "}"
                      : p.id() + " has a snapshot at index " + index + ".");
            } catch (ReplicationException e) {
              complain(e.getMessage());
              code = PROBLEMS;
            }
          }
          return code;
        });
  }

  // ----------------------------------------------------------------------------------------- JSON

  private static String json(Seen s) {
    return "{\"id\": "
        + text(s.peer().id())
        + ", \"address\": "
        + text(s.peer().address())
        + ", \"role\": "
        + (s.role() == null ? "null" : text(s.role()))
        + ", \"leader\": "
        + (s.leader() == null ? "null" : text(s.leader()))
        + ", \"well\": "
        + s.trouble().isEmpty()
        + ", \"trouble\": "
        + text(s.trouble())
        + ", \"applied\": "
        + s.applied()
        + ", \"committed\": "
        + s.committed()
        + ", \"snapshot\": "
        + s.snapshot()
        + "}";
  }

  private static String json(Peer p) {
    return "{\"id\": " + text(p.id()) + ", \"address\": " + text(p.address()) + "}";
  }

  private static String list(List<String> values) {
    return "[" + String.join(", ", values) + "]";
  }

  private static String text(String s) {
    StringBuilder b = new StringBuilder("\"");
    for (char c : s.toCharArray()) {
      if (c == '"' || c == '\\') {
        b.append('\\').append(c);
      } else if (c < ' ') {
        b.append(String.format("\\u%04x", (int) c));
      } else {
        b.append(c);
      }
    }
    return b.append('"').toString();
  }
}
