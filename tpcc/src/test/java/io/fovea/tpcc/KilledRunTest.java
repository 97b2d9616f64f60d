package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.fovea.config.Translation;
import io.fovea.tpcc.bench.Exit;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Runs the driver in a child JVM, kills it with signal 9 at random times while it opens, loads,
 * runs, checks and closes, and runs it again: the driver ends with exit code 0, the twelve
 * conditions hold, and no acknowledged transaction is missing.
 *
 * <p>{@code -Dtpcc.kills=50} sets the number of kills. {@code -Dtpcc.seed=N} repeats the times of
 * the run that printed the seed, as far as the clock allows.
 */
@Tag("slow")
@Execution(ExecutionMode.CONCURRENT)
class KilledRunTest {
  private static final int KILLS = Integer.getInteger("tpcc.kills", 2);
  private static final long SEED = Long.getLong("tpcc.seed", System.nanoTime());

  /** Large enough that a load takes some time. */
  private static final Scale SCALE = new Scale(1_000, 100, 30);

  private static final int PATIENCE_SECONDS = 180;

  /** The most transactions that are acknowledged before a kill. */
  private static final int RECORDS_MAX = 3_000;

  /** When a child is killed: at most this many milliseconds after an output line. */
  private enum Stage {
    OPENING("child begins", 700),
    LOADING("loading ", 900),
    RUNNING("running mix ", 1_500),
    CHECKING("checking the conditions", 300),
    CLOSING("consistent after", 60);

    final String line;
    final int millisMax;

    Stage(String line, int millisMax) {
      this.line = line;
      this.millisMax = millisMax;
    }
  }

  @TempDir Path folder;

  private final Random random = new Random(SEED);
  private final int[] kills = new int[Stage.values().length];
  private final Map<Translation, Integer> under = new TreeMap<>();

  /** The child: the driver on fewer rows. */
  static final class Child {
    private Child() {}

    public static void main(String[] args) {
      System.out.println(Stage.OPENING.line);
      PrintWriter out = new PrintWriter(System.out, true);
      System.exit(Main.execute(SCALE, out, new PrintWriter(System.err, true), args));
    }
  }

  /** The end of a child: its exit code, 137 if killed, and its output. */
  private record End(int code, String said) {
    boolean killed() {
      return code == 128 + 9;
    }
  }

  /**
   * Waits until it is time to kill a process, which may end earlier: some time after the start of a
   * stage, or after a number of acknowledged transactions, so that a slow machine gets just as far.
   */
  private String await(Process process, Stage stage, Path list) throws Exception {
    if (stage == Stage.RUNNING && list != null) {
      long records = 1 + random.nextInt(RECORDS_MAX);
      long until = records(list) + records;
      while (records(list) < until && !process.waitFor(1, TimeUnit.MILLISECONDS)) {
        // it continues
      }
      return "after " + records + " acknowledged transactions";
    }
    int millis = random.nextInt(stage.millisMax + 1);
    boolean over = process.waitFor(millis, TimeUnit.MILLISECONDS);
    return "after " + millis + " ms" + (over ? ", after its end" : "");
  }

