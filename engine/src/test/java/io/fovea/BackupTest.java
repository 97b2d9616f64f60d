package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.error.CorruptionException;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageException;
import io.fovea.io.BlockDevice;
import io.fovea.io.IoBatch;
import io.fovea.io.IoStats;
import io.fovea.io.MemoryDevice;
import io.fovea.io.Storage;
import io.fovea.memory.Mem;
import io.fovea.schema.TableSpec;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** A backup is a consistent state of the database under any concurrent operation, or it fails. */
@Tag("slow")
class BackupTest {
  private static final int WRITERS = 3;

  /** A pool smaller than the data, and a log that is checkpointed constantly. */
  private static final Options SMALL =
      Options.defaults()
          .bufferBytes(4 << 20)
          .log(
              log ->
                  log.bufferBytes(256 << 10)
                      .segmentBytes(256 << 10)
                      .maxBytes(2 << 20)
                      .checkpointInterval(Duration.ofMillis(20)));

  @TempDir Path dir;

  private static void checkCopy(Path file, Options options, long[] least, long[] most) {
    FileReport report = FileReport.verify(file, options);
    assertEquals(List.of(), report.problems());
    try (Database copy = Database.open(file, options.create(false))) {
      BackupLoad.check(copy, WRITERS, least, most);
    }
    assertEquals(List.of(), FileReport.verify(file, options).problems());
  }

  private static List<String> names(Path directory) throws IOException {
    if (!Files.exists(directory)) {
      return List.of();
    }
    try (Stream<Path> all = Files.list(directory)) {
      return all.map(p -> p.getFileName().toString()).sorted().toList();
    }
  }

  @ParameterizedTest
  @CsvSource({"SYNC, 1, 4096", "ASYNC, 2, 4096", "SYNC, 3, 16384"})
  void underLoad(Durability durability, long seed, int pageSize) throws IOException {
    Options options = SMALL.durability(durability).device(dev -> dev.pageSize(pageSize));
    if (pageSize > 4096) {
      options = options.bufferBytes(8 << 20);
    }
    try (Database db = Database.open(dir.resolve("db"), options);
        BackupLoad load = new BackupLoad(db, WRITERS, seed).start()) {
      load.awaitMore(400);
      for (int i = 0; i < 3; i++) {
        Path to = dir.resolve("copy" + i);
        long[] least = load.acknowledged();
        BackupReport report = db.backup(to);
        long[] most = load.acknowledged();
        assertEquals(List.of("db", "db.log", "db.manifest"), names(to));
        assertEquals(Files.size(to.resolve("db")), report.dataBytes());
        assertEquals(Files.size(to.resolve("db.log")), report.logBytes());
        checkCopy(to.resolve("db"), options, least, most);
        load.awaitMore(300);
      }
    }
  }

  @Test
  void whileTheSchemaChanges() throws Exception {
    Options options = SMALL.durability(Durability.SYNC);
    try (Database db = Database.open(dir.resolve("db"), options);
        BackupLoad load = new BackupLoad(db, WRITERS, 4).start()) {
      AtomicInteger done = new AtomicInteger();
      Thread schema =
          new Thread(
              () -> {
                for (int i = 0; done.get() == 0; i++) {
                  Table<byte[], byte[]> t = db.table(TableSpec.bytes("extra" + i % 3, 20)).bytes();
                  int n = i;
                  db.run(
                      tx -> {
                        for (int k = 0; k < 50; k++) {
                          byte[] key = ("k" + k).getBytes(StandardCharsets.UTF_8);
                          t.put(tx, key, new byte[n % 2 == 0 ? 500 : 9000]);
                        }
                      });
                  db.dropTable("extra" + (i + 1) % 3);
                }
              });
      schema.start();
      try {
        for (int i = 0; i < 4; i++) {
          load.awaitMore(150);
          Path to = dir.resolve("copy" + i);
          long[] least = load.acknowledged();
          db.backup(to);
          checkCopy(to.resolve("db"), options, least, load.acknowledged());
        }
      } finally {
        done.set(1);
        schema.join();
      }
    }
  }

