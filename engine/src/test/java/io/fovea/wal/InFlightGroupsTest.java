package io.fovea.wal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.CorruptionException;
import io.fovea.error.DurabilityLostException;
import io.fovea.io.IoOp;
import io.fovea.memory.Checksum;
import io.fovea.memory.Mem;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDevice;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.txn.FaultInjection;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Several groups in flight: none is acknowledged before all earlier ones are durable, and after a
 * crash nothing beyond a gap is recovered, neither immediately nor later.
 */
@Timeout(120)
class InFlightGroupsTest {
  private static final String LOG = "log";
  private static final int LENGTH = 100;

  /**
   * A window of a minute, so that age triggers no write. Segments are so large that none is created
   * in the meantime, since the creator of segments and the writers wait for each other.
   */
  private static final LogConfig CONFIG =
      new LogConfig(512 << 10, 64 << 10, TimeUnit.MINUTES.toNanos(1), 16 << 10);

  private final SimDisk disk = new SimDisk(7);
  private final SimDevice device = disk.device(LOG);
  private final Map<Thread, Client> clients = new ConcurrentHashMap<>();
  private Log log = Log.open(device, CONFIG, Logs.start(1, Log.FIRST_LSN, Log.FIRST_LSN));
  private LogSession session = log.session();

  /** The end of each record, by its number, from 0. */
  private final List<Long> ends = new ArrayList<>();

  /** A thread that waits for one commit, and whose disk operations are released one by one. */
  private final class Client {
    final long lsn;
    final Semaphore arrived = new Semaphore(0);
    final Semaphore permits = new Semaphore(0);
    final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    final Thread thread;

    Client(long lsn) {
      this.lsn = lsn;
      this.thread = Thread.ofPlatform().unstarted(this::run);
      clients.put(thread, this);
      thread.start();
    }

    private void run() {
      try {
        log.awaitDurable(lsn);
      } catch (Throwable t) {
        failure.set(t);
      }
    }

    /** Returns when it is about to write its group. */
    Client awaitOperation() {
      arrived.acquireUninterruptibly();
      return this;
    }

    /** Releases its next operation, and returns when that has ended. */
    void write() {
      permits.release();
      arrived.acquireUninterruptibly(); // at the sync
    }

    /** Releases all of its operations. */
    void letGo() {
      permits.release(1000);
    }

    void join() {
      try {
        thread.join();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }

    /** Returns when its group is written but an earlier one is not, so that it sleeps. */
    void awaitAsleep() {
      awaitIn(DurabilityWaiters.class);
    }

    /** Returns when it waits for other groups to complete. */
    void awaitWaitingForGroups() {
      awaitIn(InFlightGroups.class);
      assertEquals(0, arrived.availablePermits());
    }

    private void awaitIn(Class<?> type) {
      while (!isIn(type)) {
        Thread.onSpinWait();
      }
    }

    private boolean isIn(Class<?> type) {
      return thread.getState() == Thread.State.WAITING
          && Arrays.stream(thread.getStackTrace())
              .anyMatch(
                  f ->
                      f.getClassName().equals(type.getName()) && f.getMethodName().equals("await"));
    }

    /** Returns when it, or another thread in its place, is about to write. */
    Client awaitAny() {
      while (thread.isAlive()
          && !arrived.tryAcquire()
          && !isIn(DurabilityWaiters.class)
          && !isIn(InFlightGroups.class)) {
        Thread.onSpinWait();
      }
      return this;
    }
  }

  @BeforeEach
  void startNext() throws InterruptedException {
    // The second group of a segment has a watermark, and is therefore alone. The log's own thread
    // writes the first, and tracks the age of records from then on.
    long first = append();
    Thread.ofVirtual().start(() -> log.awaitDurable(first)).join();
    log.awaitDurable(append());
    log.awaitDurable(append());
    disk.onOperation(
        n -> {
          Client client = clients.get(Thread.currentThread());
          if (client != null) {
            client.arrived.release();
            client.permits.acquireUninterruptibly();
          }
        });
  }

  @AfterEach
  void close() {
    clients.values().forEach(Client::letGo);
    log.close();
  }

  private long append() {
    long end = Logs.append(session, Logs.body(ends.size(), LENGTH));
    ends.add(end);
    return end;
  }

