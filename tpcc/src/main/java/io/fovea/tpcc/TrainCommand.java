package io.fovea.tpcc;

import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/**
 * Trains an ahead-of-time cache. Silently does the work of {@code run} for some seconds, either in
 * memory, or on a file with a log, followed by a recovery. {@code tpcc.sh} runs it in a JVM that
 * records classes and methods ({@code -XX:AOTCacheOutput}, JEP 514 and 515), so that later JVMs
 * start warm. Each kind of work has a separate cache: code profiled for both would be compiled with
 * the branches of both, which takes longer.
 */
@Command(
    name = "train",
    description = "Runs briefly to train a JVM that records an ahead-of-time cache.",
    hidden = true)
final class TrainCommand implements Callable<Integer> {
  private static final String FILE = "file";
  private static final int LOG_BYTES_A_SECOND = 5_000_000;

  @Spec private CommandSpec spec;

  @Option(names = "--seconds", paramLabel = "N", description = "duration of the run (default: 20)")
  private int seconds = 20;

  @Parameters(arity = "0..1", paramLabel = "KIND", description = "memory, or file (default: file)")
  private String kind = FILE;

  @ParentCommand private Main main;

  @Override
  public Integer call() {
    PrintWriter err = spec.commandLine().getErr();
    Path directory = null;
    try {
      directory = Files.createTempDirectory("tpcc-train");
      String file = directory.resolve("t.fovea").toString();
      String crashed = directory.resolve("r.fovea").toString();
      String log = seconds * LOG_BYTES_A_SECOND + "";
      List<List<String>> steps =
          kind.equals(FILE)
              ? List.of(
                  run("--path", file),
                  List.of("recover-bench", "--path", crashed, "--warehouses", "1", "--replay", log))
              : List.of(run("--io", kind));
      for (List<String> step : steps) {
        int code =
            Main.execute(
                main.scale(),
                new PrintWriter(PrintWriter.nullWriter()),
                err,
                step.toArray(new String[0]));
        if (code != Exit.OK) {
          return code;
        }
      }
      return Exit.OK;
    } catch (IOException e) {
      throw new DriverException(
          Exit.UNUSABLE, "Cannot create a file for the training: " + e.getMessage(), e);
    } finally {
      if (directory != null) {
        delete(directory);
      }
    }
  }

  private List<String> run(String... where) {
    List<String> words =
        new ArrayList<>(List.of("run", "--warehouses", "2", "--threads", "2", "--no-check"));
    words.addAll(List.of("--warmup", "0s", "--duration", seconds + "s"));
    words.addAll(List.of(where));
    return words;
  }

  private static void delete(Path directory) {
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path p : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(p);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot delete the files of the training.", e);
    }
  }
}