  @Test
  void ofABackup() throws IOException {
    Options options = SMALL.durability(Durability.SYNC);
    Path file = dir.resolve("db");
    for (int generation = 0; generation < 4; generation++) {
      Path to = dir.resolve("g" + generation);
      long[] least;
      long[] most;
      try (Database db = Database.open(file, options);
          BackupLoad load = new BackupLoad(db, WRITERS, generation).start()) {
        load.awaitMore(200);
        least = load.acknowledged();
        db.backup(to, BackupOptions.defaults().bytesPerSecond(64 << 20));
        most = load.acknowledged();
      }
      file = to.resolve("db");
      checkCopy(file, options, least, most);
    }
  }

  @Test
  void byTar() throws IOException, InterruptedException {
    Options options = SMALL.durability(Durability.ASYNC);
    Path tar = dir.resolve("copy.tar");
    long[] least;
    long[] most;
    try (Database db = Database.open(dir.resolve("db"), options);
        BackupLoad load = new BackupLoad(db, WRITERS, 5).start();
        OutputStream out = Files.newOutputStream(tar)) {
      load.awaitMore(300);
      least = load.acknowledged();
      db.backup(out);
      most = load.acknowledged();
      out.write(new byte[0]); // throws if closed
    }
    Path to = Files.createDirectory(dir.resolve("to"));
    untar(tar, to);
    assertEquals(List.of("db", "db.log", "db.manifest"), names(to));
    checkCopy(to.resolve("db"), options, least, most);
  }