  /** Returns clients whose groups are in flight and not written yet, in order. */
  private List<Client> clients(int n) {
    List<Client> all = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      all.add(new Client(append()).awaitOperation());
    }
    return all;
  }

  /** Requires that a log has exactly the records from 0 on. */
  private static void assertRecords(int expected, SimDisk disk) {
    List<Logs.Read> all = Logs.readAll(disk.device(LOG), Log.FIRST_LSN);
    assertEquals(expected, all.size() - 1);
    for (int i = 0; i < expected; i++) {
      assertArrayEquals(Logs.body(i, LENGTH), all.get(i).body());
    }
  }

  @Test
  void groupsDoNotWaitForEachOther() {
    List<Client> two = clients(2);
    assertEquals(ends.get(2), log.durableLsn());
    two.forEach(Client::letGo);
    two.forEach(Client::join);
    two.forEach(c -> assertNull(c.failure.get()));
    assertEquals(ends.getLast(), log.durableLsn());
    assertEquals(5, log.stats().groups());
  }

  @Test
  void acknowledgesInOrder() {
    List<Client> all = clients(3);
    all.get(1).letGo();
    all.get(2).letGo();
    all.get(1).awaitAsleep();
    all.get(2).awaitAsleep();
    assertEquals(ends.get(2), log.durableLsn());
    assertEquals(3, log.stats().groups());
    all.get(0).letGo();
    all.forEach(Client::join);
    all.forEach(c -> assertNull(c.failure.get()));
    assertEquals(ends.getLast(), log.durableLsn());
  }

  /** The number of groups in flight is limited; the next one waits for the first. */
  @Test
  void limitsGroupsInFlight() {
    List<Client> all = clients(InFlightGroups.MOST);
    Client waits = new Client(append());
    waits.awaitWaitingForGroups();
    all.get(0).letGo();
    waits.awaitOperation();
    all.forEach(Client::letGo);
    waits.letGo();
    waits.join();
    assertEquals(ends.getLast(), log.durableLsn());
  }

  /** A large group is alone in flight. */
  @Test
  void largeGroupsAreAlone() {
    Client first = clients(1).getFirst();
    // Together they exceed one group, so recovery could not rewrite them as one.
    long large = Logs.append(session, Logs.body(99, log.recordMax()));
    Client second = new Client(large);
    second.awaitWaitingForGroups();
    first.letGo();
    second.awaitOperation();
    Client third = new Client(Logs.append(session, Logs.body(100, LENGTH)));
    awaitWriterLock(third);
    second.letGo();
    third.letGo();
    third.join();
    assertEquals(log.tail(), log.durableLsn());
  }

