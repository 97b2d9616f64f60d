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
 * Settings of one peer in a group.
 *
 * <p>All peers of a group have the same members, group name and commands. Immutable: every method
 * with an argument returns new options. Thread-safe.
 *
 * @since 0.1.0
 */
public final class ReplicationOptions {
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
   * Creates options of a peer, with defaults for everything else.
   *
   * @param self the peer's name, one of the members'
   * @param directory the peer's own directory for log and database; created if it does not exist
   * @param peers all members, including this one
   * @return the options
   * @throws IllegalArgumentException if no member has that name, or two members share a name
   */
  public static ReplicationOptions of(String self, Path directory, Collection<Peer> peers) {
    Objects.requireNonNull(directory, "directory");
    List<Peer> all = List.copyOf(peers);
    if (all.stream().map(Peer::id).distinct().count() < all.size()) {
      throw new IllegalArgumentException("Two peers have the same name: " + all + ".");
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
   * Sets the name of the group. Peers of differently named groups refuse each other.
   *
   * @param name the name; "fovea" by default
   * @return new options
   */
  public ReplicationOptions group(String name) {
    Objects.requireNonNull(name, "name");
    return with(p -> p.group = name);
  }

  /**
   * Sets the address to listen on, if it differs from the peer's address: behind address
   * translation, or to listen on all interfaces.
   *
   * @param address host and port; the peer's address by default, so a peer called 127.0.0.1 can be
   *     reached only from its own machine
   * @return new options
   */
  public ReplicationOptions listen(String address) {
    return with(p -> p.listen = new Peer(parts.self.id(), address).address());
  }

  /**
   * Makes the peer wait until it is added to a group: {@link Membership#add}. A peer that already
   * has data of the group resumes with it.
   *
   * @param joining true for a new peer; false, the default, for a peer of the initial group
   * @return new options
   */
  public ReplicationOptions joining(boolean joining) {
    return with(p -> p.joining = joining);
  }

  /**
   * Registers a class of commands under its simple name.
   *
   * @param <C> the class
   * @param type the class
   * @param encode converts a command to bytes
   * @param decode converts bytes that any version of {@code encode} has written to a command
   * @return new options
   * @throws IllegalArgumentException if the name is taken
   */
  public <C extends Command> ReplicationOptions command(
      Class<C> type, Function<C, byte[]> encode, Function<byte[], C> decode) {
    return command(type.getSimpleName(), type, encode, decode);
  }

  /**
   * Registers a class of commands.
   *
   * @param <C> the class
   * @param name its name in the log, 1 to 255 bytes; it must not change when the class is renamed
   * @param type the class
   * @param encode converts a command to bytes
   * @param decode converts bytes that any version of {@code encode} has written to a command
   * @return new options
   * @throws IllegalArgumentException if the name is taken
   */
  public <C extends Command> ReplicationOptions command(
      String name, Class<C> type, Function<C, byte[]> encode, Function<byte[], C> decode) {
    return with(p -> p.commands = p.commands.with(name, type, encode, decode));
  }

  /**
   * Sets the options of the database.
   *
   * @param options memory, log and limits; durability is set by {@link #durability}. While a copy
   *     is installed two databases are open: with {@link Options#bufferShare(io.fovea.BufferShare)}
   *     they share one buffer
   * @return new options
   */
  public ReplicationOptions database(Options options) {
    Objects.requireNonNull(options, "options");
    return with(p -> p.database = options);
  }

  /**
   * Sets when an applied command is durable in the database. It is durable in the log of a majority
   * before it is applied, in either case.
   *
   * @param durability {@link Durability#ASYNC}, the default: after a power loss the newest commands
   *     are applied again from the log. {@link Durability#SYNC}: the submitter waits for a second
   *     sync, and nothing is applied again
   * @return new options
   * @throws IllegalArgumentException for {@link Durability#NONE}: its file can't be opened after a
   *     crash
   */
  public ReplicationOptions durability(Durability durability) {
    check(durability != Durability.NONE, "durability must be ASYNC or SYNC", durability);
    return with(p -> p.durability = durability);
  }

  /**
   * Sets the largest size of an encoded command.
   *
   * @param bytes the limit; 1 MiB by default, 3 MiB at most
   * @return new options
   */
  public ReplicationOptions commandBytesMax(int bytes) {
    check(bytes > 0 && bytes <= 3 << 20, "commandBytesMax must be 1 to 3 MiB", bytes);
    return with(p -> p.commandBytesMax = bytes);
  }

  /**
   * Sets how many commands may wait for their results at this peer. Further ones fail with {@link
   * ReplicationException.Reason#BUSY}.
   *
   * @param most the limit; 10,000 by default
   * @return new options
   */
  public ReplicationOptions pendingMax(int most) {
    check(most > 0, "pendingMax must be positive", most);
    return with(p -> p.pendingMax = most);
  }

  /**
   * Sets how many log entries the group remembers a request. A retry within that many entries, or
   * within {@link #sessionTime}, is applied once; a later one is refused. The leader's value is
   * used. Each request takes about 90 bytes plus its result.
   *
   * @param entries the number of entries; 100,000 by default
   * @return new options
   */
  public ReplicationOptions sessionWindow(long entries) {
    check(entries > 0, "sessionWindow must be positive", entries);
    return with(p -> p.sessionWindow = entries);
  }

  /**
   * Sets how long the group remembers a request, however many entries follow: a busy group writes
   * {@link #sessionWindow} entries within seconds. The leader's value and clock are used.
   *
   * @param time the time; 2 minutes by default; zero to use the number of entries alone
   * @return new options
   */
  public ReplicationOptions sessionTime(Duration time) {
    check(!time.isNegative(), "sessionTime must not be negative", time);
    return with(p -> p.sessionTime = time);
  }

  /**
   * Skips a log entry that no peer can apply, such as a command whose decoder fails. All peers must
   * be started with this setting before any of them has applied the entry. The submitter gets the
   * command as refused. The database records the index and the reason: {@link
   * ReplicatedDatabase#skipped}.
   *
   * @param index the index of the entry, from the message of the peer that stopped
   * @param reason the reason
   * @return new options
   */
  public ReplicationOptions skip(long index, String reason) {
    check(index >= 0, "skip must be given the index of an entry", index);
    Objects.requireNonNull(reason, "reason");
    return with(
        p -> {
          Map<Long, String> all = new HashMap<>(p.skips);
          all.put(index, reason);
          p.skips = Map.copyOf(all);
        });
  }

  /**
   * Sets after how many entries the database makes a checkpoint, after which the log drops older
   * entries. As many entries are kept behind the checkpoint for peers that return soon; a peer that
   * is further behind fetches a copy of the database.
   *
   * @param entries the number of entries; 100,000 by default
   * @return new options
   */
  public ReplicationOptions snapshotEvery(long entries) {
    check(entries > 0, "snapshotEvery must be positive", entries);
    return with(p -> p.snapshotEvery = entries);
  }

  /**
   * Sets how long a command or read waits for the group, over all attempts.
   *
   * @param most the limit; 10 s by default
   * @return new options
   */
  public ReplicationOptions requestTimeout(Duration most) {
    check(most.toMillis() > 0, "requestTimeout must be a millisecond or more", most);
    return with(p -> p.requestTimeout = most);
  }

  /**
   * Sets how long one attempt waits for one peer before another peer is asked.
   *
   * @param most the limit; 1 s by default
   * @return new options
   */
  public ReplicationOptions attemptTimeout(Duration most) {
    check(most.toMillis() > 0, "attemptTimeout must be a millisecond or more", most);
    return with(p -> p.attemptTimeout = most);
  }

  /**
   * Sets the time without a message from the leader after which a peer stands for election. The
   * actual time is random, between this and twice this.
   *
   * @param least the shortest time; 500 ms by default
   * @return new options
   */
  public ReplicationOptions electionTimeout(Duration least) {
    check(least.toMillis() >= 20, "electionTimeout must be 20 ms or more", least);
    return with(p -> p.electionTimeout = least);
  }

  /**
   * Sets after what time a peer is {@link Health.State#DOWN} if it applies nothing although
   * committed entries wait.
   *
   * @param most the time; 10 s by default
   * @return new options
   */
  public ReplicationOptions stallTimeout(Duration most) {
    check(most.toMillis() > 0, "stallTimeout must be a millisecond or more", most);
    return with(p -> p.stallTimeout = most);
  }

  /**
   * Changes properties of Ratis, after those that these options set. Properties on which
   * acknowledged commands rest can't be changed: the transport, composed appends, Ratis' own
   * snapshots, and the log directory. {@link ReplicatedDatabase#join} refuses such a change.
   *
   * @param change changes the properties
   * @return new options
   */
  public ReplicationOptions ratis(Consumer<RaftProperties> change) {
    Objects.requireNonNull(change, "change");
    return with(p -> p.properties = p.properties.andThen(change));
  }

  /**
   * Enables mutual TLS: a peer accepts only peers whose certificates are signed by the authority.
   * All peers of a group use TLS, or none. Replaces an earlier {@link #ratis(Parameters)}.
   *
   * @param certificate this peer's certificate, in PEM. It names the host of the peer's address as
   *     a subject alternative name (DNS or IP)
   * @param key its private key: PKCS #8 in PEM, without a password
   * @param authority the certificates of the authorities that sign the peers' certificates, in PEM
   * @return new options
   * @throws IllegalArgumentException if a file can't be read or has the wrong format, or the key
   *     does not match the certificate
   */
  public ReplicationOptions tls(Path certificate, Path key, Path authority) {
    Objects.requireNonNull(certificate, "certificate");
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(authority, "authority");
    return ratis(Tls.parameters(certificate, key, authority));
  }

  /**
   * Passes objects to Ratis, such as TLS keys that are not in files: {@code
   * GrpcConfigKeys.TLS.setConf(parameters, tls)}. Replaces an earlier {@link #tls}.
   *
   * @param parameters parameters of the server and its clients
   * @return new options
   */
  public ReplicationOptions ratis(Parameters parameters) {
    Objects.requireNonNull(parameters, "parameters");
    return with(p -> p.parameters = parameters);
  }

  /** For tests: breaks a mechanism on purpose. */
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
