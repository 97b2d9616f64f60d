package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares the documentation with the driver. */
class ReadmeTest {
  /** The pages document every visible option. */
  @ParameterizedTest
  @CsvSource({
    "load,README.md",
    "run,README.md",
    "check,README.md",
    "report,README.md",
    "lookups,README.md",
    "ycsb load,YCSB.md",
    "ycsb run,YCSB.md",
    "sweep,YCSB.md",
    "figure,YCSB.md"
  })
  void optionsAreInThePagesOfTheDriver(String subcommand, String page) throws IOException {
    StringWriter help = new StringWriter();
    Main.execute(
        Scale.FULL,
        new PrintWriter(help),
        new PrintWriter(help),
        (subcommand + " --help").split(" "));
    Path module = Path.of(System.getProperty("basedir", ".")).toAbsolutePath().normalize();
    String readme = Files.readString(module.resolveSibling("tpcc").resolve(page));
    List<String> options =
        Pattern.compile("--[a-z-]+")
            .matcher(help.toString())
            .results()
            .map(MatchResult::group)
            .map(o -> o.replace("--no-", "--[no-]"))
            .filter(o -> !o.equals("--help") && !o.equals("--version"))
            .distinct()
            .toList();
    assertTrue(options.size() >= 3, help.toString());
    for (String option : options) {
      assertTrue(readme.contains("`" + option), subcommand + " " + option);
    }
  }
}
