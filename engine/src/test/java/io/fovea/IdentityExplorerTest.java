package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.LeakDetection;
import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.io.BlockDevice;
import io.fovea.io.Storage;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import io.fovea.support.SoakReport;
import io.fovea.wal.LogIdentity;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import java.util.UUID;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * One data file with two names, each with its own log and double-write area, as with links and bind
 * mounts. It is opened three times by either name; between openings single files are copied,
 * swapped, deleted and restored.
 *
 * <pre>
 *   opening ─► file change ─► opening ─► change ─► opening ─► change ─► final check by each name
 *   by g or h; commits or not; closed or killed; with a log or without
 * </pre>
 *
 * <p>The model knows for each file the session that changed it last, and the commits of that
 * session and all before it. An opening either has exactly the commits that the pair of files
 * represents, or it is refused and changes nothing. Pairs that were not mixed must open.
 *
 * <p>The short form takes random paths ({@code -Didentity.seed}, {@code -Didentity.paths}); {@code
 * -Didentity.all=true} takes all paths that begin with the first name.
 */
class IdentityExplorerTest {
  private static final Logger QUIET = Logger.getLogger("io.fovea");
  private static final String DATA = "data";
  private static final List<String> NAMES = List.of("g", "h");
  private static final TableSpec SPEC = TableSpec.bytes("t", 8);
  private static final int OPENINGS = 3;

  private static final Options LOGGED =
      Options.defaults()
          .bufferBytes(600_000)
          .memory(mem -> mem.timestampBytes(1 << 20))
          .transactions(txs -> txs.maxActive(2).leakDetection(LeakDetection.OFF))
          .log(
              log ->
                  log.bufferBytes(64 << 10)
                      .segmentBytes(64 << 10)
                      .maxBytes(256 << 10)
                      .checkpointInterval(Duration.ZERO));
  private static final Options UNLOGGED = LOGGED.durability(Durability.NONE);

  private enum End {
    CLOSE,
    KILL,
    IDLE_CLOSE,
    IDLE_KILL,
    UNLOGGED
  }

  private enum Act {
    NOTHING,
    SWAP_LOGS,
    DELETE_DATA,
    DELETE_LOG,
    COPY_LOG,
    RESTORE_DATA,
    RESTORE_LOG
  }

  /**
   * A change of files.
   *
   * @param name the name that the log belongs to
   * @param saved the opening after which the restored file was saved
   */
  private record Change(Act act, String name, int saved) {}

  /**
   * The contents of a file.
   *
   * @param session the session that changed it last
   * @param commits of that session and those before it
   * @param closed whether that session was closed
   * @param empty of a log: whether that session has no records
   */
  private record Version(int session, TreeSet<Integer> commits, boolean closed, boolean empty) {}

  private record Saved(byte[] bytes, Version version) {}

  private static final class World {
    final SimDisk disk;
    final Map<String, Version> files = new HashMap<>();
    final List<Map<String, Saved>> saved = new ArrayList<>();

    /** The predecessor of each session. */
    final Map<Integer, Integer> parents = new HashMap<>();

    final List<String> path = new ArrayList<>();
    int sessions;
    int commits;

    World() {
      disk = new SimDisk(1);
    }

    World(World other) {
      disk = other.disk.copy();
      files.putAll(other.files);
      saved.addAll(other.saved);
      parents.putAll(other.parents);
      path.addAll(other.path);
      sessions = other.sessions;
      commits = other.commits;
    }

    byte[] bytes(String file) {
      return disk.exists(file)
          ? disk.peek(file, 0, Math.toIntExact(disk.device(file).size()))
          : new byte[0];
    }

    void put(String file, byte[] bytes, Version version) {
      disk.delete(file);
      disk.poke(file, 0, bytes);
      files.put(file, version);
    }

    void delete(String file) {
      disk.delete(file);
      files.remove(file);
    }

