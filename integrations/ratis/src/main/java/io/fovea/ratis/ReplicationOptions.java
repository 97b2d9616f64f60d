package io.fovea.ratis;

import io.fovea.Options;
import io.fovea.config.Durability;
import io.fovea.replication.Command;
import io.fovea.replication.Commands;
import io.fovea.replication.Replica;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.ratis.conf.Parameters;
import org.apache.ratis.conf.RaftProperties;

/**
 * How a peer takes part in a group.
 *
 * <p>All peers have the same members, group and commands. A value: every method with an argument
 * gives a new one. Any thread.
 *
 * @since 0.1.0
 */
public final class ReplicationOptions {
  /** The parts, which a change copies. */
  private static final class Parts implements Cloneable {
    Peer self;
    Path directory;
    List<Peer> peers;
    String group = "fovea";
    String listen;
    boolean joining;
    Options database = Options.defaults();
    Durability durability = Durability.ASYNC;
    Commands commands = Commands.NONE;
    int commandBytesMax = 1 << 20;
    int pendingMax = 10_000;
    long sessionWindow = 100_000;
    Duration sessionTime = Duration.ofMinutes(2);
    Map<Long, String> skips = Map.of();
    long snapshotEvery = 100_000;
    Duration requestTimeout = Duration.ofSeconds(10);
    Duration attemptTimeout = Duration.ofSeconds(1);
    Duration electionTimeout = Duration.ofMillis(500);
    Duration stallTimeout = Duration.ofSeconds(10);
    Consumer<RaftProperties> properties = p -> {};
    Parameters parameters = new Parameters();
    Replica.Experiments experiments = Replica.Experiments.NONE;

    Parts(Peer self, Path directory, List<Peer> peers) {
      this.self = self;
      this.directory = directory;
      this.peers = peers;
      this.listen = self.address();
    }

    @Override
    protected Parts clone() {
      try {
        return (Parts) super.clone();
      } catch (CloneNotSupportedException e) {
        throw new AssertionError(e);
      }
    }
  }

  private final Parts parts;

  private ReplicationOptions(Parts parts) {
    this.parts = parts;
  }

  private ReplicationOptions with(Consumer<Parts> change) {
    Parts p = parts.clone();
    change.accept(p);
    return new ReplicationOptions(p);
  }

  private static void check(boolean good, String what, Object value) {
    if (!good) {
      throw new IllegalArgumentException("ReplicationOptions." + what + ", not " + value + ".");
    }
  }

  /**
   * A peer of a group, with everything else by default.
   *
   * @param self its name, one of the members'
   * @param directory its own directory, for the log and the database; made where it does not exist
   * @param peers all members, it among them
   * @return the options that the others are made from
   * @throws IllegalArgumentException if no member has that name, or two have one
   */
  public static ReplicationOptions of(String self, Path directory, Collection<Peer> peers) {
    Objects.requireNonNull(directory, "directory");
    List<Peer> all = List.copyOf(peers);
    if (all.stream().map(Peer::id).distinct().count() < all.size()) {
      throw new IllegalArgumentException("Two of the peers have one name: " + all + ".");
    }
    Peer me =
        all.stream()
            .filter(p -> p.id().equals(self))
            .findFirst()
            .orElseThrow(
                () ->
                    new IllegalArgumentException(
                        "The peer \""
                            + self
                            + "\" is not among the members, which are "
                            + all
                            + "."));
    return new ReplicationOptions(new Parts(me, directory, all));
  }

  /**
   * Names the group, so that peers of two groups that meet by mistake refuse each other.
   *
   * @param name its name; "fovea" by default
   * @return new options
   */
  public ReplicationOptions group(String name) {
    Objects.requireNonNull(name, "name");
    return with(p -> p.group = name);
  }

  /**
   * Sets where the peer listens, if that is not its address: behind a translation of addresses, or
   * on all interfaces.
   *
   * @param address host and port; by default the peer's address, so a peer that is called 127.0.0.1
   *     is reached from its own machine alone
   * @return new options
   */
  public ReplicationOptions listen(String address) {
    return with(p -> p.listen = new Peer(parts.self.id(), address).address());
  }

  /**
   * Lets the peer wait until a group takes it in: {@link Membership#add}. One that has data of the
   * group goes on with it.
   *
   * @param joining true if it is new; false, the default, if it is one of those that the group
   *     begins with
   * @return new options
   */
  public ReplicationOptions joining(boolean joining) {
    return with(p -> p.joining = joining);
  }

  /**
   * Adds a kind of command, whose name in the log is that of its class without the package.
   *
   * @param <C> its class
   * @param type its class
   * @param encode makes bytes of it
   * @param decode makes it of bytes that any version of {@code encode} has made
   * @return new options
   * @throws IllegalArgumentException if there is one of that name
   */
  public <C extends Command> ReplicationOptions command(
      Class<C> type, Function<C, byte[]> encode, Function<byte[], C> decode) {
    return command(type.getSimpleName(), type, encode, decode);
  }

