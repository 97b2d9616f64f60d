package io.fovea.ratis;

import io.fovea.ratis.Linearizability.Kind;
import io.fovea.ratis.Linearizability.Operation;
import io.fovea.ratis.StrictSerializability.Observation;
import io.fovea.ratis.StrictSerializability.Transfer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Three peers as processes, their clients, faults, and the recorded history.
 *
 * <pre>
 *   clients ──requests──► PeerProcess a, b, c ──► Links ──► each other
 *      │                          ▲                 ▲
 *      └─► history                └──── faults ─────┘
 * </pre>
 */
final class FaultWorkload implements AutoCloseable {
  private static final int KEYS = 3;
  private static final long PATIENCE_MILLIS = 10_000;

  /** A peer that does not return its ledger within this time is considered broken. */
  private static final long LEDGER_SECONDS = 40;

  /** File size limits that simulate a full disk: some, or all, existing files are larger. */
  private static final long[] FULL_AT = {1, 6 << 10, 64 << 10, 1 << 20};

  enum Fault {
    KILL,
    KILL_ALL,
    STOP,
    CUT,
    CUT_ONE_WAY,
    DELAY,
    RESET,
    FULL
  }

  /**
   * A payment, as its client knows it.
   *
   * @param ended Long.MAX_VALUE if unknown
   * @param told the first word of the answer; "unknown" until it arrives
   * @param saw the answer: index and two balances
   */
  record Payment(
      String from, String to, long amount, long began, long ended, String told, long[] saw) {}

  /** How often a payment is in a ledger, and its index in the log. */
  record Entry(long count, long index) {}

  final Random random;
  final Links links = new Links();
  final Map<String, PeerProcess> peers = new ConcurrentHashMap<>();
  final Map<String, List<Operation>> history = new ConcurrentHashMap<>();
  final Map<String, Payment> payments = new ConcurrentHashMap<>();
  final List<Observation> observations = Collections.synchronizedList(new ArrayList<>());
  final List<String> wrong = Collections.synchronizedList(new ArrayList<>());
  final AtomicLong acknowledged = new AtomicLong();
  final AtomicLong unanswered = new AtomicLong();
  final AtomicLong faults = new AtomicLong();

  private final Path directory;
  private final String flags;
  private final List<Peer> members = new ArrayList<>();
  private final Map<String, String> listens = new ConcurrentHashMap<>();
  private final AtomicBoolean over = new AtomicBoolean();

  /** Operations per key; then another key is used, because short histories are checked quickly. */
  private final int operationsPerKey;

  /** The number of operations begun, and those in progress. Guarded by {@link #active}. */
  private long operations;

  private final TreeSet<Long> active = new TreeSet<>();
  private final AtomicLong values = new AtomicLong();
  private final List<Thread> clients = new ArrayList<>();

  FaultWorkload(Path directory, long seed, String flags) throws Exception {
    this.directory = directory;
    this.random = new Random(seed);
    this.flags = flags;
    this.operationsPerKey = flags.equals("-") ? 60 : 15;
    for (String id : List.of("a", "b", "c")) {
      int port = Ports.next();
      listens.put(id, "127.0.0.1:" + port);
      members.add(new Peer(id, "127.0.0.1:" + links.door(id, port)));
    }
    try {
      for (Peer p : members) {
        start(p.id());
      }
      for (PeerProcess p : peers.values()) {
        p.awaitUp();
      }
    } catch (Exception e) {
      close();
      throw e;
    }
  }

  private Peer member(String id) {
    return members.stream().filter(p -> p.id().equals(id)).findFirst().orElseThrow();
  }

  void start(String id) throws IOException {
    Path d = directory.resolve(id);
    Files.createDirectories(d);
    PeerProcess p = new PeerProcess(member(id), d, listens.get(id), flags, members);
    peers.put(id, p);
    links.process(id, p.pid());
  }

  void clients(int count) {
    for (int i = 0; i < count; i++) {
      Random r = new Random(random.nextLong());
      clients.add(Thread.ofPlatform().daemon().name("client-" + i).start(() -> client(r)));
    }
  }

