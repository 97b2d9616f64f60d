package io.fovea.replication;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Options;
import io.fovea.error.InvalidUseException;
import io.fovea.replication.Replica.Experiments;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A replica and a log, without a consensus protocol. */
class ReplicaTest {
  private static final TableSpec WORDS = TableSpec.bytes("words", 32);
  private static final UUID CLIENT = new UUID(3, 4);

  @TempDir Path directory;

  /** Appends to a word; refuses "no", and throws an unchecked exception for "bug". */
  record Append(String more) implements Command {
    @Override
    public byte[] apply(CommandContext c) throws RefusedException {
      byte[] key = {1};
      byte[] old = c.table(WORDS).bytes().get(c.tx(), key);
      String now = (old == null ? "" : utf(old)) + more;
      c.table(WORDS).bytes().put(c.tx(), key, utf(now));
      if (more.equals("no")) {
        throw new RefusedException("It said no.");
      }
      if (more.equals("bug")) {
        throw new IllegalStateException("It has a bug.");
      }
      if (more.equals("long")) {
        return new byte[Replica.RESULT_BYTES_MAX + 1];
      }
      return utf(
          now + " " + c.index() + " " + c.clock().toEpochMilli() + " " + c.random().nextInt());
    }
  }

  private static byte[] utf(String s) {
    return s.getBytes(StandardCharsets.UTF_8);
  }

  private static String utf(byte[] b) {
    return new String(b, StandardCharsets.UTF_8);
  }

  private static final Commands COMMANDS =
      Commands.NONE.with("Append", Append.class, a -> utf(a.more), b -> new Append(utf(b)));

  private Map<Long, String> skips = Map.of();

  private Replica open(String name) throws IOException {
    return Replica.open(
        directory.resolve(name),
        Options.defaults().bufferBytes(16 << 20),
        COMMANDS,
        skips,
        Experiments.NONE);
  }

  private static byte[] entry(long sequence, long since, String more) {
    return Stamp.put(
        COMMANDS.entry(new RequestId(CLIENT, sequence, since), new Append(more)), 5000, 100, 0);
  }

  private static Outcome apply(Replica r, long index, byte[] entry) throws Exception {
    return r.apply(new Position(2, index), entry).toCompletableFuture().get(10, TimeUnit.SECONDS);
  }

  private static String word(Replica r) {
    return r.read(
        tx -> {
          byte[] b =
              tx.tables().contains(WORDS.name())
                  ? tx.table(WORDS).bytes().get(tx, new byte[] {1})
                  : null;
          return b == null ? "" : utf(b);
        });
  }

  @Test
  void entriesAreAppliedOnceAcrossRestart() throws Exception {
    byte[] first = entry(1, -1, "a");
    Outcome outcome;
    try (Replica r = open("r")) {
      assertEquals(Position.NONE, r.applied());
      outcome = apply(r, 0, first);
      assertTrue(utf(outcome.payload()).startsWith("a 0 5000 "), () -> utf(outcome.payload()));
      apply(r, 1, entry(2, 0, "b"));
      r.passed(new Position(3, 2));
      assertEquals(new Position(3, 2), r.applied());
    }
    try (Replica r = open("r")) {
      // The position of the other entry was only in memory: the log delivers it again.
      assertEquals(new Position(2, 1), r.applied());
      assertArrayEquals(outcome.payload(), apply(r, 0, first).payload(), "skipped by passed()");
      r.passed(new Position(3, 2));
      assertEquals(new Position(3, 2), r.checkpoint());
      assertEquals("ab", word(r));
    }
    try (Replica r = open("r")) {
      assertEquals(new Position(3, 2), r.applied());
      // A retry, as another entry.
      Outcome again = apply(r, 3, first);
      assertEquals(0, again.index());
      assertArrayEquals(outcome.payload(), again.payload());
      assertEquals("ab", word(r));
      assertEquals(1, r.counts()[1]);
    }
  }

