package io.fovea.cli;

import static io.fovea.cli.Fixture.SMALL;
import static io.fovea.cli.Fixture.make;
import static io.fovea.cli.Fixture.ran;
import static io.fovea.cli.Fixture.run;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.DatabaseBean;
import io.fovea.Options;
import io.fovea.Table;
import io.fovea.config.Durability;
import io.fovea.schema.TableSpec;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The figures of another process. */
@Tag("slow")
@Timeout(value = 15, unit = TimeUnit.MINUTES)
class TopTest {
  @TempDir Path dir;

  /** A process that commits to a database until its input ends. */
  static final class Busy {
    private Busy() {}

    /** Retries one transaction: another one changes what it has read. */
    private static void conflict(Database db, Table<byte[], byte[]> t) {
      byte[] key = {0};
      db.run(
          "transfer",
          tx -> {
            t.get(tx, key);
            if (tx.attempt() == 1) {
              Thread other = Thread.ofPlatform().start(() -> db.run(o -> t.put(o, key, key)));
              boolean ended = false;
              while (!ended) {
                try {
                  other.join();
                  ended = true;
                } catch (InterruptedException e) {
                  throw new IllegalStateException(e);
                }
              }
            }
            t.put(tx, key, key);
          });
    }

    /**
     * Runs it.
     *
     * @param args the file, and whether to publish its figures
     */
    public static void main(String[] args) throws IOException {
      Options options = Options.defaults().durability(Durability.ASYNC).bufferBytes(8 << 20);
      try (Database db = Database.open(Path.of(args[0]), options)) {
        if (Boolean.parseBoolean(args[1])) {
          DatabaseBean.register(db);
        }
        Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 10)).bytes();
        conflict(db, t);
        System.out.println("ready");
        for (int i = 0; System.in.available() == 0; i++) {
          byte[] key = {(byte) i};
          db.run("put", tx -> t.put(tx, key, key));
        }
      }
    }
  }

  /** Starts a process that commits, and waits until it has the file open. */
  static Process start(Path file, boolean shows) throws IOException {
    Process p =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Busy.class.getName(),
                file.toString(),
                "" + shows)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    BufferedReader out =
        new BufferedReader(new InputStreamReader(p.getInputStream(), StandardCharsets.UTF_8));
    assertEquals("ready", out.readLine());
    return p;
  }

  static void end(Process p) throws Exception {
    try (var in = p.getOutputStream()) {
      in.write('\n');
    }
    assertEquals(0, p.waitFor());
  }

  @Test
  void showsFigures() throws Exception {
    Path file = dir.resolve("busy.fovea");
    Process busy = start(file, true);
    try {
      List<String> lines = Fixture.lines("top", busy.pid(), "--count", "2", "--interval", "0.2");
      assertEquals(3, lines.size(), lines::toString);
      assertTrue(lines.getFirst().contains("commits/s"), lines::toString);
      String[] words = lines.getLast().strip().split(" +");
      assertTrue(Long.parseLong(words[1]) > 0, lines::toString);
      assertEquals("busy.fovea", words[words.length - 1]);
      String json = run(0, "top", file, "--count", "1", "--interval", "0.1", "--json").out();
      assertTrue(json.startsWith("{\"database\":\"busy.fovea\",\"commits\":"), json);
      assertEquals(1, json.lines().count());
    } finally {
      end(busy);
    }
    run(2, "top", file);
  }

  @Test
  void processWithoutBean() throws Exception {
    Path file = dir.resolve("busy.fovea");
    Process busy = start(file, false);
    try {
      String err = run(2, "top", busy.pid()).err();
      assertTrue(err.contains("DatabaseBean.register"), err);
    } finally {
      end(busy);
    }
    assertEquals(2, ran("top", busy.pid()).code());
    run(2, "top", make(dir, SMALL), "--interval", "0");
    run(2, "top", dir.resolve("absent"));
  }
}
