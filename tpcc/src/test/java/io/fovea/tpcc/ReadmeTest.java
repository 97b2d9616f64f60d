package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Field;
import io.fovea.FieldType;
import io.fovea.Key;
import io.fovea.KeySpec;
import io.fovea.Layout;
import io.fovea.Options;
import io.fovea.Row;
import io.fovea.Table;
import io.fovea.TableSpec;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The example of the README is this one, and it works. */
class ReadmeTest {
  @TempDir Path folder;

  @Test
  void exampleRuns() {
    // README
    Layout.Builder b = Layout.builder();
    Field owner = b.text("owner", 32);
    Field cents = b.int64("cents");
    TableSpec spec = TableSpec.of("accounts", KeySpec.of(FieldType.INT64), b.build());
    try (Database db = Database.open(folder.resolve("bank.fovea"), Options.defaults())) {
      Table accounts = db.table(spec); // opens it, or creates it
      Key ada = accounts.key().set(1L);
      Row row = accounts.row();
      db.run(tx -> accounts.put(tx, ada, row.setText(owner, "Ada").setLong(cents, 100_00)));
      db.run( // serializable; runs again after a conflict
          tx -> {
            if (accounts.getForUpdate(tx, ada, row)) {
              accounts.update(tx, row.setLong(cents, row.getLong(cents) - 25_00));
            }
          });
      boolean found = db.read(tx -> accounts.get(tx, ada, row) && row.getLong(cents) == 75_00);
      // README
      assertTrue(found);
    }
  }

  @Test
  void exampleIsInTheReadme() throws IOException {
    Path module = Path.of(System.getProperty("basedir", ".")).toAbsolutePath().normalize();
    Path source = module.resolve("src/test/java/io/fovea/tpcc/ReadmeTest.java");
    String readme = Files.readString(module.resolveSibling("README.md"));
    List<String> lines = Files.readAllLines(source);
    int first = lines.indexOf("    // README") + 1;
    int last = lines.indexOf("      // README");
    assertTrue(first > 0 && last > first);
    for (String line : lines.subList(first, last)) {
      String shown =
          line.substring(4).replace("folder.resolve(\"bank.fovea\")", "Path.of(\"bank.fovea\")");
      assertTrue(readme.contains(shown + "\n"), "not in the README: " + shown);
    }
  }

  /** The pages of the driver have every option that is not hidden. */
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