  @Test
  void refusalChangesNothingAndIsRecorded() throws Exception {
    try (Replica r = open("r")) {
      apply(r, 0, entry(1, -1, "a"));
      Outcome no = apply(r, 1, entry(2, 0, "no"));
      assertEquals(Outcome.Kind.REFUSED, no.kind());
      assertEquals("It said no.", no.reason());
      assertEquals(no.reason(), apply(r, 2, entry(2, 0, "no")).reason());
      assertTrue(apply(r, 3, entry(3, 0, "long")).reason().contains("the limit is 1048576"));
      assertEquals("a", word(r));
      assertEquals(3, r.applied().index());
      assertTrue(apply(r, 4, entry(4, 0, "bug")).reason().contains("IllegalStateException"));
      assertEquals(4, r.applied().index());
      assertEquals("a", word(r));
    }
  }

  @Test
  void retryIsKnownWithinWindow() throws Exception {
    try (Replica r = open("r")) {
      long index = 0;
      byte[] old = entry(1, -1, "a");
      apply(r, index++, old);
      for (int i = 2; i <= 90; i++) {
        apply(r, index, entry(i, index - 1, ""));
        index++;
      }
      assertEquals(0, apply(r, index++, old).index());
      for (int i = 100; i <= 300; i++) {
        apply(r, index, entry(i, index - 1, ""));
        index++;
      }
      assertEquals(Outcome.Kind.EXPIRED, apply(r, index++, old).kind());
      assertEquals("a", word(r));
    }
  }

  @Test
  void sameEntriesGiveSameData() throws Exception {
    try (Replica a = open("a");
        Replica b = open("b")) {
      Random random = new Random(7);
      for (int i = 0; i < 300; i++) {
        byte[] e = entry(random.nextInt(250), i - 1L, random.nextInt(20) == 0 ? "no" : "x");
        assertArrayEquals(apply(a, i, e).toBytes(), apply(b, i, e).toBytes());
      }
      assertEquals(word(a), word(b));
    }
  }

  @Test
  void copyIsInstalledDuringReads() throws Exception {
    try (Replica from = open("from")) {
      for (int i = 0; i < 50; i++) {
        apply(from, i, entry(i, i - 1L, "x"));
      }
      try (Replica to = open("to");
          Copies copies = new Copies(from::copyTo)) {
        apply(to, 0, entry(0, -1, "x"));
        long id = copies.begin();
        Position at = to.takeIn(Copies.read(n -> copies.chunk(id, n), n -> {}));
        assertEquals(new Position(2, 49), at);
        assertEquals("x", word(to), "not installed yet");
        CompletableFuture<String> reading = new CompletableFuture<>();
        String during =
            to.read(
                tx -> {
                  if (!reading.isDone()) {
                    assertTrue(to.applied().index() == 0);
                    reading.complete("");
                  }
                  return utf(tx.table(WORDS).bytes().get(tx, new byte[] {1}));
                });
        assertEquals("x", during);
        assertTrue(to.use());
        assertEquals(at, to.applied());
        assertEquals(word(from), word(to));
        assertEquals(3, apply(to, 50, entry(3, 2, "x")).index(), "the copy includes the sessions");
        assertFalse(to.use(), "there is no copy any more");
      }
      assertEquals("two", Files.readString(directory.resolve("to/current")).trim());
      try (Replica to = open("to")) {
        assertEquals(50, to.applied().index());
      }
      assertFalse(Files.exists(directory.resolve("to/one")));
    }
  }

  private static Long sum(Replica r) {
    return r.digest(r.applied().index()).sum();
  }