    void save() {
      Map<String, Saved> all = new HashMap<>();
      files.forEach((file, version) -> all.put(file, new Saved(bytes(file), version)));
      saved.add(all);
    }

    boolean descends(int session, int from) {
      for (Integer s = session; s != null; s = parents.get(s)) {
        if (s == from) {
          return true;
        }
      }
      return false;
    }

    @Override
    public String toString() {
      return path + " with " + files;
    }
  }

  /** The files under one name. */
  private record Named(SimDisk disk, String name) implements Storage {
    String file(String suffix) {
      return suffix.equals(Storage.DATA) ? IdentityExplorerTest.DATA : name + suffix;
    }

    @Override
    public BlockDevice open(String suffix) {
      return disk.device(file(suffix));
    }

    @Override
    public boolean exists(String suffix) {
      return disk.exists(file(suffix));
    }

    @Override
    public void delete(String suffix) {
      disk.delete(file(suffix));
    }
  }

  private Level before = Level.ALL;
  private long opened;
  private long refused;
  private long created;
  private long paths;

  IdentityExplorerTest() {
    before = QUIET.getLevel() == null ? Level.INFO : QUIET.getLevel();
    QUIET.setLevel(Level.OFF);
  }

  @AfterEach
  void loud() {
    QUIET.setLevel(before);
  }

  @Test
  @Tag("slow")
  void anOpeningIsConsistentOrRefused() {
    if (Boolean.getBoolean("identity.all")) {
      all(new World(), 0);
    } else {
      long seed = Long.getLong("identity.seed", System.nanoTime());
      Random random = new Random(seed);
      for (int i = Integer.getInteger("identity.paths", 50); i > 0; i--) {
        try {
          oneOf(random);
        } catch (AssertionError | RuntimeException e) {
          throw new AssertionError("-Didentity.seed=" + seed + ": " + e.getMessage(), e);
        }
      }
    }
    SoakReport.line(
        "IdentityExplorerTest",
        paths
            + " paths: "
            + opened
            + " openings had the commits that their files represent, "
            + refused
            + " were refused and changed nothing, "
            + created
            + " created a database");
    assertTrue(refused > paths / 10 && opened > paths, opened + " opened, " + refused + " refused");
  }

  /**
   * A log of three segments is marked closed and truncated to the first, and marked again by an
   * opening without a log. An older data file lacks the commits of the other two segments: it is
   * rejected as long as the mark shows that they existed.
   */
  @Test
  void aTruncatedLogKeepsItsMark() {
    World world = new World();
    Named files = new Named(world.disk, "g");
    Database db = SimDatabase.open(files, LOGGED);
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    byte[] older = new byte[0];
    for (int i = 0; i < 10; i++) {
      byte[] key = key(i);
      db.run(tx -> t.put(tx, key, new byte[5000]));
      older = i == 0 ? world.bytes(DATA) : older;
    }
    UUID id = db.store().id();
    SimDatabase.abandon(db);
    try (BlockDevice log = files.open(Storage.LOG)) {
      long last = LogIdentity.of(log).lastSegment();
      assertTrue(last > 1);
      LogIdentity.markClosed(log, id, 0);
      log.resize(LOGGED.log().segmentBytes());
      LogIdentity.markClosed(log, id, 0);
      assertEquals(last, LogIdentity.of(log).lastSegment());
    }
    world.disk.delete(DATA);
    world.disk.poke(DATA, 0, older);
    var e = assertThrows(IncompatibleFormatException.class, () -> SimDatabase.open(files, LOGGED));
    assertTrue(e.getMessage().contains("was closed by a later session, and cut"), e.getMessage());
  }

  private void all(World world, int depth) {
    if (depth == OPENINGS) {
      look(world);
      return;
    }
    for (String name : depth == 0 ? NAMES.subList(0, 1) : NAMES) {
      for (End end : End.values()) {
        World next = new World(world);
        boolean done = open(next, name, end);
        if (!done && end != End.CLOSE) {
          continue; // refused whatever follows
        }
        for (Change change : changes(next)) {
          World changed = new World(next);
          change(changed, change);
          all(changed, depth + 1);
        }
      }
    }
  }

