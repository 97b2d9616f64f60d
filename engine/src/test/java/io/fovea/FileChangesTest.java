package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.error.ChangesLostException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Reads commits from the files of a database, while it is open and afterwards. */
@Timeout(300)
class FileChangesTest {
  private static final TableSpec BYTES = TableSpec.bytes("b", 40);

  private static final int COMMITS = 1700;

  @TempDir Path folder;

  private static Options options(long changeRetentionBytes) {
    return Options.defaults()
        .durability(Durability.SYNC)
        .bufferBytes(4 << 20)
        .log(
            l ->
                l.bufferBytes(64 << 10)
                    .segmentBytes(64 << 10)
                    .maxBytes(512 << 10)
                    .changeRetentionBytes(changeRetentionBytes));
  }

  private Path file() {
    return folder.resolve("db");
  }

  private Database open(long changeRetentionBytes) {
    return Database.open(file(), options(changeRetentionBytes));
  }

  private static byte[] bytes(String s) {
    return s.getBytes(StandardCharsets.UTF_8);
  }

  private static List<String> all(FileChanges changes) {
    List<String> all = new ArrayList<>();
    ChangeBatch batch;
    while ((batch = changes.poll()) != null) {
      all.add(text(batch));
    }
    return all;
  }

  private static String text(ChangeBatch batch) {
    StringBuilder s = new StringBuilder();
    for (Change c : batch.changes()) {
      s.append(c);
      if (c.kind() == Change.Kind.PUT) {
        byte[] value = c.valueBytes();
        s.append(' ').append(Arrays.hashCode(value));
      }
      s.append("; ");
    }
    return s.append(batch.position()).toString();
  }

