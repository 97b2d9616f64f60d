package io.fovea.explorer;

import io.fovea.Change;
import io.fovea.ChangeBatch;
import io.fovea.FileChanges;
import io.fovea.error.ChangesLostException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.InvalidUseException;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Kills processes that use one database, and has the next one check what was acknowledged.
 * Meanwhile this process, which is not the writer, follows the changes in the files.
 */
final class Kills {
  /** The number of kills of a database before the next setup. */
  private static final int EACH = 6;

  private final long seed;
  private final Map<String, String> args;
  private final AtomicReference<@Nullable Throwable> wrong = new AtomicReference<>();
  private long batches;
  private volatile boolean stop;

  Kills(long seed, Map<String, String> args) {
    this.seed = seed;
    this.args = args;
  }

  int run(int kills) throws Exception {
    Random r = new Random(seed);
    Path dir = Files.createTempDirectory("explorer-kills");
    long setup = seed;
    int status = 0;
    for (int i = 0; i < kills && status == 0; i++) {
      if (i % EACH == 0) {
        do {
          setup++;
        } while (!setup(setup).survivesKills());
        Copies.delete(dir.resolve("files"));
        Files.deleteIfExists(dir.resolve("expected"));
      }
      status = one(dir, setup, 1 + r.nextInt(r.nextBoolean() ? 20 : 200), i);
    }
    System.out.printf(
        "kills %d, batches followed from outside %d, status %d%n", kills, batches, status);
    if (status == 0) {
      Copies.delete(dir);
    } else {
      System.out.println("files are in " + dir);
    }
    return status;
  }

  private Setup setup(long s) {
    String p = args.get("--protocol");
    return Setup.of(s, p == null ? null : io.fovea.config.Protocol.valueOf(p), Setup.Place.FILE);
  }

  /** Runs a process, and kills it after it has reported progress this often. */
  private int one(Path dir, long setup, int signs, int number) throws Exception {
    List<String> command = Shrinker.command();
    command.addAll(List.of("--child", "--seed=" + setup, "--dir=" + dir));
    for (String kept : List.of("--protocol", "--features", "--hang")) {
      if (args.containsKey(kept)) {
        command.add(kept + "=" + args.get(kept));
      }
    }
    if (args.containsKey("--delays")) {
      command.add("--delays");
    }
    Process p = new ProcessBuilder(command).redirectErrorStream(true).start();
    StringBuilder said = new StringBuilder();
    Thread follower = null;
    try (BufferedReader in = p.inputReader()) {
      int n = 0;
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        if (!line.equals("progress")) {
          said.append(line).append('\n');
          continue;
        }
        if (n++ == 0 && setup(setup).followed()) {
          stop = false;
          follower = Thread.ofPlatform().daemon().start(() -> follow(dir.resolve("files/db")));
        }
        if (n == signs) {
          p.toHandle().destroyForcibly(); // keeps its output, unlike Process.destroyForcibly
        }
      }
    } finally {
      p.destroyForcibly();
    }
    int status = p.waitFor();
    stop = true;
    if (follower != null) {
      follower.join();
    }
    Throwable t = wrong.get();
    if (t != null) {
      t.printStackTrace(System.out);
      return 1;
    }
    if (status != 137) {
      System.out.println(
          "process "
              + number
              + " ended without a kill, status "
              + status
              + ": "
              + command
              + "\n"
              + said);
      return 1;
    }
    return 0;
  }

  /** Checks that commits are atomic: a long value comes with its version, writes in order. */
  private void follow(Path file) {
    try (FileChanges changes = FileChanges.first(file)) {
      Map<String, Long> last = new HashMap<>();
      while (!stop) {
        ChangeBatch batch = changes.poll();
        if (batch == null) {
          LockSupport.parkNanos(1_000_000);
          continue;
        }
        batches++;
        check(batch, last);
      }
    } catch (ChangesLostException | InvalidUseException | IncompatibleFormatException e) {
      // fell behind, or there is no file yet
    } catch (Throwable t) {
      wrong.compareAndSet(null, t);
    }
  }

  private static void check(ChangeBatch batch, Map<String, Long> last) throws IOException {
    Map<String, Long> small = new HashMap<>();
    for (Change c : batch.changes()) {
      if (c.table().equals("small") && c.kind() == Change.Kind.PUT) {
        small.put(text(c), Life.number(c.valueBytes()));
      }
    }
    small.forEach(
        (k, v) -> {
          if (k.startsWith("a/")) {
            Long before = last.put(k, v);
            Violation.unless(before == null || before < v, k + " is " + v + " after " + before);
          }
        });
    for (Change c : batch.changes()) {
      if (c.table().equals("longs") && c.kind() == Change.Kind.PUT) {
        Long version = small.get(text(c));
        Violation.unless(version != null && version > 0, "a long value without its version");
        Longs.requireRight(Integer.parseInt(text(c).substring(2)), version, c.valueBytes());
      }
    }
  }

  private static String text(Change c) {
    return new String(c.keyBytes(), java.nio.charset.StandardCharsets.US_ASCII);
  }
}