  @Test
  void digestSurvivesRestartsAndCopies() throws Exception {
    Replica b = open("b");
    try (Replica a = open("a")) {
      assertEquals(0L, sum(a));
      for (int i = 0; i < 100; i++) {
        byte[] e = entry(i % 90, i - 1L, i % 7 == 0 ? "no" : i % 11 == 0 ? "bug" : "x");
        apply(a, i, e);
        apply(b, i, e);
        assertEquals(sum(a), sum(b));
        assertEquals(-1, b.digest(i).start());
        if (i % 10 == 0) {
          b.passed(new Position(2, i));
          b.checkpoint();
        } else if (i % 10 == 5) {
          b.close();
          b = open("b");
          assertEquals(sum(a), sum(b), "kept");
          assertNull(b.digest(i - 1).sum(), "forgotten");
        }
        assertEquals(a.digest(i).sum(), b.digest(i).sum());
      }
      assertNull(a.digest(100).sum(), "not applied");
      assertTrue(a.digest(50).sum() != null && !a.digest(50).sum().equals(sum(a)));
      try (Replica c = open("c");
          Copies copies = new Copies(a::copyTo)) {
        long id = copies.begin();
        c.takeIn(Copies.read(n -> copies.chunk(id, n), n -> {}));
        assertTrue(c.use());
        apply(a, 100, entry(100, 99, "y"));
        apply(c, 100, entry(100, 99, "y"));
        assertEquals(sum(a), sum(c));
      }
      // Digests that differ once differ forever, whatever is written.
      b.database()
          .run(tx -> tx.table(WORDS).bytes().put(tx, new byte[] {1}, utf("something else")));
      apply(b, 100, entry(100, 99, "y"));
      assertNotEquals(sum(a), sum(b));
      apply(a, 101, entry(101, 100, "no"));
      apply(b, 101, entry(101, 100, "no"));
      assertNotEquals(sum(a), sum(b));
    } finally {
      b.close();
    }
  }

  /** A database of an earlier version has no digest, and adopts that of another one. */
  @Test
  void adoptsDigest() throws Exception {
    try (Replica a = open("a")) {
      Replica b = open("b");
      for (int i = 0; i < 10; i++) {
        apply(a, i, entry(i, i - 1L, "x"));
        apply(b, i, entry(i, i - 1L, "x"));
      }
      b.database()
          .run(
              tx -> {
                var state = tx.table(TableSpec.bytes("fovea.replica", 16)).bytes();
                byte[] row = state.get(tx, utf("applied"));
                state.put(tx, utf("applied"), java.util.Arrays.copyOf(row, 24));
              });
      b.close();
      b = open("b");
      try {
        assertEquals(Replica.NO_DIGEST, b.digest(9).start());
        apply(b, 10, entry(10, 9, "x"));
        apply(a, 10, entry(10, 9, "x"));
        assertNotEquals(sum(a), sum(b));
        assertFalse(b.adopt(8, -1, 17), "it does not know this index");
        assertFalse(b.adopt(9, Replica.NO_DIGEST, 17));
        assertTrue(b.adopt(9, -1, a.digest(9).sum()));
        assertFalse(b.adopt(9, -1, 17), "it already has a digest");
        assertEquals(sum(a), sum(b));
        apply(b, 11, entry(11, 10, "x"));
        apply(a, 11, entry(11, 10, "x"));
        b.close();
        b = open("b");
        assertEquals(sum(a), sum(b));
        assertEquals(-1, b.digest(11).start());
      } finally {
        b.close();
      }
    }
  }

