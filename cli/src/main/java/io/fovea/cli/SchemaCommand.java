package io.fovea.cli;

import io.fovea.Database;
import io.fovea.Sequence;
import io.fovea.schema.NameText;
import io.fovea.schema.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(
    name = "schema",
    header = "Describes tables.",
    description = {
      "Describes the tables of a database that no process has open: keys, fields, indexes,"
          + " versions; and its sequences. Nothing on disk changes."
    })
final class SchemaCommand extends FileCommand {
  @Mixin final CopyOption copy = new CopyOption();

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "TABLE",
      description = "The table; all tables without it.")
  @Nullable String table;

  @Override
  public Integer call() {
    try (Opened opened = toRead(copy)) {
      Database db = opened.database();
      List<TableSpec> specs = new ArrayList<>();
      for (String name : table == null ? db.tables() : List.of(table)) {
        TableSpec spec = db.describe(name);
        if (spec == null) {
          throw mistake("there is no table " + NameText.of(name) + ": " + TableFile.others(db));
        }
        specs.add(spec);
      }
      List<Sequence> sequences =
          table == null ? db.sequences().stream().map(db::sequence).toList() : List.of();
      if (json) {
        out()
            .println(
                Json.of(
                    Stream.concat(
                            specs.stream().map(TableFile::map),
                            sequences.stream().map(TableFile::map))
                        .toList()));
      } else {
        specs.forEach(s -> TableFile.lines(s).forEach(out()::println));
        sequences.forEach(s -> out().println(TableFile.line(s)));
      }
    }
    return Main.OK;
  }
}