  private void oneOf(Random random) {
    World world = new World();
    for (int i = 0; i < OPENINGS; i++) {
      open(world, NAMES.get(random.nextInt(2)), End.values()[random.nextInt(End.values().length)]);
      List<Change> changes = changes(world);
      change(world, changes.get(random.nextInt(changes.size())));
    }
    look(world);
  }

  /** Returns the changes that are possible now and alter something. */
  private static List<Change> changes(World world) {
    List<Change> all = new ArrayList<>();
    all.add(new Change(Act.NOTHING, "", 0));
    if (world.disk.exists(DATA)) {
      all.add(new Change(Act.DELETE_DATA, "", 0));
    }
    boolean logs = false;
    for (String name : NAMES) {
      if (world.disk.exists(name + Storage.LOG)) {
        logs = true;
        all.add(new Change(Act.DELETE_LOG, name, 0));
        all.add(new Change(Act.COPY_LOG, name, 0));
      }
      for (int i = 0; i < world.saved.size(); i++) {
        if (differs(world, i, name + Storage.LOG)) {
          all.add(new Change(Act.RESTORE_LOG, name, i));
        }
      }
    }
    if (logs) {
      all.add(new Change(Act.SWAP_LOGS, "", 0));
    }
    for (int i = 0; i < world.saved.size(); i++) {
      if (differs(world, i, DATA)) {
        all.add(new Change(Act.RESTORE_DATA, "", i));
      }
    }
    return all;
  }

  private static boolean differs(World world, int i, String file) {
    Saved saved = world.saved.get(i).get(file);
    return saved != null && !saved.version.equals(world.files.get(file));
  }

  private static void change(World world, Change change) {
    world.path.add(change.act + " " + change.name + " " + change.saved);
    String log = change.name + Storage.LOG;
    switch (change.act) {
      case NOTHING -> {}
      case DELETE_DATA -> world.delete(DATA);
      case DELETE_LOG -> world.delete(log);
      case COPY_LOG -> world.put(other(log), world.bytes(log), world.files.get(log));
      case RESTORE_LOG -> restore(world, log, change.saved);
      case RESTORE_DATA -> restore(world, DATA, change.saved);
      case SWAP_LOGS -> {
        String g = NAMES.get(0) + Storage.LOG;
        String h = NAMES.get(1) + Storage.LOG;
        Saved first = new Saved(world.bytes(g), world.files.get(g));
        Saved second = new Saved(world.bytes(h), world.files.get(h));
        world.delete(g);
        world.delete(h);
        if (first.version != null) {
          world.put(h, first.bytes, first.version);
        }
        if (second.version != null) {
          world.put(g, second.bytes, second.version);
        }
      }
    }
  }

  private static String other(String log) {
    return (log.startsWith(NAMES.get(0)) ? NAMES.get(1) : NAMES.get(0)) + Storage.LOG;
  }

  private static void restore(World world, String file, int i) {
    Saved saved = world.saved.get(i).get(file);
    world.put(file, saved.bytes, saved.version);
  }

  /** The allowed outcomes of opening a pair of files. */
  private record Verdict(@Nullable TreeSet<Integer> commits, boolean mayOpen, boolean mustOpen) {}

  private static Verdict verdict(World world, String name) {
    Version data = world.files.get(DATA);
    Version log = world.files.get(name + Storage.LOG);
    if (data == null) {
      boolean free = log == null || log.closed;
      return new Verdict(new TreeSet<>(), free || log.empty || log.commits.isEmpty(), free);
    }
    if (data.closed) {
      boolean own = log == null || log.closed || log.session == data.session;
      boolean covered = own || data.commits.containsAll(log.commits);
      return new Verdict(data.commits, covered || log.empty, own || log.empty && covered);
    }
    if (log == null || !world.descends(log.session, data.session)) {
      return new Verdict(null, false, false);
    }
    return new Verdict(log.commits, true, log.session == data.session && !log.closed);
  }

