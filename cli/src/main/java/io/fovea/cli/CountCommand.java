package io.fovea.cli;

import io.fovea.Database;
import io.fovea.Order;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** How many records are there? */
@Command(
    name = "count",
    description = {
      "Counts the records of a table of a database that nobody has open. With parts of a key: those"
          + " that begin with them. Nothing on disk changes.",
      "All of a table takes no time, since the table knows it; parts of it are read."
    })
final class CountCommand extends TableCommand {
  @Parameters(
      index = "2..*",
      arity = "0..*",
      paramLabel = "PART",
      description = "The first parts of the key, or of that of the index: " + PARTS)
  List<String> parts = new ArrayList<>();

  @Option(names = "--index", paramLabel = "INDEX", description = "The parts are those of an index.")
  @Nullable String index;

  @Override
  public Integer call() {
    long records;
    try (Database file = TableFile.open(file());
        Database db = file.snapshot()) {
      records = parts.isEmpty() && index == null ? records(db).table.count() : counted(db);
    }
    out().println(json ? Json.of(Map.of("records", records)) : Long.toString(records));
    return Main.OK;
  }

  private long counted(Database db) {
    Records records = records(db);
    long[] n = {0};
    db.read(
        tx -> {
          n[0] = 0;
          records.scan(
              tx,
              parts,
              index,
              Order.ASCENDING,
              record -> {
                n[0]++;
                return true;
              });
          return null;
        });
    return n[0];
  }
}
