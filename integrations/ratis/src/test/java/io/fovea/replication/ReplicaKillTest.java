package io.fovea.replication;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Options;
import io.fovea.config.Durability;
import io.fovea.replication.Replica.Experiments;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A killed replica has applied each entry once: its counter matches its position. The test fails
 * for a replica that commits the position separately.
 */
@Tag("slow")
class ReplicaKillTest {
  private static final TableSpec COUNTS = TableSpec.bytes("counts", 8);
  private static final int KILLS = Integer.getInteger("ratis.kills", 3);
  private static final UUID CLIENT = new UUID(1, 2);

  @TempDir Path directory;

  /** Increments the counter and returns it. */
  record Count() implements Command {
    @Override
    public byte[] apply(CommandContext c) {
      byte[] key = {1};
      byte[] old = c.table(COUNTS).bytes().get(c.tx(), key);
      long n = old == null ? 1 : ByteBuffer.wrap(old).getLong() + 1;
      byte[] now = ByteBuffer.allocate(8).putLong(n).array();
      c.table(COUNTS).bytes().put(c.tx(), key, now);
      return now;
    }
  }

  private static Replica open(Path directory, boolean together) throws IOException {
    return Replica.open(
        directory,
        Options.defaults()
            .bufferBytes(16 << 20)
            .log(l -> l.segmentBytes(4 << 20).maxBytes(16 << 20))
            .durability(Durability.ASYNC),
        Commands.NONE.with("Count", Count.class, c -> new byte[0], b -> new Count()),
        Map.of(),
        new Experiments(true, together));
  }

  private static byte[] entry(long index) {
    return Entry.stamp(
        Entry.encode(new RequestId(CLIENT, index, index - 1), "Count", new byte[0]), 0, 1000, 0);
  }

  /** The process that is killed: applies an endless log. */
  static final class Victim {
    private Victim() {}

    public static void main(String[] args) throws IOException {
      try (Replica r = open(Path.of(args[0]), Boolean.parseBoolean(args[1]))) {
        long next = r.applied().index() + 1;
        if (next == 0) {
          // so that every kill finds a position, however slow the machine is
          r.apply(new Position(1, 0), entry(0));
          r.checkpoint();
          next = 1;
        }
        for (long i = next; ; i++) {
          r.apply(new Position(1, i), entry(i));
          if (i == next) {
            System.out.println("up");
          }
        }
      }
    }
  }

  /** Returns whether the counter matched the position after each kill. */
  private boolean exact(boolean together, int kills) throws Exception {
    Path here = directory.resolve("replica");
    Random random = new Random();
    for (int i = 0; i < kills; i++) {
      Process victim =
          new ProcessBuilder(
                  List.of(
                      Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                      "-Xmx128m",
                      "-XX:+UseSerialGC",
                      "-XX:TieredStopAtLevel=1",
                      "--enable-native-access=ALL-UNNAMED",
                      "-Djava.util.logging.config.file="
                          + System.getProperty("java.util.logging.config.file", "none"),
                      "-cp",
                      System.getProperty("java.class.path"),
                      Victim.class.getName(),
                      here.toString(),
                      Boolean.toString(together)))
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      try {
        assertEquals('u', victim.getInputStream().read(), "it did not start");
        Thread.sleep(200 + random.nextInt(400));
      } finally {
        victim.destroyForcibly().waitFor();
      }
      try (Replica r = open(here, together)) {
        long count =
            r.read(
                tx -> {
                  byte[] b =
                      tx.tables().contains(COUNTS.name())
                          ? tx.table(COUNTS).bytes().get(tx, new byte[] {1})
                          : null;
                  return b == null ? 0 : ByteBuffer.wrap(b).getLong();
                });
        if (count != r.applied().index() + 1) {
          return false;
        }
        assertTrue(count > 0, "nothing was applied");
      }
    }
    return true;
  }

  @Test
  void eachEntryIsAppliedOnce() throws Exception {
    assertTrue(exact(true, KILLS));
  }

  @Test
  void detectsSeparatePosition() throws Exception {
    assertTrue(!exact(false, 40), "not detected by 40 kills");
  }
}