  /** Returns when a client waits for the writer's lock. */
  private static void awaitWriterLock(Client client) {
    while (client.thread.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    assertEquals(0, client.arrived.availablePermits());
  }

  /** On a device that may report a failure to another thread, only one group is in flight. */
  @Test
  void oneAtATimeWhereFailuresAreNotAttributable() {
    disk.writesApart(false);
    Client first = clients(1).getFirst();
    Client second = new Client(append());
    awaitWriterLock(second);
    first.letGo();
    second.awaitOperation().letGo();
    second.join();
    assertEquals(ends.getLast(), log.durableLsn());
    disk.writesApart(true);
  }

  /**
   * Later groups are on the medium and the first is not: the log ends before it. Later openings
   * must not find what is beyond the gap either, although they write records of the same length to
   * the same positions.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void groupsBeyondAGapNeverReappear(boolean torn) {
    List<Client> all = clients(3);
    all.get(1).letGo();
    all.get(2).letGo();
    all.get(1).awaitAsleep();
    all.get(2).awaitAsleep();
    if (torn) {
      all.get(0).write();
    }
    SimDisk after = disk.crash(torn ? SimCrash.KEEP_ALL : SimCrash.LOSE_ALL);
    if (torn) {
      // Its header is present, and its record is damaged.
      after.flip(LOG, 4L * Group.BLOCK + Group.HEADER + 50, 3);
    }
    assertRecords(3, after);
    assertEquals(
        torn ? 6 : 5, jumping(after).size(), "no group beyond the gap, so nothing is tested");
    for (int incarnation = 2; incarnation < 6; incarnation++) {
      long end = Logs.end(after.device(LOG), Log.FIRST_LSN);
      try (Log next =
          Log.open(after.device(LOG), CONFIG, Logs.start(incarnation, end, Log.FIRST_LSN))) {
        if (incarnation > 2) {
          next.awaitDurable(
              Logs.append(next.session(), Logs.body(incarnation, LENGTH))); // at the gap
        }
        next.abandon();
      }
      after = after.crash(SimCrash.LOSE_ALL);
      List<Logs.Read> found = Logs.readAll(after.device(LOG), Log.FIRST_LSN);
      assertEquals(3 + incarnation - 2, found.size() - 1);
      for (int i = 3; i < found.size() - 1; i++) {
        assertEquals(i, Logs.number(found.get(i).body()));
      }
    }
  }

  /**
   * The next opening rewrites all groups that were in flight, since they may be only in a cache.
   */
  @Test
  void groupsInFlightBecomeDurableAtTheNextOpening() {
    List<Client> all = clients(3);
    all.forEach(Client::write);
    SimDisk copy = disk.copy(); // a killed process: the cache has all writes, the medium does not
    assertRecords(6, copy);
    try (LogReader reader = LogReader.open(copy.device(LOG), Logs.DATABASE, Log.FIRST_LSN)) {
      int unproven = 0;
      while (reader.next()) {
        assertEquals(reader.end() <= ends.get(2), reader.end() <= reader.provenByNext());
        unproven += reader.end() > reader.provenByNext() ? 1 : 0;
      }
      assertEquals(3, unproven);
      assertEquals(ends.get(2), reader.provenLsn());
    }
    long end = ends.getLast();
    Log.open(copy.device(LOG), CONFIG, Logs.start(2, end, Log.FIRST_LSN)).abandon();
    assertRecords(6, copy.crash(SimCrash.LOSE_ALL));
  }

  /** If one of several groups fails, it and all later ones are lost, and no earlier one. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3})
  void groupsBehindAFailureAreLost(int fails) {
    List<Client> all = clients(4);
    for (int i = fails + 1; i < 4; i++) {
      all.get(i).letGo();
      all.get(i).awaitAsleep();
    }
    disk.fail(SimFault.once(1).of(IoOp.SYNC));
    all.get(fails).letGo();
    all.get(fails).join();
    for (int i = 0; i < fails; i++) {
      all.get(i).letGo();
      all.get(i)
          .join(); // one that first finds the log ended, with an earlier group in flight, is in
      // doubt
    }
    all.forEach(Client::join);
    for (int i = 0; i < 4; i++) {
      Throwable failure = all.get(i).failure.get();
      if (i < fails) {
        assertNull(failure, "group " + i + " was durable before, or after");
      } else {
        assertInstanceOf(DurabilityLostException.class, failure);
      }
    }
    long durable = ends.get(2 + fails);
    assertEquals(durable, log.durableLsn());
    assertThrows(DurabilityLostException.class, this::append);
    assertFalse(log.isAlive());
    log.close();
    assertRecords(3 + fails, disk.crash(SimCrash.LOSE_ALL));
  }

  /** A group's memory is reused: a late completion after an error must not end another group. */
  @Test
  void lateCompletionEndsNoOtherGroup() {
    int payload = 4096;
    ReentrantLock turn = new ReentrantLock();
    turn.lock();
    InFlightGroups inFlightGroups =
        new InFlightGroups(
            payload,
            Arena.ofAuto().allocate(InFlightGroups.bytes(payload)),
            0,
            turn.newCondition());
    InFlightGroups.InFlightGroup first = inFlightGroups.next();
    inFlightGroups.start();
    long late = first.startNumber;
    for (int n = 0; n < InFlightGroups.MOST; n++) {
      InFlightGroups.InFlightGroup flight = n == 0 ? first : inFlightGroups.next();
      if (n > 0) {
        inFlightGroups.start();
      }
      inFlightGroups.finish(flight, flight.startNumber, true);
      assertSame(flight, inFlightGroups.takeDurable());
    }
    assertSame(first, inFlightGroups.next());
    inFlightGroups.start();
    inFlightGroups.finish(first, first.startNumber, true);
    inFlightGroups.finish(first, late, false);
    inFlightGroups.finish(first, 0, false);
    assertSame(first, inFlightGroups.takeDurable(), "the group is durable");
    assertTrue(inFlightGroups.isEmpty());
    inFlightGroups.awaitNone();
  }

  @Test
  void closeWaitsForAllGroups() throws InterruptedException {
    List<Client> all = clients(2);
    Thread closer = Thread.ofPlatform().start(log::close);
    all.get(1).letGo();
    all.get(1).awaitAsleep();
    closer.join(50);
    assertTrue(closer.isAlive(), "closed while a group was being written from the log's memory");
    all.get(0).letGo();
    closer.join();
    all.forEach(Client::join);
    assertEquals(ends.getLast(), log.durableLsn());
    assertRecords(5, disk);
  }

  // ------------------------------------------------------------------------------------- crashes

  private record State(SimDisk disk, long durable) {}

  /**
   * Clients commit one after the other, with their operations in any order. The machine crashes
   * before each operation.
   *
   * @return the number of states with complete groups beyond a gap
   */
  private int explore(long seed) {
    Random random = new Random(seed);
    List<State> states = new ArrayList<>();
    List<Client> open = new ArrayList<>();
    for (int i = 0; i < 40 && log.isAlive(); i++) {
      if (open.size() < InFlightGroups.MOST && random.nextInt(3) > 0) {
        open.add(new Client(append()).awaitAny());
      } else if (!open.isEmpty()) {
        int late = Math.max(random.nextInt(open.size()), random.nextInt(open.size()));
        Client client = open.get(late);
        if (random.nextBoolean()) {
          client.permits.release();
        } else {
          client.letGo();
          open.remove(client);
        }
        client.awaitAny();
      }
      // Read the durable position before copying the disk.
      long durable = log.durableLsn();
      states.add(new State(disk.copy(), durable));
    }
    int gaps = 0;
    Set<Long> distinct = new HashSet<>();
    for (State state : states) {
      for (SimCrash how : List.of(SimCrash.LOSE_ALL, SimCrash.RANDOM, SimCrash.KEEP_ALL)) {
        SimDisk after = state.disk.crash(how);
        if (distinct.add(after.fingerprint())) {
          gaps += check(after, state.durable, random);
        }
      }
    }
    return gaps;
  }

  /** Returns 1 if there were complete groups beyond a gap. */
  private int check(SimDisk after, long durable, Random random) {
    List<Logs.Read> found = Logs.readAll(after.device(LOG), Log.FIRST_LSN);
    long end = found.getLast().end();
    int n = found.size() - 1;
    assertTrue(
        end >= durable,
        () -> "records lost: the log ends at " + end + ", but was durable to " + durable);
    assertRecords(n, after);
    int gap = jumping(after).size() > n ? 1 : 0;
    // Where the log continues, no old group follows, neither now nor after the next crash.
    long at = end;
    int records = n;
    for (int incarnation = 2; incarnation < 4; incarnation++) {
      Log next = Log.open(after.device(LOG), CONFIG, Logs.start(incarnation, at, Log.FIRST_LSN));
      if (random.nextBoolean()) {
        next.awaitDurable(Logs.append(next.session(), Logs.body(records++, LENGTH)));
      }
      next.abandon();
      after = after.crash(SimCrash.RANDOM);
      assertRecords(records, after);
      at = Logs.end(after.device(LOG), Log.FIRST_LSN);
    }
    return gap;
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6})
  void crashesWithGroupsInFlight(long seed) {
    assertTrue(explore(seed) > 0, "no state had a group beyond a gap");
  }

