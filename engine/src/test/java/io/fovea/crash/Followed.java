package io.fovea.crash;

import io.fovea.ByteCursor;
import io.fovea.ByteTable;
import io.fovea.Change;
import io.fovea.ChangeBatch;
import io.fovea.ChangePosition;
import io.fovea.Changes;
import io.fovea.Database;
import io.fovea.Options;
import io.fovea.Order;
import io.fovea.Transaction;
import io.fovea.schema.TableSpec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Writes into a database, and follows it into another one, until it is killed. In that one each
 * batch and its position are one transaction, so what it holds is exactly what was followed. {@link
 * ChangesKillTest} starts it, and kills it.
 *
 * <p>Usage: {@code Followed FILE COPY SEED}. It says {@code n} for each batch.
 */
final class Followed {
  private static final String[] NAMES = {"a", "b", "c"};
  private static final byte[] POSITION = "position".getBytes(StandardCharsets.UTF_8);

  private final ByteTable position;
  private final ByteTable records;
  private final Database copy;

  private Followed(Database copy) {
    this.copy = copy;
    this.position = copy.table(TableSpec.bytes("position", 20)).bytes();
    this.records = copy.table(TableSpec.bytes("records", 40)).bytes();
  }

  static Options options() {
    return Victim.options().log(l -> l.changesBytes(4 << 20));
  }

  private static byte[] bytes(String s) {
    return s.getBytes(StandardCharsets.UTF_8);
  }

  /** The key in the copy: the table's name has one letter. */
  private static byte[] key(String table, byte[] key) {
    byte[] k = new byte[key.length + 1];
    k[0] = (byte) table.charAt(0);
    System.arraycopy(key, 0, k, 1, key.length);
    return k;
  }

  /** Begins where it was, or with what there is now. */
  private ChangePosition begin(Database db) {
    byte[] known = copy.read(tx -> position.get(tx, POSITION));
    if (known != null) {
      return ChangePosition.parse(new String(known, StandardCharsets.UTF_8));
    }
    try (Database then = db.snapshot()) {
      ChangePosition at = then.changesPosition();
      TreeMap<String, byte[]> all = read(then);
      copy.run(
          tx -> {
            all.forEach((k, v) -> records.put(tx, HexFormat.of().parseHex(k), v));
            position.put(tx, POSITION, bytes(at.toString()));
          });
      return at;
    }
  }

  /** What a database has, as the copy has it; keys in hexadecimal digits. */
  private static TreeMap<String, byte[]> read(Database db) {
    TreeMap<String, byte[]> all = new TreeMap<>();
    for (String name : db.tables()) {
      ByteTable t = db.table(TableSpec.bytes(name, 40)).bytes();
      db.run(tx -> add(tx, t, name, all));
    }
    return all;
  }

  private static void add(
      Transaction tx, ByteTable t, @Nullable String name, TreeMap<String, byte[]> out) {
    try (ByteCursor c = t.scan(tx, null, null, Order.ASCENDING)) {
      while (c.next()) {
        byte[] key = name == null ? c.key() : key(name, c.key());
        out.put(HexFormat.of().formatHex(key), c.value());
      }
    }
  }

  private void take(ChangeBatch batch) {
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
              case CREATED -> {}
              default -> throw new AssertionError(c.toString());
            }
          }
          position.put(tx, POSITION, bytes(batch.position().toString()));
        });
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

  private static void write(Database db, long seed) {
    Random random = new Random(seed);
    while (true) {
      String name = NAMES[random.nextInt(NAMES.length)];
      db.run(
          tx -> {
            if (random.nextInt(60) == 0) {
              tx.dropTable(name);
            }
            ByteTable t = tx.table(TableSpec.bytes(name, 40)).bytes();
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

  /** Follows to the end; throws where the copy is not the database then. */
  static long compare(Path file, Path copyFile) {
    try (Database db = Database.open(file, options());
        Database copy = Database.open(copyFile, Victim.options())) {
      Followed f = new Followed(copy);
      f.follow(db, Duration.ZERO, false);
      TreeMap<String, byte[]> is = read(db);
      TreeMap<String, byte[]> found = new TreeMap<>();
      copy.run(tx -> add(tx, f.records, null, found));
      if (!is.keySet().equals(found.keySet())) {
        throw new AssertionError(
            "the database has " + is.keySet() + ", the copy " + found.keySet());
      }
      is.forEach(
          (k, v) -> {
            if (!java.util.Arrays.equals(v, found.get(k))) {
              throw new AssertionError("the copy has another value of " + k);
            }
          });
      return is.size();
    }
  }

  public static void main(String[] args) {
    long seed = Long.parseLong(args[2]);
    Database db = Database.open(Path.of(args[0]), options());
    Followed f = new Followed(Database.open(Path.of(args[1]), Victim.options()));
    for (int w = 0; w < 2; w++) {
      long mine = seed * 2 + w;
      Thread.ofPlatform().daemon().start(() -> write(db, mine));
    }
    try {
      f.follow(db, Duration.ofSeconds(5), true);
    } catch (Throwable e) {
      e.printStackTrace();
      Runtime.getRuntime().halt(3);
    }
  }
}
