package io.fovea.cli;

import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(
    name = "get",
    header = "Shows a record.",
    description = {
      "Shows all of one record of a table of a database that no process has open: a name and a"
          + " value per line. Nothing on disk changes.",
      "The exit code is 4 if there is no such record."
    })
final class GetCommand extends KeyCommand {
  @Mixin final CopyOption copy = new CopyOption();

  @Mixin final HexOption hex = new HexOption();

  @Override
  public Integer call() {
    Map<String, @Nullable Object> record;
    try (Opened db = toRead(copy)) {
      Records records = records(db, hex.hex);
      record = db.read(tx -> records.get(tx, parts));
    }
    if (record == null) {
      return noRecord();
    }
    if (json) {
      out().println(Json.of(record));
    } else {
      Text.lines(out(), record, "", true);
    }
    return Main.OK;
  }
}