  private void client(Random r) {
    while (!over.get()) {
      List<String> ids = List.of("a", "b", "c");
      PeerProcess peer = peers.get(ids.get(r.nextInt(3)));
      if (!peer.isUp()) {
        pause(10);
        continue;
      }
      long n;
      synchronized (active) {
        n = operations++;
        active.add(n);
      }
      String key = "k" + group(n) + "." + n % KEYS;
      switch (r.nextInt(7)) {
        case 0, 1, 2 -> read(peer, key);
        case 3, 4 -> write(peer, key);
        case 5 -> swap(peer, key, r);
        default -> pay(peer, r);
      }
      synchronized (active) {
        active.remove(n);
      }
    }
  }

  private long group(long operation) {
    return operation / (operationsPerKey * KEYS);
  }

  private String ask(PeerProcess peer, String request) {
    String answer = peer.ask(request, PATIENCE_MILLIS);
    (answer.startsWith("ok") ? acknowledged : unanswered).incrementAndGet();
    return answer;
  }

  private void read(PeerProcess peer, String key) {
    long began = System.nanoTime();
    String answer = ask(peer, "read " + key);
    if (answer.startsWith("ok ")) {
      add(key, Kind.READ, began, true, 0, 0, Long.parseLong(answer.substring(3)));
    }
    balances(peer);
  }

  /** Reads all accounts at once. */
  private void balances(PeerProcess peer) {
    long began = System.nanoTime();
    String answer = ask(peer, "balances");
    if (!answer.startsWith("ok ")) {
      return;
    }
    long[] saw = Arrays.stream(answer.substring(3).split(",")).mapToLong(Long::parseLong).toArray();
    long sum = Arrays.stream(saw).sum();
    if (sum != 0 && !flags.contains("torn")) { // the checker finds the cause
      wrong.add("The sum over all accounts was " + sum + ", not 0.");
    }
    observations.add(
        new Observation(
            "a read of " + answer.substring(3),
            began,
            System.nanoTime(),
            state -> {
              for (int i = 0; i < saw.length; i++) {
                String account =
                    i < Operations.ACCOUNTS ? "c" + i : "s" + (i - Operations.ACCOUNTS);
                if (state.balance(account) != saw[i]) {
                  return false;
                }
              }
              return true;
            }));
  }

  private void write(PeerProcess peer, String key) {
    long value = values.incrementAndGet();
    long began = System.nanoTime();
    String answer = ask(peer, "write " + key + " " + value);
    if (!answer.startsWith("failed")) {
      add(key, Kind.WRITE, began, answer.startsWith("ok"), value, 0, 0);
    }
  }

  private void swap(PeerProcess peer, String key, Random r) {
    List<Operation> known = history.getOrDefault(key, List.of());
    long from = 0;
    synchronized (known) {
      if (!known.isEmpty()) {
        Operation o = known.get(known.size() - 1);
        from = o.kind() == Kind.READ ? o.saw() : o.kind() == Kind.WRITE ? o.a() : o.b();
      }
    }
    long value = values.incrementAndGet();
    long began = System.nanoTime();
    String answer = ask(peer, "swap " + key + " " + from + " " + value);
    if (!answer.startsWith("failed")) {
      boolean known1 = answer.startsWith("ok ");
      add(
          key,
          Kind.SWAP,
          began,
          known1,
          from,
          value,
          known1 ? Long.parseLong(answer.substring(3)) : 0);
    }
  }

  private void pay(PeerProcess peer, Random r) {
    String name = "p" + values.incrementAndGet();
    String from = "c" + r.nextInt(Operations.ACCOUNTS);
    String to = "s" + r.nextInt(Operations.ACCOUNTS);
    long amount = (1 + r.nextInt(100)) * (r.nextBoolean() ? 1 : -1);
    long began = System.nanoTime();
    long never = Long.MAX_VALUE;
    payments.put(name, new Payment(from, to, amount, began, never, "unknown", new long[3]));
    String[] answer = ask(peer, "pay " + name + " " + from + " " + to + " " + amount).split(" ");
    long ended = System.nanoTime();
    if (answer[0].equals("ok")) {
      long[] saw = Arrays.stream(answer).skip(1).mapToLong(Long::parseLong).toArray();
      payments.put(name, new Payment(from, to, amount, began, ended, "ok", saw));
    } else if (!answer[0].equals("unknown")) {
      payments.put(name, new Payment(from, to, amount, began, ended, answer[0], new long[3]));
    }
    if (answer[0].equals("refused")) {
      observations.add(
          new Observation(
              "the refusal of " + name,
              began,
              ended,
              state -> state.balance(from) - amount < Operations.Pay.LEAST));
    }
  }