  private boolean open(World world, String name, End end) {
    world.path.add(name + " " + end);
    Verdict verdict = verdict(world, name);
    boolean fresh = world.files.get(DATA) == null;
    Map<String, byte[]> bytes = new HashMap<>();
    for (String file : List.of(DATA, name + Storage.LOG)) {
      bytes.put(file, world.bytes(file));
    }
    Options options = end == End.UNLOGGED ? UNLOGGED : LOGGED;
    Database db;
    try {
      db = SimDatabase.open(new Named(world.disk, name), options);
    } catch (IncompatibleFormatException | CorruptionException e) {
      refused++;
      assertTrue(!verdict.mustOpen, () -> "refused: " + e.getMessage() + " " + world);
      bytes.forEach(
          (file, b) ->
              assertTrue(
                  Arrays.equals(b, world.bytes(file)),
                  () -> file + " changed by a refused opening: " + world));
      if (e instanceof IncompatibleFormatException) {
        assertTrue(e.getMessage().contains(name + Storage.LOG), e.getMessage());
      }
      world.save();
      return false;
    } catch (FoveaException e) {
      throw new AssertionError(e + " " + world, e);
    }
    boolean done = false;
    try {
      assertTrue(verdict.mayOpen, () -> "opened: " + world);
      TreeSet<Integer> found = commits(db);
      assertEquals(verdict.commits, found, world::toString);
      opened++;
      created += fresh ? 1 : 0;
      boolean changes = end == End.CLOSE || end == End.KILL || end == End.UNLOGGED;
      int session = ++world.sessions;
      Version data = world.files.get(DATA);
      if (data != null) {
        Version log = world.files.get(name + Storage.LOG);
        world.parents.put(session, data.closed ? data.session : log.session);
      }
      TreeSet<Integer> commits = new TreeSet<>(found);
      if (changes) {
        int key = ++world.commits;
        Table<byte[], byte[]> t = db.table(SPEC).bytes();
        db.run(tx -> t.put(tx, key(key), new byte[100]));
        commits.add(key);
      }
      boolean killed = end == End.KILL || end == End.IDLE_KILL;
      if (killed) {
        SimDatabase.abandon(db);
      } else {
        db.close();
      }
      done = true;
      // A closed file is unchanged until the first change.
      boolean marked = changes || data == null || !data.closed;
      String log = name + Storage.LOG;
      if (end != End.UNLOGGED) {
        world.files.put(log, new Version(session, commits, !killed, !marked));
      } else if (data != null && !data.closed) {
        // The recovery is one session with a log, followed by another without one.
        world.files.put(log, new Version(session, found, true, false));
        world.parents.put(++world.sessions, session);
        session = world.sessions;
      } else if (world.files.get(log) instanceof Version old) {
        // The log is not needed: it is marked closed unless it already is.
        world.files.put(log, new Version(old.session, old.commits, true, old.empty));
      }
      if (marked) {
        world.files.put(DATA, new Version(session, commits, !killed, false));
      }
      world.save();
      return true;
    } finally {
      if (!done) {
        SimDatabase.abandon(db);
      }
    }
  }

  private static byte[] key(int n) {
    return ByteBuffer.allocate(4).putInt(n).array();
  }

  private static TreeSet<Integer> commits(Database db) {
    TreeSet<Integer> all = new TreeSet<>();
    if (db.tables().isEmpty()) {
      return all;
    }
    Table<byte[], byte[]> t = db.table(SPEC).bytes();
    db.run(
        TxOptions.forReading(),
        tx -> {
          all.clear();
          try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
            while (c.next()) {
              all.add(ByteBuffer.wrap(c.key()).getInt());
            }
          }
        });
    return all;
  }

  private void look(World world) {
    paths++;
    for (String name : NAMES) {
      open(new World(world), name, End.IDLE_CLOSE);
    }
  }
}
