package io.fovea.crash;

import io.fovea.Change;
import io.fovea.ChangeBatch;
import io.fovea.ChangePosition;
import io.fovea.Changes;
import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.FileChanges;
import io.fovea.Options;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.error.ChangesLostException;
import io.fovea.schema.TableSpec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Writes into a database and follows it into a copy, or does only one of the two, until it is
 * killed. The copy stores each batch and its position in one transaction, so it holds exactly what
 * was followed. {@link ChangesKillTest} and {@link FileChangesKillTest} start and kill it.
 *
 * <p>Usage: {@code ChangeFeedProcess FILE COPY SEED}, optionally with {@code write BYTES} or {@code
 * follow BYTES} to do only one of both and retain this many bytes of the log. {@code follow} alone
 * reads the files of another process. Prints {@code n} for each batch, and ends with {@link #LOST}
 * if it fell behind.
 */
final class ChangeFeedProcess {
  /** The exit code of a follower that fell behind. */
  static final int LOST = 5;

  private static final String[] NAMES = {"a", "b", "c"};
  private static final byte[] POSITION = "position".getBytes(StandardCharsets.UTF_8);

  private final Table<byte[], byte[]> position;
  private final Table<byte[], byte[]> records;
  private final Database copy;

  private ChangeFeedProcess(Database copy) {
    this.copy = copy;
    this.position = copy.table(TableSpec.bytes("position", 20)).bytes();
    this.records = copy.table(TableSpec.bytes("records", 40)).bytes();
  }

  static Options options() {
    return options(4 << 20);
  }

  private static Options options(long changeRetentionBytes) {
    return Victim.options().log(l -> l.changeRetentionBytes(changeRetentionBytes));
  }

  private static byte[] bytes(String s) {
    return s.getBytes(StandardCharsets.UTF_8);
  }

  /** Returns the key in the copy; table names have one letter. */
  private static byte[] key(String table, byte[] key) {
    byte[] k = new byte[key.length + 1];
    k[0] = (byte) table.charAt(0);
    System.arraycopy(key, 0, k, 1, key.length);
    return k;
  }

  /** Returns the stored position, or begins with the present contents. */
  private ChangePosition begin(Database db) {
    ChangePosition known = known();
    return known == null ? startOver(db) : known;
  }

  /** Returns the stored position; null if there is none. */
  private @Nullable ChangePosition known() {
    byte[] known = copy.read(tx -> position.get(tx, POSITION));
    return known == null ? null : ChangePosition.parse(new String(known, StandardCharsets.UTF_8));
  }

  private ChangePosition startOver(Database db) {
    try (Database then = db.snapshot()) {
      ChangePosition at = then.changesPosition();
      TreeMap<String, byte[]> all = read(then);
      copy.run(
          tx -> {
            records.deleteRange(tx, null, null);
            all.forEach((k, v) -> records.put(tx, HexFormat.of().parseHex(k), v));
            position.put(tx, POSITION, bytes(at.toString()));
          });
      return at;
    }
  }

  /** Reads a database in the copy's format; keys are hexadecimal. */
  private static TreeMap<String, byte[]> read(Database db) {
    TreeMap<String, byte[]> all = new TreeMap<>();
    for (String name : db.tables()) {
      Table<byte[], byte[]> t = db.table(TableSpec.bytes(name, 40)).bytes();
      db.run(tx -> add(tx, t, name, all));
    }
    return all;
  }

  private static void add(
      Transaction tx, Table<byte[], byte[]> t, @Nullable String name, TreeMap<String, byte[]> out) {
    try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
      while (c.next()) {
        byte[] key = name == null ? c.key() : key(name, c.key());
        out.put(HexFormat.of().formatHex(key), c.value());
      }
    }
  }

  private void take(ChangeBatch batch) {
    ChangePosition before = known();
    if (before == null || before.lsn() >= batch.position().lsn()) {
      throw new AssertionError("a repetition: " + before + ", then " + batch.position());
    }
    copy.run(
        tx -> {
          for (Change c : batch.changes()) {
            switch (c.kind()) {
              case PUT -> records.put(tx, key(c.table(), c.keyBytes()), c.valueBytes());
              case DELETE -> {
                if (!records.delete(tx, key(c.table(), c.keyBytes()))) {
                  throw new AssertionError("a gap: " + c);
                }
              }
              case DROPPED -> {
                byte[] from = {(byte) c.table().charAt(0)};
                byte[] to = {(byte) (c.table().charAt(0) + 1)};
                records.deleteRange(tx, from, to);
              }
              case RENAMED -> renamed(tx, c);
              case CREATED -> {}
              default -> throw new AssertionError(c.toString());
            }
          }
          position.put(tx, POSITION, bytes(batch.position().toString()));
        });
  }

  private void renamed(Transaction tx, Change c) {
    byte[] from = {(byte) c.table().charAt(0)};
    byte[] to = {(byte) (c.table().charAt(0) + 1)};
    byte first = (byte) String.valueOf(c.newName()).charAt(0);
    try (Cursor<byte[], byte[]> all = records.scan(tx, from, to, ScanOrder.ASCENDING)) {
      while (all.next()) {
        byte[] key = all.key();
        key[0] = first;
        if (records.get(tx, key) != null) {
          throw new AssertionError("a gap: " + c + ", and that is there");
        }
        records.put(tx, key, all.value());
      }
    }
    records.deleteRange(tx, from, to);
  }

  /** Follows the files that another process has open, until killed. */
  private void followFiles(Path file) throws InterruptedException {
    ChangePosition at = known();
    if (at == null) {
      throw new AssertionError("the copy has no position");
    }
    try (FileChanges changes = FileChanges.from(file, at)) {
      while (true) {
        ChangeBatch batch = changes.poll();
        if (batch == null) {
          Thread.sleep(1);
          continue;
        }
        take(batch);
        System.out.println("n");
        System.out.flush();
      }
    }
  }

  private void follow(Database db, Duration wait, boolean forEver) {
    try (Changes changes = db.changes(begin(db))) {
      while (true) {
        ChangeBatch batch = changes.poll(wait);
        if (batch != null) {
          take(batch);
          if (forEver) {
            System.out.println("n");
            System.out.flush();
          }
        } else if (!forEver) {
          return;
        }
      }
    }
  }

  private static void write(Database db, long seed, boolean renames) {
    Random random = new Random(seed);
    while (true) {
      if (renames && random.nextInt(40) == 0) {
        db.checkpoint();
      }
      String name = NAMES[random.nextInt(NAMES.length)];
      db.run(
          tx -> {
            int what = random.nextInt(60);
            if (what == 0) {
              tx.dropTable(name);
            } else if (what == 1 && renames) {
              String other = NAMES[random.nextInt(NAMES.length)];
              if (!other.equals(name)) {
                tx.dropTable(other);
                tx.table(TableSpec.bytes(name, 40));
                tx.renameTable(name, other);
              }
            }
            Table<byte[], byte[]> t = tx.table(TableSpec.bytes(name, 40)).bytes();
            for (int i = random.nextInt(4); i >= 0; i--) {
              byte[] key = bytes("k" + random.nextInt(30));
              if (random.nextInt(4) == 0) {
                t.delete(tx, key);
              } else {
                byte[] value = new byte[random.nextInt(8) == 0 ? 9000 : random.nextInt(300)];
                random.nextBytes(value);
                t.put(tx, key, value);
              }
            }
          });
    }
  }

  /** Follows to the end; throws if the copy then differs from the database. */
  static long compare(Path file, Path copyFile) {
    try (Database db = Database.open(file, options());
        Database copy = Database.open(copyFile, Victim.options())) {
      ChangeFeedProcess f = new ChangeFeedProcess(copy);
      f.follow(db, Duration.ZERO, false);
      return f.compare(db);
    }
  }

  /** Creates a database without tables, and a copy that begins there. */
  static void makeBoth(Path file, Path copyFile, long changeRetentionBytes) {
    startOver(file, copyFile, changeRetentionBytes);
  }

  /** Starts over with the present contents of the database. */
  static void startOver(Path file, Path copyFile, long changeRetentionBytes) {
    try (Database db = Database.open(file, options(changeRetentionBytes));
        Database copy = Database.open(copyFile, Victim.options())) {
      new ChangeFeedProcess(copy).startOver(db);
    }
  }

  /**
   * Follows closed or killed files to their end, then opens the database, which must have the same
   * contents. Starts over if changes were lost.
   */
  static long compareFromFiles(Path file, Path copyFile, long changeRetentionBytes) {
    try (Database copy = Database.open(copyFile, Victim.options())) {
      ChangeFeedProcess f = new ChangeFeedProcess(copy);
      boolean lost = false;
      ChangePosition end = f.known();
      try (FileChanges changes = FileChanges.from(file, end)) {
        ChangeBatch batch;
        while ((batch = changes.poll()) != null) {
          f.take(batch);
        }
        end = changes.position();
      } catch (ChangesLostException e) {
        lost = true;
      }
      try (Database db = Database.open(file, options(changeRetentionBytes))) {
        if (lost) {
          f.startOver(db);
        } else if (end.lsn() > db.changesPosition().lsn()) {
          throw new AssertionError(end + " was followed and then undone");
        }
        return f.compare(db);
      }
    }
  }

  private long compare(Database db) {
    TreeMap<String, byte[]> is = read(db);
    TreeMap<String, byte[]> found = new TreeMap<>();
    copy.run(tx -> add(tx, records, null, found));
    if (!is.keySet().equals(found.keySet())) {
      throw new AssertionError("the database has " + is.keySet() + ", the copy " + found.keySet());
    }
    is.forEach(
        (k, v) -> {
          if (!java.util.Arrays.equals(v, found.get(k))) {
            throw new AssertionError("the copy has another value of " + k);
          }
        });
    return is.size();
  }

  public static void main(String[] args) {
    Path file = Path.of(args[0]);
    Path copyFile = Path.of(args[1]);
    long seed = Long.parseLong(args[2]);
    try {
      if (args.length == 3) {
        Database db = Database.open(file, options());
        ChangeFeedProcess f = new ChangeFeedProcess(Database.open(copyFile, Victim.options()));
        for (int w = 0; w < 2; w++) {
          long mine = seed * 2 + w;
          Thread.ofPlatform().daemon().start(() -> write(db, mine, false));
        }
        f.follow(db, Duration.ofSeconds(5), true);
      } else if (args[3].equals("write")) {
        Database db = Database.open(file, options(Long.parseLong(args[4])));
        Thread.ofPlatform().daemon().start(() -> write(db, seed * 2, true));
        write(db, seed * 2 + 1, true);
      } else {
        new ChangeFeedProcess(Database.open(copyFile, Victim.options())).followFiles(file);
      }
    } catch (ChangesLostException e) {
      Runtime.getRuntime().halt(LOST);
    } catch (Throwable e) {
      e.printStackTrace();
      Runtime.getRuntime().halt(3);
    }
  }
}
