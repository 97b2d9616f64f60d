package io.fovea.tpcc;

import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/**
 * Does what {@code run} does for some seconds, in memory and on a file with a log, and says
 * nothing. For a JVM that writes down which classes and methods are used, so that the next one
 * begins warm: {@code tpcc.sh} has one do so ({@code -XX:AOTCacheOutput}, JEP 514 and 515).
 */
@Command(
    name = "train",
    description = "Runs for a JVM that records which classes and methods are used.",
    hidden = true)
final class TrainCommand implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Option(
      names = "--seconds",
      paramLabel = "N",
      description = "how long each of the two runs is (default: 10)")
  private int seconds = 10;

  @ParentCommand private Main main;

  @Override
  public Integer call() {
    PrintWriter err = spec.commandLine().getErr();
    Path directory = null;
    try {
      directory = Files.createTempDirectory("tpcc-train");
      for (List<String> where :
          List.of(
              List.of("--io", "memory", "--warehouses", "2"),
              List.of("--path", directory.resolve("t.fovea").toString(), "--warehouses", "1"))) {
        int code = run(where, err);
        if (code != Exit.OK) {
          return code;
        }
      }
      return Exit.OK;
    } catch (IOException e) {
      throw new DriverException(
          Exit.UNUSABLE, "There can be no file for the training: " + e.getMessage(), e);
    } finally {
      if (directory != null) {
        delete(directory);
      }
    }
  }

  private int run(List<String> where, PrintWriter err) {
    List<String> all =
        Stream.concat(
                Stream.of("run", "--threads", "2", "--warmup", "0s"),
                Stream.concat(Stream.of("--duration", seconds + "s"), where.stream()))
            .toList();
    return Main.execute(
        main.scale(), new PrintWriter(PrintWriter.nullWriter()), err, all.toArray(new String[0]));
  }

  private static void delete(Path directory) {
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path p : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(p);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("The files of the training can't be deleted.", e);
    }
  }
}