  /** Unpacks with the machine's tar, or here if there is none. */
  private static void untar(Path tar, Path to) throws IOException, InterruptedException {
    try {
      Process p =
          new ProcessBuilder("tar", "-xf", tar.toString(), "-C", to.toString()).inheritIO().start();
      assertEquals(0, p.waitFor());
    } catch (IOException e) {
      byte[] all = Files.readAllBytes(tar);
      for (int at = 0; all[at] != 0; ) {
        String name = new String(all, at, 100, StandardCharsets.US_ASCII).split("\0")[0];
        int size = Integer.parseInt(new String(all, at + 124, 11, StandardCharsets.US_ASCII), 8);
        Files.write(to.resolve(name), java.util.Arrays.copyOfRange(all, at + 512, at + 512 + size));
        at += 512 + (size + 511 & ~511);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Durability.class,
      names = {"NONE", "SYNC"})
  void inMemoryAndWithoutALog(Durability kind) throws IOException {
    Options options = SMALL.durability(Durability.NONE);
    boolean memory = kind == Durability.SYNC;
    try (Database db =
            memory
                ? Database.inMemory(options.name("some/where"))
                : Database.open(dir.resolve("db"), options);
        BackupLoad load = new BackupLoad(db, WRITERS, 6).start()) {
      load.awaitMore(500);
      long[] least = load.acknowledged();
      BackupReport report = db.backup(dir.resolve("copy"));
      long[] most = load.acknowledged();
      assertEquals(0, report.logBytes());
      String name = memory ? "where" : "db";
      assertEquals(List.of(name, name + ".manifest"), names(dir.resolve("copy")));
      checkCopy(dir.resolve("copy").resolve(name), options, least, most);
      load.awaitMore(50);
    }
  }

  @Test
  void copyMayBeOpenedWithAnotherDurability() {
    long[] none = new long[WRITERS];
    long[] all = new long[WRITERS];
    java.util.Arrays.fill(all, Long.MAX_VALUE - 1);
    Path file = dir.resolve("db");
    try (Database db = Database.open(file, SMALL.durability(Durability.SYNC))) {
      try (BackupLoad load = new BackupLoad(db, WRITERS, 7).start()) {
        load.awaitMore(200);
        db.backup(dir.resolve("a"));
      }
    }
    checkCopy(dir.resolve("a").resolve("db"), SMALL.durability(Durability.NONE), none, all);
    checkCopy(dir.resolve("a").resolve("db"), SMALL.durability(Durability.ASYNC), none, all);
  }

  @Test
  void ofAnUnusedDatabase() {
    Path file = dir.resolve("db");
    for (Durability d : Durability.values()) {
      Path to = dir.resolve("copy" + d);
      try (Database db = Database.open(file, SMALL.durability(d))) {
        db.backup(to);
      }
      assertEquals(List.of(), FileReport.verify(to.resolve("db"), SMALL).problems());
      try (Database copy = Database.open(to.resolve("db"), SMALL.durability(d))) {
        assertEquals(List.of(), copy.tables());
      }
    }
  }

  @Test
  void nothingIsOverwritten() throws IOException {
    try (Database db = Database.open(dir.resolve("db"), SMALL.durability(Durability.SYNC))) {
      Path to = Files.createDirectory(dir.resolve("to"));
      for (String name :
          List.of("db", "db.log", "db.dwb", "db.manifest", "db.pages", "db.part", "db.log.part")) {
        Files.writeString(to.resolve(name), "mine");
        assertThrows(InvalidUseException.class, () -> db.backup(to));
        assertEquals(List.of(name), names(to));
        assertEquals("mine", Files.readString(to.resolve(name)));
        Files.delete(to.resolve(name));
      }
      assertThrows(InvalidUseException.class, () -> db.backup(dir));
      Path file = Files.writeString(dir.resolve("file"), "");
      assertThrows(InvalidUseException.class, () -> db.backup(file));
      db.backup(to);
      assertThrows(InvalidUseException.class, () -> db.backup(to));
    }
  }

  /** A stream that is full after a number of bytes. */
  private static final class Full extends OutputStream {
    private long left;

    Full(long left) {
      this.left = left;
    }

    @Override
    public void write(int b) throws IOException {
      write(new byte[1], 0, 1);
    }

    @Override
    public void write(byte[] b, int off, int len) throws IOException {
      left -= len;
      if (left < 0) {
        throw new IOException("No space left on device");
      }
    }
  }

  @Test
  void aFullTargetFailsOnlyTheBackup() {
    try (Database db = Database.open(dir.resolve("db"), SMALL.durability(Durability.SYNC));
        BackupLoad load = new BackupLoad(db, WRITERS, 8).start()) {
      load.awaitMore(200);
      for (long bytes : new long[] {0, 512, 5000, 100_000, 300_000}) {
        assertThrows(StorageException.class, () -> db.backup(new Full(bytes)));
        load.awaitMore(20);
      }
      long logBytes = 0;
      for (int i = 0; i < 5; i++) {
        load.awaitMore(600);
        long now = dir.resolve("db.log").toFile().length();
        assertTrue(i == 0 || now <= Math.max(logBytes, 8 << 20), "no segment is pinned: " + now);
        logBytes = now;
      }
    }
  }

  @Test
  void closingEndsABackup() throws Exception {
    Database db = Database.open(dir.resolve("db"), SMALL.durability(Durability.SYNC));
    try (BackupLoad load = new BackupLoad(db, WRITERS, 9).start()) {
      load.awaitMore(300);
    }
    Path to = dir.resolve("to");
    Thread[] closer = new Thread[1];
    OutputStream slow =
        new ByteArrayOutputStream() {
          @Override
          public synchronized void write(byte[] b, int off, int len) {
            super.write(b, off, len);
            if (closer[0] == null) {
              closer[0] = new Thread(db::close);
              closer[0].start();
              while (closer[0].isAlive()) {
                Thread.onSpinWait();
              }
            }
          }
        };
    assertThrows(DatabaseClosedException.class, () -> db.backup(slow));
    closer[0].join();
    assertThrows(DatabaseClosedException.class, () -> db.backup(to));
    assertEquals(List.of(), names(to));
    assertEquals(List.of(), FileReport.verify(dir.resolve("db"), SMALL).problems());
  }

  @Test
  void interruptsArePreserved() {
    try (Database db = Database.open(dir.resolve("db"), SMALL.durability(Durability.SYNC))) {
      Thread.currentThread().interrupt();
      db.backup(dir.resolve("to"), BackupOptions.defaults().bytesPerSecond(1 << 20));
      assertTrue(Thread.interrupted());
      Thread.currentThread().interrupt();
      db.backup(dir.resolve("to2"));
      assertTrue(Thread.interrupted());
      db.run(tx -> {});
    }
    assertEquals(List.of(), FileReport.verify(dir.resolve("to").resolve("db"), SMALL).problems());
  }

  @Test
  void damageIsNotCopied() throws IOException {
    Path file = dir.resolve("db");
    try (Database db = Database.open(file, SMALL.durability(Durability.SYNC))) {
      try (BackupLoad load = new BackupLoad(db, WRITERS, 10).start()) {
        load.awaitMore(1000);
      }
    }
    long pages = Files.size(file) / 4096;
    try (Database db = Database.open(file, SMALL.durability(Durability.SYNC));
        RandomAccessFile raw = new RandomAccessFile(file.toFile(), "rw")) {
      int found = 0;
      for (int i = 0; i < 12 && found < 2; i++) {
        long pid = 3 + (pages - 3) * i / 12;
        raw.seek(pid * 4096 + 100);
        int b = raw.read();
        raw.seek(pid * 4096 + 100);
        raw.write(b ^ 1);
        Path to = dir.resolve("to" + pid);
        try {
          db.backup(to);
          // The page was in memory or above the high-water mark: the copy is intact.
          assertEquals(List.of(), FileReport.verify(to.resolve("db"), SMALL).problems());
        } catch (CorruptionException e) {
          found++;
          assertEquals(pid, e.pid());
          assertEquals(List.of(), names(to));
        }
        raw.seek(pid * 4096 + 100);
        raw.write(b);
      }
      assertTrue(found > 0);
    }
  }

  /** Files in memory; the victim thread sometimes reads torn pages. */
  private static final class Tearing implements Storage {
    private final Map<String, MemoryDevice> files = new ConcurrentHashMap<>();
    final AtomicInteger torn = new AtomicInteger();

    volatile Thread victim = new Thread();

    @Override
    public BlockDevice open(String suffix) {
      MemoryDevice file = files.computeIfAbsent(suffix, s -> new MemoryDevice());
      return new Device(file, suffix.equals(DATA));
    }

    @Override
    public boolean exists(String suffix) {
      return files.containsKey(suffix);
    }

    @Override
    public void delete(String suffix) {
      files.remove(suffix);
    }

    @Override
    public String name() {
      return "torn";
    }

    private final class Device implements BlockDevice {
      private final MemoryDevice file;
      private final boolean data;
      private final Random random = new Random(11);

      Device(MemoryDevice file, boolean data) {
        this.file = file;
        this.data = data;
      }

      @Override
      public int blockSize() {
        return file.blockSize();
      }

      @Override
      public long size() {
        return file.size();
      }

      @Override
      public void read(long offset, MemorySegment seg, long segOff, int len) {
        file.read(offset, seg, segOff, len);
        if (data && Thread.currentThread() == victim) {
          for (int at = 0; at < len; at += 4096) {
            if (random.nextInt(3) == 0) {
              torn.incrementAndGet();
              int from = 512 * (1 + random.nextInt(7));
              Mem.zero(seg, segOff + at + from, 512);
            }
          }
        }
      }

      @Override
      public void write(long offset, MemorySegment seg, long segOff, int len) {
        file.write(offset, seg, segOff, len);
      }

      @Override
      public void submit(IoBatch batch) {
        file.submit(batch);
      }

      @Override
      public void sync() {
        file.sync();
      }

      @Override
      public void resize(long bytes) {
        file.resize(bytes);
      }

      @Override
      public String kind() {
        return "torn";
      }

      @Override
      public IoStats stats() {
        return file.stats();
      }

      @Override
      public void close() {}
    }
  }

  @Test
  void tornPagesAreReadAgain() throws IOException {
    Options options = SMALL.durability(Durability.SYNC);
    Tearing storage = new Tearing();
    try (Database db = Database.open(storage, options)) {
      BackupLoad load = new BackupLoad(db, WRITERS, 12).start();
      try (load) {
        load.awaitMore(300);
        long[] least = load.acknowledged();
        storage.victim = Thread.currentThread();
        BackupReport report = db.backup(dir.resolve("to"));
        storage.victim = new Thread();
        assertTrue(storage.torn.get() > 0);
        assertTrue(report.pagesReread() > 0);
        checkCopy(dir.resolve("to").resolve("torn"), options, least, load.acknowledged());
      }
    }
    assertFalse(names(dir.resolve("to")).isEmpty());
  }
}