  @Test
  void theLastCommitOfADatabaseThatIsOpen() {
    try (Database db = open(8 << 20)) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      db.run(tx -> t.put(tx, bytes("before"), bytes("0")));
      try (FileChanges changes = FileChanges.last(file())) {
        assertNull(changes.poll());
        for (int i = 0; i < 3; i++) {
          byte[] key = bytes("k" + i);
          db.run(tx -> t.put(tx, key, bytes("v")));
          ChangeBatch batch = changes.poll();
          assertNotNull(batch, "the commit was acknowledged");
          assertArrayEquals(key, batch.changes().getFirst().keyBytes());
          assertNull(changes.poll());
        }
        byte[] large = new byte[200_000];
        new Random(1).nextBytes(large);
        db.run(tx -> t.put(tx, bytes("large"), large));
        ChangeBatch batch = changes.poll();
        assertNotNull(batch);
        assertArrayEquals(large, batch.changes().getFirst().valueBytes());
      }
    }
  }

  /** An interrupt closes channels; they are reopened, including the one for syncs. */
  @Test
  void interruptedThreadsContinue() {
    try (Database db = open(8 << 20)) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      try (FileChanges changes = FileChanges.last(file())) {
        for (int i = 0; i < 4; i++) {
          byte[] key = bytes("k" + i);
          db.run(tx -> t.put(tx, key, bytes("v")));
          if (i % 2 == 0) {
            Thread.currentThread().interrupt();
          }
          ChangeBatch batch = changes.poll();
          assertEquals(i % 2 == 0, Thread.interrupted(), "the interrupt flag is preserved");
          assertArrayEquals(key, there(batch).changes().getFirst().keyBytes());
        }
      }
    }
  }

  @Test
  void sameBatchesAsFromTheDatabase() {
    List<String> within = new ArrayList<>();
    ChangePosition from;
    try (Database db = open(8 << 20)) {
      from = db.changesPosition();
      try (Changes changes = db.changes(from)) {
        Table<byte[], byte[]> t = db.table(BYTES).bytes();
        for (int i = 0; i < 500; i++) {
          byte[] key = bytes("k" + i % 90);
          byte[] value = new byte[i * 37 % 3000];
          db.run(tx -> t.put(tx, key, value));
          if (i % 7 == 0) {
            db.run(tx -> t.delete(tx, key));
          }
          if (i % 100 == 99) {
            db.renameTable(i == 99 ? "b" : "b" + (i - 100), "b" + i);
            db.checkpoint();
          }
        }
        db.dropTable("b499");
        ChangeBatch batch;
        while ((batch = changes.poll(Duration.ZERO)) != null) {
          within.add(text(batch));
        }
      }
      try (FileChanges changes = FileChanges.from(file(), from)) {
        assertEquals(within, all(changes), "in use");
      }
    }
    try (FileChanges changes = FileChanges.from(file(), from)) {
      assertEquals(within, all(changes), "closed");
      ChangePosition end = changes.position();
      try (Database db = open(8 << 20)) {
        Table<byte[], byte[]> t = db.table(BYTES).bytes();
        db.run(tx -> t.put(tx, bytes("after"), bytes("1")));
        List<String> more = all(changes);
        assertEquals(2, more.size(), "created, and put: " + more);
        try (Changes inside = db.changes(end)) {
          assertEquals(more.getFirst(), text(there(inside.poll(Duration.ZERO))));
        }
      }
    }
    try (FileChanges changes = FileChanges.first(file())) {
      assertTrue(all(changes).size() >= 2);
    }
  }

  private static ChangeBatch there(@Nullable ChangeBatch b) {
    assertNotNull(b);
    return b;
  }

  @Test
  void unsupportedFilesAreRefused() {
    assertThrows(IncompatibleFormatException.class, () -> FileChanges.first(file()));
    try (Database db = open(0)) {
      db.table(BYTES);
      InvalidUseException e =
          assertThrows(InvalidUseException.class, () -> FileChanges.first(file()));
      assertTrue(e.getMessage().contains("LogOptions.changeRetentionBytes"), e.getMessage());
    }
    ChangePosition from;
    try (Database db = open(8 << 20)) {
      from = db.changesPosition();
    }
    try (FileChanges changes = FileChanges.from(file(), from)) {
      try (Database db = open(0)) {
        Table<byte[], byte[]> t = db.table(BYTES).bytes();
        db.run(tx -> t.put(tx, bytes("a"), bytes("1")));
        assertThrows(ChangesLostException.class, changes::poll);
      }
    }
    assertThrows(InvalidUseException.class, () -> FileChanges.from(file(), from));
  }

  @Test
  void lagBeyondTheRetentionIsReported() {
    try (Database db = open(128 << 10)) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      try (FileChanges changes = FileChanges.last(file())) {
        for (int i = 0; i < 3000; i++) {
          byte[] key = bytes("k" + i);
          db.run(tx -> t.put(tx, key, new byte[2000]));
        }
        db.checkpoint();
        assertThrows(ChangesLostException.class, () -> all(changes));
      }
    }
  }

  /** One follower reads all the time: while the database is in use, closed and reopened. */
  @Test
  void acrossClosesAndOpenings() throws Exception {
    try (Database db = open(8 << 20)) {
      db.table(BYTES);
    }
    int commits = 600;
    Thread writer =
        new Thread(
            () -> {
              for (int i = 0; i < commits; ) {
                try (Database db = open(8 << 20)) {
                  Table<byte[], byte[]> t = db.table(BYTES).bytes();
                  for (int end = i + 100; i < end; i++) {
                    byte[] key = bytes("k" + i);
                    db.run(tx -> t.put(tx, key, new byte[number(key) % 7 * 500]));
                    if (i % 70 == 69) {
                      db.checkpoint();
                    }
                  }
                }
              }
            });
    try (FileChanges changes = FileChanges.last(file())) {
      writer.start();
      for (int n = 0; n < commits; ) {
        ChangeBatch batch = changes.poll();
        if (batch == null) {
          Thread.sleep(1);
          continue;
        }
        assertEquals(1, batch.changes().size());
        Change c = batch.changes().getFirst();
        assertEquals("k" + n, new String(c.keyBytes(), StandardCharsets.UTF_8));
        byte[] value = c.valueBytes();
        assertNotNull(value);
        assertEquals(n % 7 * 500, value.length);
        n++;
      }
      writer.join();
      assertNull(changes.poll());
    }
  }

  private static int number(byte[] key) {
    return Integer.parseInt(new String(key, 1, key.length - 1, StandardCharsets.UTF_8));
  }

  /** Segments are reused while read: the follower gets the changes or an error. */
  @Tag("slow")
  @Test
  void duringWrites() throws Exception {
    AtomicBoolean done = new AtomicBoolean();
    AtomicLong written = new AtomicLong();
    try (Database db = open(256 << 10)) {
      Table<byte[], byte[]> t = db.table(BYTES).bytes();
      Thread writer =
          new Thread(
              () -> {
                Random random = new Random(7);
                for (long i = 0; !done.get(); i++) {
                  byte[] value = new byte[8 + random.nextInt(3000)];
                  ByteBuffer.wrap(value).putLong(i);
                  db.run(tx -> t.put(tx, bytes("counter"), value));
                  written.set(i);
                }
              });
      writer.start();
      try {
        long told = 0;
        int lost = 0;
        while (told < COMMITS) {
          try (FileChanges changes = FileChanges.last(file())) {
            long last = -1;
            for (int polls = 0; polls < 2000 && told < COMMITS; polls++) {
              ChangeBatch batch = changes.poll();
              if (batch == null) {
                Thread.yield();
                continue;
              }
              byte[] value = batch.changes().getFirst().valueBytes();
              assertNotNull(value);
              long n = ByteBuffer.wrap(value).getLong();
              assertTrue(last < 0 || n == last + 1, "after " + last + " came " + n);
              last = n;
              told++;
              if (told % 400 == 399) {
                long slow = written.get() + 1500;
                while (written.get() < slow) {
                  Thread.sleep(1); // allows segments to be reused
                }
              }
            }
          } catch (ChangesLostException e) {
            lost++;
          }
        }
        assertTrue(lost > 0, "the follower never fell behind");
      } finally {
        done.set(true);
        writer.join();
      }
    }
  }
}