  /**
   * Adds a kind of command.
   *
   * @param <C> its class
   * @param name its name in the log, 1 to 255 bytes: it stays when the class gets another
   * @param type its class
   * @param encode makes bytes of it
   * @param decode makes it of bytes that any version of {@code encode} has made
   * @return new options
   * @throws IllegalArgumentException if there is one of that name
   */
  public <C extends Command> ReplicationOptions command(
      String name, Class<C> type, Function<C, byte[]> encode, Function<byte[], C> decode) {
    return with(p -> p.commands = p.commands.with(name, type, encode, decode));
  }

  /**
   * Sets the options of the database.
   *
   * @param options its memory, log and limits; its durability is {@link #durability} of these
   *     options. While a copy is taken in, two databases are open: with {@link
   *     Options#bufferShare(io.fovea.BufferShare)} both share one buffer
   * @return new options
   */
  public ReplicationOptions database(Options options) {
    Objects.requireNonNull(options, "options");
    return with(p -> p.database = options);
  }

  /**
   * Sets when a command that is applied is durable in the database. It is durable in the log of a
   * majority anyway, before it is applied.
   *
   * @param durability {@link Durability#ASYNC}, the default: after a loss of power the newest
   *     commands are applied again from the log. {@link Durability#SYNC}: who submits waits for a
   *     second sync, and nothing is applied again
   * @return new options
   * @throws IllegalArgumentException for {@link Durability#NONE}: such a file can't be opened after
   *     a crash
   */
  public ReplicationOptions durability(Durability durability) {
    check(durability != Durability.NONE, "durability is ASYNC or SYNC", durability);
    return with(p -> p.durability = durability);
  }

  /**
   * Sets how large a command may be, as bytes.
   *
   * @param bytes the most; 1 MiB by default, 3 MiB at most
   * @return new options
   */
  public ReplicationOptions commandBytesMax(int bytes) {
    check(bytes > 0 && bytes <= 3 << 20, "commandBytesMax is 1 to 3 MiB", bytes);
    return with(p -> p.commandBytesMax = bytes);
  }

  /**
   * Sets how many commands may wait for their receipts at this peer; more are refused as {@link
   * ReplicationException.Reason#BUSY}.
   *
   * @param most how many; 10,000 by default
   * @return new options
   */
  public ReplicationOptions pendingMax(int most) {
    check(most > 0, "pendingMax is positive", most);
    return with(p -> p.pendingMax = most);
  }

  /**
   * Sets for how many entries the group knows a request: a retry within so many entries of the log,
   * or within the {@link #sessionTime}, is applied once, and a later one is refused. The leader's
   * value counts. Each request takes about 90 bytes and its result.
   *
   * @param entries how many; 100,000 by default
   * @return new options
   */
  public ReplicationOptions sessionWindow(long entries) {
    check(entries > 0, "sessionWindow is positive", entries);
    return with(p -> p.sessionWindow = entries);
  }

  /**
   * Sets for how long the group knows a request, however many entries follow: a busy group writes
   * {@link #sessionWindow} entries within seconds. The leader's value counts, and the time is that
   * of the leaders' clocks.
   *
   * @param time how long; 2 minutes by default; zero for the number of entries alone
   * @return new options
   */
  public ReplicationOptions sessionTime(Duration time) {
    check(!time.isNegative(), "sessionTime is zero or positive", time);
    return with(p -> p.sessionTime = time);
  }

  /**
   * Skips an entry of the log that no peer can apply, such as a command whose decoder fails. All
   * peers have to be started with it, before any of them has applied the entry; its submitter gets
   * it as refused. The database records the index and the reason: {@link
   * ReplicatedDatabase#skipped}.
   *
   * @param index its index, as the message has it with which a peer has stopped
   * @param reason why
   * @return new options
   */
  public ReplicationOptions skip(long index, String reason) {
    check(index >= 0, "skip takes the index of an entry", index);
    Objects.requireNonNull(reason, "reason");
    return with(
        p -> {
          Map<Long, String> all = new HashMap<>(p.skips);
          all.put(index, reason);
          p.skips = Map.copyOf(all);
        });
  }

  /**
   * Sets after how many entries the database makes a checkpoint for the log, which then drops what
   * is older. So many entries are kept behind it, for peers that come back soon; one that is
   * further behind takes in a copy of the database.
   *
   * @param entries how many; 100,000 by default
   * @return new options
   */
  public ReplicationOptions snapshotEvery(long entries) {
    check(entries > 0, "snapshotEvery is positive", entries);
    return with(p -> p.snapshotEvery = entries);
  }

