package io.fovea.ratis;

import static io.fovea.ratis.Consistency.LINEARIZABLE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.ratis.Operations.Add;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.proto.RaftProtos.MetadataProto;
import org.apache.ratis.proto.RaftProtos.StateMachineLogEntryProto;
import org.apache.ratis.server.RaftServerConfigKeys.Log.CorruptionPolicy;
import org.apache.ratis.server.raftlog.segmented.LogSegment;
import org.apache.ratis.server.raftlog.segmented.LogSegmentPath;
import org.apache.ratis.server.raftlog.segmented.SegmentedRaftLogOutputStream;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.util.SizeInBytes;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests {@link LogTail}: Ratis writes and reads a log whose last entry is cut at each byte, or has
 * one bit flipped, from a sample that differs in each run.
 */
class LogTailTest {
  private static final UUID GROUP = new UUID(1, 2);
  private static final int SPACE = 2048;

  /** Odd, so that each bit position of a byte occurs. */
  private static final int STRIDE = Boolean.getBoolean("ratis.all") ? 1 : 5;

  private static final int SEED =
      Integer.getInteger("ratis.seed", (int) (System.nanoTime() & 0xFFFF));

  /** The first entries of a log; a long one has a length of two bytes. */
  private static final List<LogEntryProto> ENTRIES =
      List.of(
          LogEntryProto.newBuilder()
              .setTerm(1)
              .setMetadataEntry(MetadataProto.newBuilder().setCommitIndex(7))
              .build(),
          entry(1, 20),
          entry(2, 300),
          entry(3, 90),
          entry(4, 0));

  @TempDir Path directory;
  private Path file;

  private static LogEntryProto entry(long index, int bytes) {
    byte[] data = new byte[bytes];
    Arrays.fill(data, (byte) index);
    return LogEntryProto.newBuilder()
        .setTerm(1_795_802_357_139L)
        .setIndex(index)
        .setStateMachineLogEntry(
            StateMachineLogEntryProto.newBuilder()
                .setCallId(index)
                .setLogData(ByteString.copyFrom(data)))
        .build();
  }

  @BeforeEach
  void file() throws IOException {
    file = directory.resolve(GROUP.toString()).resolve("current").resolve("log_inprogress_0");
    assertFalse(LogTail.mend(directory, GROUP, "a"), "a new peer");
    Files.createDirectories(file.getParent());
    assertFalse(LogTail.mend(directory, GROUP, "a"));
  }

  /** Returns the log that Ratis writes, without the trailing zeros. */
  private byte[] log(int entries) throws IOException {
    Files.deleteIfExists(file);
    try (SegmentedRaftLogOutputStream out =
        new SegmentedRaftLogOutputStream(
            file.toFile(), false, SPACE, SPACE, ByteBuffer.allocateDirect(SPACE))) {
      for (LogEntryProto e : ENTRIES.subList(0, entries)) {
        out.write(e);
      }
    }
    return Files.readAllBytes(file);
  }

  private List<LogEntryProto> read() throws IOException {
    List<LogEntryProto> entries = new ArrayList<>();
    LogSegment.readSegmentFile(
        file.toFile(),
        LogSegmentPath.matchLogSegment(file).getStartEnd(),
        SizeInBytes.valueOf("1MB"),
        CorruptionPolicy.EXCEPTION,
        null,
        entries::add);
    return entries;
  }

  private boolean isRead() {
    try {
      read();
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  @Test
  void entryCutAtEachByte() throws IOException {
    int refused = 0;
    int completed = 0;
    for (int entries = 1; entries <= ENTRIES.size(); entries++) {
      int begin = log(entries - 1).length;
      byte[] all = log(entries);
      for (int zeros : new int[] {0, 1, 3, 4, SPACE}) {
        for (int cut = begin; cut < all.length; cut++) {
          Files.write(file, Arrays.copyOf(Arrays.copyOf(all, cut), cut + zeros));
          String what = entries + " entries, cut at " + cut + ", and " + zeros + " zeros";
          boolean before = isRead();
          refused += before ? 0 : 1;
          boolean mended = LogTail.mend(directory, GROUP, "a");
          assertTrue(before || mended, what);
          List<LogEntryProto> are = read();
          completed += are.size() == entries ? 1 : 0;
          assertTrue(are.size() >= entries - 1, what);
          assertEquals(ENTRIES.subList(0, are.size()), are, what);
          assertTrue(are.size() < entries || cut > all.length - 4, what);
          assertFalse(LogTail.mend(directory, GROUP, "a"), what);
        }
      }
    }
    assertTrue(refused > 100, "Ratis refused " + refused);
    assertTrue(completed > 0);
  }

  @Test
  void flippedBit() throws IOException {
    byte[] all = log(ENTRIES.size());
    for (int size : new int[] {all.length, SPACE}) {
      byte[] padded = Arrays.copyOf(all, size);
      int completed = 0;
      for (int bit = SEED % STRIDE; bit < 8 * all.length; bit += STRIDE) {
        byte[] damaged = padded.clone();
        damaged[bit / 8] ^= (byte) (1 << bit % 8);
        Files.write(file, damaged);
        String what = "bit " + bit + " of " + size + " bytes, -Dratis.seed=" + SEED;
        try {
          if (LogTail.mend(directory, GROUP, "a")) {
            completed++;
          } else {
            assertArrayEquals(damaged, Files.readAllBytes(file), what);
          }
          assertTrue(!isRead() || read().equals(ENTRIES), what + ": entries were dropped");
        } catch (IOException e) {
          assertTrue(e.getMessage().startsWith("The log is damaged at byte "), e.getMessage());
        }
      }
      assertTrue(completed <= 1, "the last byte of the checksum: " + completed);
      Files.write(file, padded);
      assertFalse(LogTail.mend(directory, GROUP, "a"));
      assertEquals(ENTRIES, read());
    }
  }

  @Test
  void peerWithCutEntryRecovers() throws Exception {
    try (Group g = Group.ofThree(directory, o -> o)) {
      assertEquals(0, Operations.number(g.leader().submit(new Add("n", 1)).get().result()));
      String id = g.follower().id();
      g.stop(id);
      Path open = g.inLog(id, LogTailTest::isOpen);
      byte[] log = Files.readAllBytes(open);
      Files.write(open, Arrays.copyOf(Arrays.copyOf(log, log.length - 5), log.length + 100));
      g.start(id);
      for (ReplicatedDatabase db : g.up.values()) {
        db.submit(new Add("n", 1)).get();
      }
      long n = g.get(id).read(LINEARIZABLE, t -> Operations.value(t, Operations.REGISTERS, "n"));
      assertEquals(4, n);
      assertEquals(Health.State.UP, g.get(id).health().state());
    }
  }

  @Test
  void peerReportsDamagedLog() throws Exception {
    try (Group g = Group.ofThree(directory, o -> o)) {
      g.leader().submit(new Add("n", 1)).get();
      String id = g.follower().id();
      g.stop(id);
      Path open = g.inLog(id, LogTailTest::isOpen);
      byte[] log = Files.readAllBytes(open);
      log[log.length - 5] ^= 1;
      Files.write(open, log);
      UncheckedIOException e = assertThrows(UncheckedIOException.class, () -> g.start(id));
      String said = e.getMessage();
      assertTrue(said.startsWith("Peer \"" + id + "\" can't continue its log in "), said);
      assertTrue(said.contains("If the log is damaged"), said);
    }
  }

  private static boolean isOpen(Path segment) {
    return segment.getFileName().toString().startsWith("log_inprogress_");
  }
}
