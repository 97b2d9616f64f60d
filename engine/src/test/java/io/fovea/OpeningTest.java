package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.bindings.Errno;
import io.fovea.config.Durability;
import io.fovea.config.TimestampStore;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.PoolTooSmallException;
import io.fovea.error.StorageException;
import io.fovea.io.BlockDevice;
import io.fovea.io.IoOp;
import io.fovea.io.Storage;
import io.fovea.schema.TableSpec;
import io.fovea.store.HostResources;
import io.fovea.support.Sample;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.support.SimStorage;
import io.fovea.support.ThreadStarts;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A refused opening either creates nothing or removes what it has created. */
class OpeningTest {
  private static final long MIB = 1 << 20;

  @TempDir Path folder;

  private static Options small() {
    return Options.defaults().bufferBytes(4 * MIB).memory(mem -> mem.timestampBytes(MIB));
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> all = Files.list(folder)) {
      return all.toList();
    }
  }

  @Test
  void openingsWithInvalidOptionsLeaveNoFiles() throws IOException {
    Map<String, Options> wrong =
        Map.of(
            "log too small", small().log(log -> log.maxBytes(1 << 20).segmentBytes(1 << 20)),
            "segment too small",
                small().log(log -> log.segmentBytes(64 << 10).bufferBytes(4 << 20)),
            "log's buffer too small",
                small().device(dev -> dev.pageSize(65536)).log(log -> log.bufferBytes(64 << 10)),
            "buffer too small", small().bufferBytes(100_000),
            "buffer too small for timestamps",
                small()
                    .bufferBytes(420_000)
                    .experiments(
                        exp -> exp.timestamps(TimestampStore.DISK).timestampsInBuffer(true)),
            "buffer too large", small().bufferBytes(1L << 50),
            "timestamps too large", small().memory(mem -> mem.timestampBytes(1L << 50)));
    for (Map.Entry<String, Options> e : wrong.entrySet()) {
      assertThrows(
          FoveaException.class,
          () -> Database.open(folder.resolve("db"), e.getValue()),
          e.getKey());
      assertEquals(List.of(), files(), e.getKey());
    }
    Database.open(folder.resolve("db"), small()).close();
  }

  /**
   * Read n of an opening fails, for every n, after closes, crashes and checkpoints, so that either
   * superblock may be the newer one. Every successful opening finds everything; a failed one says
   * why, and a retry succeeds.
   */
  @Tag("slow")
  @Tag("slow")
  @ParameterizedTest
  @EnumSource
  void aFailedReadDoesNotRevealAnOlderState(Durability durability) {
    Options options =
        small()
            .durability(durability)
            .log(log -> log.segmentBytes(64 << 10).bufferBytes(64 << 10).maxBytes(256 << 10));
    TableSpec spec = TableSpec.bytes("t", 8);
    SimDisk disk = new SimDisk(5);
    int refused = 0;
    Sample sample = Sample.oneOf(3);
    for (int round = 0; round < 4; round++) {
      byte[] key = {(byte) round};
      Database db = SimDatabase.open(new SimStorage(disk), options);
      Table<byte[], byte[]> t = db.table(spec).bytes();
      db.run(tx -> t.put(tx, key, new byte[100]));
      if (round % 2 == 1) {
        db.checkpoint();
      }
      SimDisk before;
      if (round % 3 == 2 && durability == Durability.SYNC) {
        before = disk.crash(SimCrash.LOSE_ALL);
        db.abandon();
      } else {
        db.close();
        before = disk.copy();
      }
      disk = before.copy();
      boolean hit = true;
      for (long n = 1 + sample.first(); hit; n += sample.stride()) {
        SimDisk copy = before.copy();
        copy.fail(SimFault.once(n).of(IoOp.READ));
        Database opened = null;
        try {
          opened = SimDatabase.open(new SimStorage(copy), options);
          hasRecords(opened, spec, round + 1, n);
          opened.close();
        } catch (StorageException e) {
          refused++;
          if (opened != null) {
            opened.abandon();
          }
          // A copy without a log that was marked in use and not closed can't be opened.
          if (opened == null || durability != Durability.NONE) {
            copy.heal();
            try (Database again = SimDatabase.open(new SimStorage(copy), options)) {
              hasRecords(again, spec, round + 1, n);
            }
          }
        }
        hit = copy.faultsHit() > 0;
      }
    }
    Sample.requireMet(refused, 2, "refused");
  }

  private static void hasRecords(Database db, TableSpec spec, int records, long fault) {
    int[] found = {0};
    Table<byte[], byte[]> t = db.table(spec).bytes();
    db.run(
        TxOptions.forReading(),
        tx -> {
          found[0] = 0;
          try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
            while (c.next()) {
              found[0]++;
            }
          }
        });
    assertEquals(records, found[0], () -> "records, although read " + fault + " had failed");
  }

  /** Operation n of creating a database fails, for every n. */
  @ParameterizedTest
  @EnumSource
  void failedCreationsLeaveNoFiles(Durability durability) {
    Options options =
        small().durability(durability).log(log -> log.segmentBytes(1 << 20).bufferBytes(1 << 20));
    int failed = 0;
    for (long n = 1; ; n++) {
      SimDisk disk = new SimDisk(n);
      disk.fail(SimFault.once(n));
      Database db;
      try {
        db = SimDatabase.open(new SimStorage(disk), options);
      } catch (FoveaException e) {
        assertEquals(List.of(), disk.names(), "operation " + n + ": " + e);
        failed++;
        continue;
      }
      if (disk.faultsHit() == 0) {
        disk.heal();
        db.close();
        break;
      }
      SimDatabase.abandon(db);
    }
    assertTrue(failed > 0);
  }

  /** Call n of the storage that opens, finds or deletes a file fails, for every n. */
  @ParameterizedTest
  @EnumSource
  void failedFileOperationsLeaveNoFiles(Durability durability) {
    Options options =
        small().durability(durability).log(log -> log.segmentBytes(1 << 20).bufferBytes(1 << 20));
    int failed = 0;
    for (int n = 1; ; n++) {
      SimDisk disk = new SimDisk(n);
      RefusingStorage storage = new RefusingStorage(new SimStorage(disk), n);
      Database db;
      try {
        db = SimDatabase.open(storage, options);
      } catch (FoveaException e) {
        failed++;
        assertEquals(List.of(), disk.names(), "call " + n + ": " + e);
        SimDatabase.open(new SimStorage(disk), options).close();
        continue;
      }
      if (storage.calls < n) {
        db.close();
        break;
      }
      SimDatabase.abandon(db); // may be the failing call
    }
    assertTrue(failed > 2, failed + " failed");
  }

  private static final class RefusingStorage implements Storage {
    private final Storage below;
    private final int refused;
    private int calls;

    RefusingStorage(Storage below, int refused) {
      this.below = below;
      this.refused = refused;
    }

    private void call(String suffix) {
      if (++calls == refused) {
        throw new StorageException("open", name() + suffix, -1, Errno.EMFILE, "EMFILE");
      }
    }

    @Override
    public BlockDevice open(String suffix) {
      call(suffix);
      return below.open(suffix);
    }

    @Override
    public boolean exists(String suffix) {
      call(suffix);
      return below.exists(suffix);
    }

    @Override
    public void delete(String suffix) {
      call(suffix);
      below.delete(suffix);
    }

    @Override
    public String name() {
      return below.name();
    }
  }

  /** In its own process, since descriptors are shared within one. */
  @Tag("slow")
  @Test
  void creationWithoutDescriptorsLeavesNoFiles() throws IOException, InterruptedException {
    Path output = folder.resolve("output");
    Process child =
        new ProcessBuilder(
                "bash",
                "-c",
                "ulimit -n 400; exec \"$0\" \"$@\"",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                WithoutDescriptors.class.getName(),
                Files.createDirectory(folder.resolve("files")).toString())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    assertEquals(0, child.waitFor(), () -> read(output));
    assertTrue(read(output).contains(" and more are enough"), read(output));
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }

  /** Creates databases with few free descriptors, then with all. */
  static final class WithoutDescriptors {
    private WithoutDescriptors() {}

    public static void main(String[] args) throws IOException {
      Path folder = Path.of(args[0]);
      create(folder.resolve("warm"), 0); // loads classes, which needs descriptors
      System.getLogger("io.fovea").log(System.Logger.Level.INFO, "so does the first log message");
      Files.createDirectory(folder.resolve("directory"));
      try {
        Database.open(folder.resolve("directory/missing/db"), small()).close();
        throw new AssertionError("opened");
      } catch (StorageException e) {
        e.getMessage();
      }
      int enough = 0;
      for (int free = 0; free < 12; free++) {
        Path file = folder.resolve("db" + free);
        String failure = create(file, free);
        if (failure.isEmpty()) {
          enough++;
        } else {
          try (Stream<Path> all = Files.list(folder)) {
            List<Path> left =
                all.filter(
                        f -> f.getFileName().toString().startsWith(file.getFileName().toString()))
                    .toList();
            if (!left.isEmpty()) {
              throw new AssertionError(free + " free: " + failure + " left " + left);
            }
          }
        }
        create(file, -1);
      }
      System.out.println((12 - enough) + " and more are enough");
    }

    private static String create(Path file, int free) throws IOException {
      List<FileInputStream> taken = new ArrayList<>();
      try {
        while (free >= 0 && !file.endsWith("warm")) {
          taken.add(new FileInputStream("/dev/zero"));
        }
      } catch (IOException e) {
        for (int i = 0; i < free; i++) {
          taken.removeLast().close();
        }
      }
      try (Database db = Database.open(file, small())) {
        return db.isOpen() ? "" : "closed";
      } catch (StorageException e) {
        if (free < 0) {
          throw e;
        }
        return e.getMessage();
      } finally {
        for (FileInputStream in : taken) {
          in.close();
        }
      }
    }
  }

  @Test
  void existingFilesAreKept() throws IOException {
    Path path = folder.resolve("db");
    try (Database db = Database.open(path, small())) {
      db.table(TableSpec.bytes("t", 16));
    }
    assertThrows(
        IncompatibleFormatException.class,
        () -> Database.open(path, small().device(dev -> dev.pageSize(16384))));
    try (Database db = Database.open(path, small())) {
      assertEquals(List.of("t"), db.tables());
    }
    Path text = folder.resolve("text");
    byte[] content = "not a database".repeat(1000).getBytes();
    Files.write(text, content);
    assertThrows(IncompatibleFormatException.class, () -> Database.open(text, small()));
    assertArrayEquals(content, Files.readAllBytes(text));
  }

  /** Files next to a missing or renamed data file belong to others. */
  @ParameterizedTest
  @ValueSource(strings = {".log", ".dwb"})
  void filesNextToAMissingDataFileAreKept(String suffix) throws IOException {
    Path path = folder.resolve("db");
    Path beside = folder.resolve("db" + suffix);
    byte[] text = "2026-11-28 12:00:00 INFO an application's own log\n".repeat(2000).getBytes();
    Files.write(beside, text);
    for (Durability durability : Durability.values()) {
      refused(path, small().durability(durability), beside);
      assertArrayEquals(text, Files.readAllBytes(beside));
      assertEquals(List.of(beside), files());
    }
    Files.delete(beside);
    Database killed = Database.open(path, small());
    Table<byte[], byte[]> t = killed.table(TableSpec.bytes("t", 16)).bytes();
    killed.run(tx -> t.put(tx, new byte[] {1}, new byte[100]));
    killed.checkpoint(); // writes pages, and before that their copies
    killed.abandon();
    Path away = folder.resolve("away");
    Files.createDirectory(away);
    for (Path file : files()) {
      if (Files.isRegularFile(file) && !file.equals(beside)) {
        Files.move(file, away.resolve(file.getFileName()));
      }
    }
    byte[] content = Files.readAllBytes(beside);
    refused(path, small(), beside);
    Files.createFile(path); // as left by an incomplete opening, or a mount point
    Files.writeString(folder.resolve("db.lock"), "999999999\n");
    refused(path, small(), beside);
    assertArrayEquals(content, Files.readAllBytes(beside));
    Files.delete(path);
    for (String name : List.of("db", "db.log", "db.dwb")) {
      if (Files.exists(away.resolve(name))) {
        Files.move(away.resolve(name), folder.resolve(name));
      }
    }
    try (Database db = Database.open(path, small())) {
      assertEquals(1, db.table(TableSpec.bytes("t", 16)).count());
    }
    Files.delete(path); // closed, so its companion files are not needed
    Database.open(path, small()).close();
  }

  private static void refused(Path path, Options options, Path named) {
    IncompatibleFormatException e =
        assertThrows(IncompatibleFormatException.class, () -> Database.open(path, options));
    assertTrue(e.getMessage().contains(named.toString()), e.getMessage());
  }

  /** The double-write area of a closed database may belong to another by now. */
  @Test
  void doubleWriteAreaOfAnotherDatabaseIsKept() throws IOException {
    Path path = folder.resolve("db");
    Database.open(path, small()).close();
    Path other = folder.resolve("other");
    Database killed = Database.open(other, small());
    killed.table(TableSpec.bytes("t", 16));
    killed.checkpoint();
    killed.abandon();
    Path area = folder.resolve("db.dwb");
    byte[] content = Files.readAllBytes(folder.resolve("other.dwb"));
    Files.write(area, content);
    refused(path, small(), area);
    assertArrayEquals(content, Files.readAllBytes(area));
    Files.delete(area);
    Database.open(path, small()).close();
  }

  /** Each hard link is a name with its own log; a symbolic link is not. */
  @Test
  void aSecondNameIsRefusedForWriting() throws IOException {
    Path path = folder.resolve("db");
    Database.open(path, small()).close();
    for (String suffix : List.of("", ".log")) {
      Path link = folder.resolve("link" + suffix);
      Path file = folder.resolve("db" + suffix);
      Files.createLink(link, file);
      refused(path, small(), file);
      Database.open(path, small().readOnly(true)).close();
      Files.delete(link);
      Database.open(path, small()).close();
    }
    Path symbolic = Files.createSymbolicLink(folder.resolve("symbolic"), path);
    Database killed = Database.open(symbolic, small());
    Table<byte[], byte[]> t = killed.table(TableSpec.bytes("t", 16)).bytes();
    killed.run(tx -> t.put(tx, new byte[] {1}, new byte[100]));
    killed.abandon();
    try (Database db = Database.open(path, small())) {
      assertEquals(1, db.table(TableSpec.bytes("t", 16)).count());
    }
  }

  @ParameterizedTest
  @EnumSource
  void anEmptyFileIsNotADatabase(Durability durability) throws IOException {
    Path path = folder.resolve("db");
    Files.createFile(path);
    Options options = small().durability(durability);
    IncompatibleFormatException e =
        assertThrows(IncompatibleFormatException.class, () -> Database.open(path, options));
    assertTrue(e.getMessage().contains("delete the file"), e.getMessage());
    assertEquals(List.of(path), files());
    assertEquals(0, Files.size(path));
    Files.delete(path);
    Database.open(path, options).close();
  }

  /** A process that was killed while creating the file has left a marker. */
  @Test
  void anEmptyFileOfAnIncompleteCreationIsCreatedAgain() throws IOException {
    Path path = folder.resolve("db");
    Files.createFile(path);
    Files.writeString(folder.resolve("db.lock"), "999999999\n");
    Database.open(path, small()).close();
    Path other = folder.resolve("other");
    Files.createFile(other);
    Files.createFile(folder.resolve("other.log"));
    Database.open(other, small()).close();
  }

  /** The required size in the message suffices, and one byte less does not. */
  @ParameterizedTest
  @EnumSource
  void theMinimumBufferIsNamed(TimestampStore timestamps) {
    Options options =
        small()
            .experiments(exp -> exp.timestamps(timestamps))
            .memory(mem -> mem.timestampBytes(4 * MIB));
    long needed = 0;
    for (long bytes : new long[] {4096, 100_000, 300_000, 420_000}) {
      PoolTooSmallException e = null;
      try {
        Database.inMemory(options.bufferBytes(bytes)).close();
      } catch (PoolTooSmallException refused) {
        e = refused;
      }
      if (e != null) {
        assertEquals(bytes, e.bytesSpecified());
        assertTrue(e.bytesNeeded() > bytes, e.getMessage());
        assertTrue(needed == 0 || needed == e.bytesNeeded(), e.getMessage());
        needed = e.bytesNeeded();
      }
    }
    long least = needed;
    Database.inMemory(options.bufferBytes(least)).close();
    PoolTooSmallException e =
        assertThrows(
            PoolTooSmallException.class, () -> Database.inMemory(options.bufferBytes(least - 1)));
    assertEquals(least, e.bytesNeeded());
    assertEquals(least - 1, e.bytesSpecified());
  }

  /** With the JVM's default heap: half of a small container, otherwise a quarter. */
  @Test
  void defaultsFitAnyContainer() {
    for (long memory : List.of(64 * MIB, 200 * MIB, 512 * MIB, 1024 * MIB, 2048 * MIB, 1L << 40)) {
      Options o =
          Options.defaults()
              .bufferBytes(HostResources.defaultBytes(256 * MIB, memory))
              .memory(mem -> mem.timestampBytes(HostResources.defaultBytes(256 * MIB, memory)));
      o.toStoreConfig().checkMemory(memory, memory <= 256 * MIB ? memory / 2 : memory / 4);
    }
    assertEquals(256 * MIB, HostResources.defaultBytes(256 * MIB, Long.MAX_VALUE));
    assertEquals(25 * MIB, HostResources.defaultBytes(256 * MIB, 200 * MIB));
    assertEquals(HostResources.defaultBytes(256 * MIB), Options.defaults().bufferBytes());
    assertEquals(HostResources.defaultBytes(256 * MIB), MemoryOptions.defaults().timestampBytes());
  }

  /** If a thread cannot be started, none is, and the file can be opened afterwards. */
  @Test
  void aFailedThreadStartIsAStorageException() {
    Path file = folder.resolve("threads");
    Options o = Options.defaults().bufferBytes(8 * MIB);
    Database.open(file, o).close();
    Thread me = Thread.currentThread();
    for (int n = 1, refused = 1; refused > 0; n++) {
      int at = n;
      try (ThreadStarts starts =
          ThreadStarts.failing(name -> Thread.currentThread() == me, i -> i == at)) {
        try (Database db = Database.open(file, o)) {
          assertTrue(db.isOpen());
        } catch (StorageException e) {
          assertTrue(e.getMessage().contains("no memory for another thread"), e.getMessage());
        }
        refused = starts.failed();
      }
    }
    Database.open(file, o).close();
  }

  /** Buffer, timestamps and heap: any of them may exceed the memory. */
  @Test
  void timestampsCountAgainstTheMemoryOfTheMachine() {
    Options o =
        Options.defaults()
            .bufferBytes(600 * MIB)
            .memory(mem -> mem.timestampBytes(256 * MIB).sketchBytes(MIB));
    long enough = (600 + 256 + 1 + 128) * MIB;
    o.toStoreConfig().checkMemory(enough, 128 * MIB);
    for (Options more :
        List.of(
            o.bufferBytes(601 * MIB),
            o.memory(mem -> mem.timestampBytes(257 * MIB)),
            o.memory(mem -> mem.sketchBytes(2 * MIB)))) {
      InvalidUseException e =
          assertThrows(
              InvalidUseException.class, () -> more.toStoreConfig().checkMemory(enough, 128 * MIB));
      assertTrue(e.getMessage().contains("timestamps of"), e.getMessage());
    }
    assertThrows(InvalidUseException.class, () -> o.toStoreConfig().checkMemory(enough, 129 * MIB));
    assertThrows(
        InvalidUseException.class,
        () ->
            o.memory(mem -> mem.timestampBytes(1L << 60))
                .toStoreConfig()
                .checkMemory(enough, 128 * MIB));
    assertThrows(
        InvalidUseException.class, () -> o.toStoreConfig().checkMemory(enough, Long.MAX_VALUE));
  }
}