  /**
   * Runs a child.
   *
   * @param killed when to kill it, or null
   * @param list its list of acknowledged transactions, or null
   */
  private End child(Stage killed, Path list, List<String> args) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-ea"));
    command.add("--enable-native-access=ALL-UNNAMED");
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Child.class.getName()));
    command.addAll(args);
    ProcessBuilder builder = new ProcessBuilder(command);
    Process process = builder.directory(folder.toFile()).redirectErrorStream(true).start();
    StringBuilder said = new StringBuilder();
    Thread patience =
        Thread.startVirtualThread(
            () -> {
              try {
                if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                  process.toHandle().destroyForcibly();
                  said.append("it took too long\n");
                }
              } catch (InterruptedException e) {
                // it has ended
              }
            });
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      boolean armed = killed != null;
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        said.append(line).append('\n');
        if (armed && line.startsWith(killed.line)) {
          armed = false;
          said.append("to be killed ").append(await(process, killed, list)).append('\n');
          process.toHandle().destroyForcibly();
        }
      }
      int code = process.waitFor();
      patience.interrupt();
      return new End(code, said.toString());
    } finally {
      process.toHandle().destroyForcibly();
    }
  }

  private List<String> run(Path file, Path list, String duration, boolean sync, Translation kind) {
    List<String> args = new ArrayList<>();
    args.addAll(List.of("run", "--path=" + file, "--warehouses=2", "--threads=2", "--clients=6"));
    args.addAll(List.of("--warmup=0", "--duration=" + duration));
    args.add("--log=" + LOG);
    args.add("--translation=" + word(kind));
    args.add(kind == Translation.DIRECT ? "--buffer=500m" : "--buffer=64m");
    args.add(sync ? "--durability=sync" : "--durability=async");
    if (sync) {
      args.add("--acknowledge=" + list);
    }
    return args;
  }

  private static String word(Translation kind) {
    return kind.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Small, so that kills hit checkpoints. */
  private static final String LOG = "4m";

  private String about(String what, List<String> history) {
    return what
        + "\nseed "
        + SEED
        + " (mvn verify -pl tpcc -am -Dtest=KilledRunTest -Dtpcc.kills="
        + KILLS
        + " -Dtpcc.seed="
        + SEED
        + ")\n"
        + String.join("\n", history);
  }

  @Test
  void nothingIsLostOrPartial() throws Exception {
    List<String> history = new ArrayList<>();
    Path file = folder.resolve("killed.fovea");
    Path list = folder.resolve("acknowledged");
    long acknowledged = 0;
    int done = 0;
    boolean loaded = false;
    boolean sync = true;
    // The file does not depend on the translation, so each open uses another one, each equally
    // often.
    List<Translation> kinds = new ArrayList<>(List.of(Translation.values()));
    Collections.shuffle(kinds, random);
    while (done < KILLS) {
      if (done > 0 && random.nextInt(5) == 0) {
        acknowledged += records(list);
        deleteAll();
        history.clear();
        loaded = false;
        // A list needs sync, since other levels may lose acknowledged transactions.
        sync = random.nextInt(4) != 0;
      }
      Stage stage = loaded ? draw() : random.nextBoolean() ? Stage.LOADING : Stage.RUNNING;
      boolean early = stage != Stage.CHECKING && stage != Stage.CLOSING;
      Translation kind = kinds.get(done % kinds.size());
      List<String> args = run(file, list, early ? "60s" : "100ms", sync, kind);
      End end = child(stage, sync ? list : null, args);
      history.add(
          "-- to be killed while "
              + stage
              + ", "
              + kind
              + ", ended with "
              + end.code
              + "\n"
              + end.said);
      assertTrue(end.killed() || end.code == Exit.OK, () -> about("neither", history));
      if (end.killed()) {
        kills[stage.ordinal()]++;
        under.merge(kind, 1, Integer::sum);
        done++;
      }
      loaded = loaded || end.said.contains(Stage.RUNNING.line);
      if (random.nextInt(3) == 0) {
        continue; // and kill it again, perhaps during recovery
      }
      again(file, list, sync, history);
      loaded = true;
    }
    again(file, list, sync, history);
    acknowledged += records(list);
    System.out.println(
        done
            + " kills "
            + Arrays.toString(Stage.values())
            + " = "
            + Arrays.toString(kills)
            + ", under "
            + under
            + ", "
            + acknowledged
            + " acknowledged transactions, seed "
            + SEED);
  }

  private Stage draw() {
    Stage[] stages = {
      Stage.OPENING, Stage.OPENING, Stage.RUNNING, Stage.RUNNING, Stage.CHECKING, Stage.CLOSING
    };
    return stages[random.nextInt(stages.length)];
  }

  /** Runs to the end, and checks the resulting file. */
  private void again(Path file, Path list, boolean sync, List<String> history) throws Exception {
    Translation any = Translation.values()[random.nextInt(Translation.values().length)];
    End end = child(null, null, run(file, list, "100ms", sync, any));
    history.add("-- not killed, ended with " + end.code + "\n" + end.said);
    assertEquals(Exit.OK, end.code, () -> about("not clean", history));
    List<String> args = new ArrayList<>(List.of("check", "--path=" + file, "--buffer=64m"));
    args.add("--log=" + LOG);
    if (sync) {
      args.add("--acknowledged=" + list);
    }
    StringWriter out = new StringWriter();
    PrintWriter to = new PrintWriter(out);
    int code = Main.execute(SCALE, to, to, args.toArray(String[]::new));
    history.add("-- checked: " + code + "\n" + out);
    assertEquals(Exit.OK, code, () -> about("transactions are missing", history));
  }

  private static long records(Path list) throws IOException {
    return Files.exists(list) ? Files.size(list) / Acknowledged.RECORD_BYTES : 0;
  }

  private void deleteAll() throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
      for (Path file : files) {
        Files.delete(file);
      }
    }
  }

  @Test
  void fileWithoutALogIsRecreated() throws Exception {
    List<String> args = new ArrayList<>();
    args.addAll(List.of("run", "--durability=none", "--buffer=64m", "--warmup=0"));
    End end = child(Stage.RUNNING, null, with(args, "--duration=20s"));
    if (!end.killed()) {
      fail(about("not killed", List.of(end.said)));
    }
    for (String level : List.of("none", "sync")) {
      List<String> again = List.of("run", "--durability=" + level, "--path=tpcc-1w.fovea");
      End refused = child(null, null, with(again, "--buffer=64m"));
      assertEquals(Exit.UNUSABLE, refused.code, refused.said);
    }
    End again = child(null, null, with(args, "--duration=100ms"));
    assertEquals(Exit.OK, again.code, again.said);
    assertTrue(again.said.contains("deleted and loaded again"), again.said);
  }

  @Test
  void logIsFilledAndReplayed() throws Exception {
    Path json = folder.resolve("recovery.json");
    List<String> args = new ArrayList<>();
    args.addAll(List.of("recover-bench", "--path=" + folder.resolve("filled.fovea")));
    args.addAll(List.of("--replay=1m", "--log=16m", "--buffer=64m", "--json=" + json));
    End filled = child(null, null, with(args, "--fill"));
    assertEquals(Exit.OK, filled.code, filled.said);
    StringWriter out = new StringWriter();
    PrintWriter to = new PrintWriter(out);
    int code = Main.execute(SCALE, to, to, with(args, "--open").toArray(String[]::new));
    assertEquals(Exit.OK, code, out::toString);
    JsonObject report = JsonParser.parseString(Files.readString(json)).getAsJsonObject();
    JsonObject recovery = report.getAsJsonObject("recovery");
    assertTrue(recovery.get("logBytes").getAsLong() >= 1 << 20, recovery.toString());
    assertTrue(report.get("consistent").getAsBoolean());
  }

  private static List<String> with(List<String> args, String more) {
    List<String> all = new ArrayList<>(args);
    all.add(more);
    return all;
  }
}