  private void add(String key, Kind kind, long began, boolean known, long a, long b, long saw) {
    List<Operation> of =
        history.computeIfAbsent(key, k -> Collections.synchronizedList(new ArrayList<>()));
    of.add(new Operation(kind, began, known ? System.nanoTime() : Long.MAX_VALUE, a, b, saw));
  }

  /** Injects one fault and ends it. */
  void fault(Fault what) throws Exception {
    faults.incrementAndGet();
    List<String> ids = new ArrayList<>(List.of("a", "b", "c"));
    Collections.shuffle(ids, random);
    String id = ids.get(0);
    switch (what) {
      case KILL -> {
        peers.get(id).kill();
        pause(random.nextInt(1500));
        start(id);
        peers.get(id).awaitUp();
      }
      case KILL_ALL -> {
        for (String each : ids) {
          peers.get(each).kill();
        }
        for (String each : ids) {
          start(each);
        }
        for (String each : ids) {
          peers.get(each).awaitUp();
        }
      }
      case STOP -> {
        peers.get(id).signal("STOP");
        pause(500 + random.nextInt(2500));
        peers.get(id).signal("CONT");
      }
      case CUT -> {
        links.cut(id, ids.get(1));
        links.cut(ids.get(1), id);
        if (random.nextBoolean()) {
          links.cut(id, ids.get(2));
          links.cut(ids.get(2), id);
        }
        pause(500 + random.nextInt(2500));
      }
      case CUT_ONE_WAY -> {
        links.cut(id, ids.get(1));
        if (random.nextBoolean()) {
          links.cut(id, ids.get(2));
        }
        pause(500 + random.nextInt(2500));
      }
      case DELAY -> {
        for (String other : ids) {
          links.delay(id, other, 50 + random.nextInt(250));
        }
        pause(500 + random.nextInt(2500));
      }
      case RESET -> links.reset(id);
      case FULL -> {
        PeerProcess full = peers.get(id);
        full.limit(FULL_AT[random.nextInt(FULL_AT.length)]);
        pause(500 + random.nextInt(2500));
        full.limit(FileLimit.NONE);
        // The peer has stopped at the limit or soon will: restart it, as an operator would.
        full.kill();
        start(id);
        peers.get(id).awaitUp();
      }
    }
    links.heal();
    pause(random.nextInt(1500));
  }