  @Test
  void suspendedReplicaAppliesNothing() throws Exception {
    try (Replica a = open("a");
        Replica b = open("b")) {
      for (int i = 0; i < 10; i++) {
        apply(a, i, entry(i, i - 1L, "x"));
        apply(b, i, entry(i, i - 1L, "x"));
      }
      assertEquals(9, b.suspend().index());
      CompletableFuture<Outcome> ten =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return apply(b, 10, entry(10, 9, "y"));
                } catch (Exception e) {
                  throw new java.util.concurrent.CompletionException(e);
                }
              });
      ByteArrayOutputStream copy = new ByteArrayOutputStream();
      a.copyTo(copy);
      b.takeIn(new ByteArrayInputStream(copy.toByteArray()));
      assertFalse(b.resume(10), "not far enough");
      assertFalse(ten.isDone());
      apply(a, 10, entry(10, 9, "y"));
      apply(a, 11, entry(11, 10, "y"));
      copy.reset();
      a.copyTo(copy);
      b.takeIn(new ByteArrayInputStream(copy.toByteArray()));
      assertTrue(b.resume(9));
      assertEquals(10, ten.get(10, TimeUnit.SECONDS).index(), "skipped by passed()");
      assertEquals(11, b.applied().index());
      assertEquals(word(a), word(b));
      assertEquals(sum(a), sum(b));

      // On shutdown waiting threads return, and nothing is applied.
      b.suspend();
      b.abandon();
      assertEquals(Outcome.Kind.EXPIRED, apply(b, 12, entry(12, 11, "z")).kind());
      assertEquals(11, b.applied().index());
    }
  }

  @Test
  void damagedCopyIsRefused() throws Exception {
    try (Replica from = open("from");
        Replica to = open("to")) {
      apply(from, 0, entry(0, -1, "x"));
      ByteArrayOutputStream copy = new ByteArrayOutputStream();
      from.copyTo(copy);
      byte[] bytes = copy.toByteArray();
      bytes[bytes.length / 2] ^= 1;
      bytes[4096 + 600] ^= 1;
      assertThrows(RuntimeException.class, () -> to.takeIn(new ByteArrayInputStream(bytes)));
      InputStream broken =
          Copies.read(
              n -> {
                throw new IOException("The network has failed.");
              },
              n -> {});
      assertThrows(Exception.class, () -> to.takeIn(broken));
      assertFalse(to.use());
      assertEquals(Position.NONE, to.applied());
    }
  }

  @Test
  void chunksAreRepeatable() throws Exception {
    byte[] all = new byte[3 * Copies.CHUNK_BYTES + 17];
    new Random(3).nextBytes(all);
    try (Copies copies =
        new Copies(
            out -> {
              try {
                out.write(all);
              } catch (IOException e) {
                throw new java.io.UncheckedIOException(e);
              }
            })) {
      long id = copies.begin();
      long[] asked = {0};
      InputStream in =
          Copies.read(
              n -> {
                // Every other answer is lost.
                if (asked[0]++ % 2 == 0) {
                  copies.chunk(id, n);
                }
                return copies.chunk(id, n);
              },
              n -> {});
      assertArrayEquals(all, in.readAllBytes());
      assertThrows(IOException.class, () -> copies.chunk(id, 17));
      assertThrows(IOException.class, () -> copies.chunk(id + 1, 0));
    }
  }

  @Test
  void wakesWaiters() throws Exception {
    try (Replica r = open("r")) {
      assertFalse(r.awaitApplied(0, Duration.ofMillis(1)));
      Thread waiter =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      r.awaitApplied(0, Duration.ofSeconds(60));
                    } catch (InterruptedException e) {
                      Thread.currentThread().interrupt();
                    }
                  });
      apply(r, 0, entry(0, -1, "x"));
      waiter.join();
      assertTrue(r.awaitApplied(0, Duration.ZERO));
    }
  }

  @Test
  void explainsWhatCannotBeApplied() throws Exception {
    byte[] newer = entry(0, -1, "x");
    newer[0] = 3;
    byte[] unknown =
        Stamp.put(Entry.encode(new RequestId(CLIENT, 1, 0), "Other", new byte[0]), 0, 1, 0);
    try (Replica r = open("r")) {
      Exception e = assertThrows(IllegalArgumentException.class, () -> apply(r, 0, newer));
      assertTrue(e.getMessage().contains("version 3"), e.getMessage());
      e = assertThrows(IllegalStateException.class, () -> apply(r, 0, unknown));
      assertTrue(e.getMessage().contains("\"Other\""), e.getMessage());
      assertNull(r.read(tx -> null));
    }
    assertThrows(IllegalArgumentException.class, () -> RequestId.parse("x"));
    Files.writeString(directory.resolve("r/current"), "three");
    assertThrows(InvalidUseException.class, () -> open("r"));
  }

  @Test
  void expiringTablesAreRefused() throws Exception {
    Commands expiring =
        Commands.NONE.with("Expire", Expire.class, x -> new byte[0], b -> new Expire());
    try (Replica r =
        Replica.open(
            directory.resolve("r"),
            Options.defaults().bufferBytes(16 << 20),
            expiring,
            Map.of(),
            Experiments.NONE)) {
      byte[] e = Stamp.put(expiring.entry(new RequestId(CLIENT, 1, 0), new Expire()), 0, 1, 0);
      Outcome outcome = apply(r, 0, e);
      assertEquals(Outcome.Kind.REFUSED, outcome.kind());
      assertTrue(outcome.reason().contains("can't be replicated"), outcome::reason);
    }
  }

  /** All exceptions that a command may throw. */
  record Throwing(String what) implements Command {
    @Override
    public byte[] apply(CommandContext c) throws RefusedException {
      var table = c.tx().table(WORDS).bytes();
      byte[] key = {9};
      table.put(c.tx(), key, key);
      switch (what) {
        case "key" -> table.put(c.tx(), new byte[5000], key);
        case "duplicate" -> table.insert(c.tx(), key, key);
        case "large" -> {
          for (int i = 0; i < 100_000; i++) {
            table.put(c.tx(), ByteBuffer.allocate(4).putInt(i).array(), new byte[60_000]);
          }
        }
        case "schema" -> c.tx().table(TableSpec.bytes(WORDS.name(), 3));
        case "state" -> throw new IllegalStateException("state");
        case "null" -> throw new NullPointerException("null");
        case "refused" -> throw new RefusedException("refused");
        case "rollback" -> c.tx().rollback();
        case "io" -> throw new java.io.UncheckedIOException(new IOException("io"));
        case "closed" -> throw new io.fovea.error.DatabaseClosedException("closed");
        case "error" -> throw new StackOverflowError();
        default -> throw new AssertionError(what);
      }
      return key;
    }
  }

  private static final Commands THROWING =
      COMMANDS.with("Throwing", Throwing.class, x -> utf(x.what), b -> new Throwing(utf(b)));

  private static byte[] throwing(long sequence, String what) {
    return Stamp.put(
        THROWING.entry(new RequestId(CLIENT, sequence, -1), new Throwing(what)), 5000, 100, 0);
  }

  private Replica throwing(String name) throws IOException {
    return Replica.open(
        directory.resolve(name),
        Options.defaults().bufferBytes(16 << 20),
        THROWING,
        skips,
        Experiments.NONE);
  }

  /** A failure of the command is an outcome, the same on each replica and for each retry. */
  @ParameterizedTest
  @ValueSource(strings = {"key", "duplicate", "large", "schema", "state", "null", "refused"})
  void failureOfCommandIsOutcome(String what) throws Exception {
    try (Replica a = throwing("a");
        Replica b = throwing("b")) {
      byte[] e = throwing(1, what);
      Outcome outcome = apply(a, 0, e);
      assertEquals(Outcome.Kind.REFUSED, outcome.kind());
      assertArrayEquals(outcome.toBytes(), apply(b, 0, e).toBytes());
      // A retry gets the same outcome, nothing was changed, and the next command is applied.
      assertArrayEquals(outcome.toBytes(), apply(a, 1, e).toBytes());
      assertNull(
          a.read(
              tx ->
                  tx.tables().contains(WORDS.name())
                      ? tx.table(WORDS).bytes().get(tx, new byte[] {9})
                      : null));
      assertEquals(Outcome.Kind.APPLIED, apply(a, 2, entry(2, 0, "x")).kind());
      assertEquals("x", word(a));
    }
    try (Replica a = throwing("a")) {
      assertEquals(2, a.applied().index());
    }
  }

  /** A failure of the replica stops it, and no outcome is recorded. */
  @ParameterizedTest
  @ValueSource(strings = {"io", "closed", "error"})
  void failureOfReplicaIsNotAnOutcome(String what) throws Exception {
    try (Replica a = throwing("a")) {
      assertThrows(Throwable.class, () -> apply(a, 0, throwing(1, what)));
      assertEquals(Position.NONE, a.applied());
    }
    skips = Map.of(0L, "it can't be applied");
    try (Replica a = throwing("a")) {
      Outcome outcome = apply(a, 0, throwing(1, what));
      assertEquals(Outcome.Kind.REFUSED, outcome.kind());
      assertTrue(outcome.reason().contains("it can't be applied"), outcome::reason);
      assertEquals(Map.of(0L, "it can't be applied"), a.skipped());
    }
    skips = Map.of();
    try (Replica a = throwing("a")) {
      assertEquals(Map.of(0L, "it can't be applied"), a.skipped());
      assertEquals(0, a.applied().index());
    }
  }

  /** A command that no replica could decode is not submitted; one in the log can be skipped. */
  @Test
  void undecodableCommandIsNotSubmitted() throws Exception {
    Commands broken =
        Commands.NONE.with(
            "Append",
            Append.class,
            a -> utf(a.more),
            b -> {
              throw new IllegalStateException("no decoder");
            });
    RequestId id = new RequestId(CLIENT, 1, 0);
    Exception e =
        assertThrows(IllegalArgumentException.class, () -> broken.entry(id, new Append("x")));
    assertTrue(e.getMessage().contains("no decoder"), e.getMessage());
    skips = Map.of(0L, "unknown");
    byte[] unknown = Stamp.put(Entry.encode(id, "Other", new byte[0]), 0, 1, 0);
    try (Replica r = open("r")) {
      assertEquals(Outcome.Kind.REFUSED, apply(r, 0, unknown).kind());
      assertEquals(Outcome.Kind.APPLIED, apply(r, 1, entry(2, 0, "x")).kind());
    }
  }

  /**
   * A request is remembered for a number of entries and for a period of time, whichever is longer.
   */
  @Test
  void windowHasMinimumTime() throws Exception {
    long window = 10;
    long millis = 60_000;
    try (Replica r = open("r")) {
      byte[] first = COMMANDS.entry(new RequestId(CLIENT, 0, -1), new Append("x"));
      apply(r, 0, Stamp.put(first, 1000, window, millis));
      long index = 1;
      for (; index <= 300; index++) {
        byte[] e = COMMANDS.entry(new RequestId(CLIENT, index, index - 1), new Append("x"));
        apply(r, index, Stamp.put(e, 1000 + index, window, millis));
      }
      // Far more entries than the window within a short time: the retry is recognized.
      Outcome retry = apply(r, index++, Stamp.put(first, 2000, window, millis));
      assertEquals(Outcome.Kind.APPLIED, retry.kind());
      assertEquals(0, retry.index());
      assertEquals(301, word(r).length());
      // After time and entries have passed, the outcome is forgotten and the retry refused.
      for (int i = 0; i < 400; i++, index++) {
        byte[] e = COMMANDS.entry(new RequestId(CLIENT, index, index - 1), new Append("x"));
        apply(r, index, Stamp.put(e, 1000 + 2 * millis, window, millis));
      }
      Outcome late = apply(r, index, Stamp.put(first, 1000 + 2 * millis, window, millis));
      assertEquals(Outcome.Kind.EXPIRED, late.kind());
    }
  }

  record Expire() implements Command {
    @Override
    public byte[] apply(CommandContext c) {
      Layout.Definition fields = Layout.define();
      Field time = fields.int64("time");
      TableSpec spec =
          TableSpec.of("t", KeySpec.of(FieldType.INT64), fields.build())
              .expireAfter(time, Duration.ofSeconds(1));
      c.table(spec);
      return ByteBuffer.allocate(8).array();
    }
  }
}