  /**
   * Sets how long a command or a read waits for the group, all tries together.
   *
   * @param most the limit; 10 s by default
   * @return new options
   */
  public ReplicationOptions requestTimeout(Duration most) {
    check(most.toMillis() > 0, "requestTimeout is a millisecond or more", most);
    return with(p -> p.requestTimeout = most);
  }

  /**
   * Sets how long one try of a request waits for one peer, before another is asked.
   *
   * @param most the limit; 1 s by default
   * @return new options
   */
  public ReplicationOptions attemptTimeout(Duration most) {
    check(most.toMillis() > 0, "attemptTimeout is a millisecond or more", most);
    return with(p -> p.attemptTimeout = most);
  }

  /**
   * Sets how long a peer hears nothing from the leader before it stands for election: this long to
   * twice as long, at random.
   *
   * @param least the shortest; 500 ms by default
   * @return new options
   */
  public ReplicationOptions electionTimeout(Duration least) {
    check(least.toMillis() >= 20, "electionTimeout is 20 ms or more", least);
    return with(p -> p.electionTimeout = least);
  }

  /**
   * Sets when a peer that applies nothing, though there is something, is {@link Health.State#DOWN}.
   *
   * @param most how long; 10 s by default
   * @return new options
   */
  public ReplicationOptions stallTimeout(Duration most) {
    check(most.toMillis() > 0, "stallTimeout is a millisecond or more", most);
    return with(p -> p.stallTimeout = most);
  }

  /**
   * Changes properties of Ratis, after those that these options set. What acknowledged commands
   * rest on can't be changed: the transport, composed appends, Ratis' own copies, and the directory
   * of the log; {@link ReplicatedDatabase#join} refuses it.
   *
   * @param change what to change
   * @return new options
   */
  public ReplicationOptions ratis(Consumer<RaftProperties> change) {
    Objects.requireNonNull(change, "change");
    return with(p -> p.properties = p.properties.andThen(change));
  }

  /**
   * Has the peers speak TLS, and each prove to the other who it is: a peer talks to those only
   * whose certificates are of the authority. All peers of a group do, or none. It takes the place
   * of what {@link #ratis(Parameters)} was given before.
   *
   * @param certificate this peer's certificate, in PEM. It names the host of the peer's address, as
   *     a subject alternative name (DNS or IP)
   * @param key its private key: PKCS #8 in PEM, without a password
   * @param authority the certificates of those who sign the peers', in PEM
   * @return new options
   * @throws IllegalArgumentException if a file can't be read, is not what it has to be, or the key
   *     is not the certificate's
   */
  public ReplicationOptions tls(Path certificate, Path key, Path authority) {
    Objects.requireNonNull(certificate, "certificate");
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(authority, "authority");
    return ratis(Tls.parameters(certificate, key, authority));
  }

  /**
   * Gives Ratis objects, such as keys of TLS that are in no files: {@code
   * GrpcConfigKeys.TLS.setConf(parameters, tls)}. It takes the place of {@link #tls}.
   *
   * @param parameters for the server and its clients
   * @return new options
   */
  public ReplicationOptions ratis(Parameters parameters) {
    Objects.requireNonNull(parameters, "parameters");
    return with(p -> p.parameters = parameters);
  }

  /** For tests: what is broken on purpose. */
  ReplicationOptions experiments(Replica.Experiments experiments) {
    return with(p -> p.experiments = experiments);
  }

  Peer self() {
    return parts.self;
  }

  Path directory() {
    return parts.directory;
  }

  List<Peer> peers() {
    return parts.peers;
  }

  String group() {
    return parts.group;
  }

  Peer listen() {
    return new Peer(parts.self.id(), parts.listen);
  }

  boolean joining() {
    return parts.joining;
  }

  Options database() {
    return parts.database.durability(parts.durability).create(true).name(parts.self.id());
  }

  Commands commands() {
    return parts.commands;
  }

  int commandBytesMax() {
    return parts.commandBytesMax;
  }

  int pendingMax() {
    return parts.pendingMax;
  }

  Duration sessionTime() {
    return parts.sessionTime;
  }

  Map<Long, String> skips() {
    return parts.skips;
  }

  long sessionWindow() {
    return parts.sessionWindow;
  }

  long snapshotEvery() {
    return parts.snapshotEvery;
  }

  Duration requestTimeout() {
    return parts.requestTimeout;
  }

  Duration attemptTimeout() {
    return parts.attemptTimeout;
  }

  Duration electionTimeout() {
    return parts.electionTimeout;
  }

  Duration stallTimeout() {
    return parts.stallTimeout;
  }

  Consumer<RaftProperties> properties() {
    return parts.properties;
  }

  Parameters parameters() {
    return parts.parameters;
  }

  Replica.Experiments experiments() {
    return parts.experiments;
  }
}