  // ------------------------------------------------------------------------------------- mutants

  /** Detects a writer that acknowledges completed groups regardless of earlier ones. */
  @Test
  void detectsADurablePositionBeyondAHole() throws InterruptedException {
    log.abandon();
    disk.onOperation(n -> {});
    log =
        FaultInjection.without(FaultInjection.Step.GROUPS_IN_ORDER)
            .during(() -> Log.open(device, CONFIG, Logs.start(2, ends.getLast(), Log.FIRST_LSN)));
    session = log.session();
    startNext();
    Throwable found = assertThrows(Throwable.class, () -> explore(1));
    boolean lost = found instanceof AssertionError && found.getMessage().startsWith("records lost");
    assertTrue(lost || found instanceof CorruptionException, found::toString);
  }

  /** Returns what a reader would find if it skipped a gap to the next valid group. */
  private static List<Long> jumping(SimDisk disk) {
    SimDevice device = disk.device(LOG);
    List<Long> starts = new ArrayList<>();
    SegmentScan scan = SegmentScan.of(device, Logs.DATABASE);
    SegmentScan.Found segment = scan.segments().getLast();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment block = arena.allocate(Group.BLOCK, Group.BLOCK);
      long end = segment.offset() + scan.segmentBytes() - Group.BLOCK;
      for (long at = segment.offset() + Group.BLOCK; at < end; at += Group.BLOCK) {
        device.read(at, block, 0, Group.BLOCK);
        SegmentHeader h = segment.header();
        if (Group.isValid(block, 0, Logs.DATABASE, h.incarnation(), h.number())) {
          starts.add(Group.start(block, 0));
        }
      }
    }
    return starts;
  }

  /** Detects a group that claims durability of all earlier ones without proof. */
  @Test
  void detectsAGroupThatOverstatesDurability() {
    List<Client> all = clients(2);
    all.get(1).letGo();
    all.get(1).awaitAsleep();
    SimDisk after = disk.crash(SimCrash.LOSE_ALL);
    assertRecords(3, after);
    long at = 5L * Group.BLOCK;
    SimDevice forged = after.device(LOG);
    try (Arena arena = Arena.ofShared()) {
      MemorySegment block = arena.allocate(Group.BLOCK, Group.BLOCK);
      forged.read(at, block, 0, Group.BLOCK);
      assertEquals(ends.get(2), Group.proven(block, 0));
      assertEquals(ends.get(3), Group.start(block, 0));
      Group.put(block, 0, Logs.DATABASE, 1, 1, ends.get(3), ends.get(3), Group.payload(block, 0));
      forged.write(at, block, 0, Group.BLOCK);
    }
    CorruptionException e =
        assertThrows(CorruptionException.class, () -> Logs.readAll(forged, Log.FIRST_LSN));
    assertTrue(e.getMessage().contains("durable group"), e.getMessage());
  }

  // --------------------------------------------------------------------------- previous format

  /** Groups of segments of version 2 have no proven LSN: everything before them was durable. */
  @Test
  void readsGroupsOfThePreviousFormat() {
    List<Long> before = List.copyOf(ends);
    log.abandon();
    disk.onOperation(n -> {});
    makeOld();
    assertRecords(3, disk);
    try (LogReader reader = LogReader.open(device, Logs.DATABASE, Log.FIRST_LSN)) {
      while (reader.next()) {}
      assertEquals(before.get(1), reader.provenLsn());
    }
    log = Log.open(device, CONFIG, Logs.start(2, before.get(2), Log.FIRST_LSN));
    session = log.session();
    for (int i = 0; i < 3; i++) {
      log.awaitDurable(append());
    }
    assertRecords(6, disk);
    // The loss of an old group is damage.
    disk.poke(LOG, 2L * Group.BLOCK, new byte[Group.BLOCK]);
    assertThrows(CorruptionException.class, () -> assertRecords(6, disk));
  }

  /** Converts the first segment to version 2. */
  private void makeOld() {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment block = arena.allocate(Group.BLOCK, Group.BLOCK);
      device.read(0, block, 0, Group.BLOCK);
      Mem.putInt(block, 8, 2);
      Mem.putInt(block, 12, Checksum.crc32c(2, block, 16, SegmentHeader.BYTES - 16));
      device.write(0, block, 0, Group.BLOCK);
      for (int i = 0; i < 3; i++) {
        long at = (i + 1L) * Group.BLOCK;
        device.read(at, block, 0, Group.BLOCK);
        int payload = Group.payload(block, 0);
        MemorySegment.copy(block, 40, block, 32, payload);
        Mem.zero(block, 32 + payload, 8);
        Mem.putInt(block, 0, 0x4752_5646);
        long most = Logs.DATABASE.getMostSignificantBits();
        long least = Logs.DATABASE.getLeastSignificantBits();
        Mem.putInt(block, 4, Checksum.crc32c(most, least, block, 8, 24));
        device.write(at, block, 0, Group.BLOCK);
      }
    }
  }
}