  static void pause(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Stops the clients and checks everything they saw. */
  List<String> verdict() throws InterruptedException {
    links.heal();
    over.set(true);
    for (Thread t : clients) {
      t.join();
    }
    Map<String, Entry> first = Map.of();
    for (String id : List.of("a", "b", "c")) {
      Optional<Map<String, Entry>> ledger = ledger(id);
      if (ledger.isEmpty()) {
        return List.copyOf(wrong); // fail before the test times out
      }
      for (Map.Entry<String, Entry> e : ledger.get().entrySet()) {
        if (!e.getValue().equals(first.getOrDefault(e.getKey(), e.getValue()))) {
          wrong.add(e + " at " + id + " is " + first.get(e.getKey()) + " at a.");
        }
      }
      first = id.equals("a") ? ledger.get() : first;
    }
    strict();
    look();
    return List.copyOf(wrong);
  }

  /** Checks the histories of keys that have ended. */
  void look() {
    long last;
    synchronized (active) {
      last = group(active.isEmpty() ? operations : active.first());
    }
    for (Map.Entry<String, List<Operation>> h : history.entrySet()) {
      long group = Long.parseLong(h.getKey().substring(1, h.getKey().indexOf('.')));
      if (over.get() || group < last) {
        List<Operation> of = h.getValue();
        synchronized (of) {
          if (!Linearizability.check(of)) {
            wrong.add("The register " + h.getKey() + " was not linearizable: " + of);
          }
        }
        history.remove(h.getKey());
      }
    }
  }

  /**
   * Checks whether everything that clients saw of accounts so far is strictly serializable. A
   * ledger gives the order: it is read after the checked operations ended, so it has all of them.
   */
  void strict() {
    List<Observation> seen;
    synchronized (observations) {
      seen = new ArrayList<>(observations);
    }
    Map<String, Payment> known = Map.copyOf(payments);
    Map<String, Entry> ledger = ledger("a").orElse(Map.of());
    List<Transfer> commands = new ArrayList<>();
    ledger.forEach(
        (name, entry) -> {
          Payment p = known.containsKey(name) ? known.get(name) : payments.get(name);
          boolean ok = known.containsKey(name) && p.told.equals("ok");
          if (ok && p.saw[0] != entry.index) {
            wrong.add(name + " answered index " + p.saw[0] + "but is at " + entry.index + ".");
          }
          commands.add(
              new Transfer(
                  name,
                  entry.index,
                  p.began,
                  ok ? p.ended : Long.MAX_VALUE,
                  p.from,
                  p.to,
                  p.amount,
                  p.saw[1],
                  p.saw[2]));
        });
    if (!ledger.isEmpty()) {
      wrong.addAll(StrictSerializability.check(commands, seen));
    }
  }

  /**
   * Checks that each payment is in the peer's ledger as often as its client was notified of
   * success.
   *
   * @return empty if the peer did not answer, which is an error too
   */
  Optional<Map<String, Entry>> ledger(String id) {
    Map<String, Payment> told = Map.copyOf(payments);
    String answer = "";
    long until = System.nanoTime() + LEDGER_SECONDS * 1_000_000_000L;
    while (!answer.startsWith("ok ")) {
      if (System.nanoTime() - until > 0) {
        wrong.add("Peer " + id + " did not return its ledger: " + answer + ". " + states());
        return Optional.empty();
      }
      answer = peers.get(id).ask("ledger", PATIENCE_MILLIS);
      pause(answer.startsWith("ok ") ? 0 : 100);
    }
    String[] parts = answer.substring(3).split(" ");
    if (!parts[1].equals("0")) {
      wrong.add("The sum at peer " + id + " is " + parts[1] + ", not 0.");
    }
    Map<String, Entry> entries = new HashMap<>();
    for (String line : parts[0].split(",")) {
      if (!line.isEmpty()) {
        String[] words = line.split("[=@]");
        Entry entry = new Entry(Long.parseLong(words[1]), Long.parseLong(words[2]));
        entries.put(words[0], entry);
        if (entry.count != 1) {
          wrong.add(
              "Payment " + words[0] + " was applied " + words[1] + " times at peer " + id + ".");
        }
      }
    }
    told.forEach(
        (name, p) -> {
          if (p.told.equals("ok") && !entries.containsKey(name)) {
            wrong.add("Payment " + name + " was acknowledged, but is not at peer " + id + ".");
          }
          if ((p.told.equals("failed") || p.told.equals("refused")) && entries.containsKey(name)) {
            wrong.add("Payment " + name + " has " + p.told + "but is at peer " + id + ".");
          }
        });
    return Optional.of(entries);
  }

  private String states() {
    StringBuilder all = new StringBuilder();
    peers.forEach(
        (id, peer) -> {
          for (String what : List.of("role", "leader", "index", "health")) {
            all.append(id + " " + what + ": " + peer.ask(what, 1000) + "; ");
          }
        });
    return all.toString();
  }

  @Override
  public void close() {
    over.set(true);
    peers.values().forEach(PeerProcess::kill);
    links.close();
    requireNoDifference();
  }

  /** Checks that no peer was reported as different, whatever faults occurred. */
  private void requireNoDifference() {
    for (Peer p : members) {
      try {
        String said = Files.readString(directory.resolve(p.id() + ".err"));
        if (said.contains("differs from the others'")) {
          throw new AssertionError("Peer " + p.id() + " differs: " + said);
        }
      } catch (NoSuchFileException e) {
        // it was not started
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
