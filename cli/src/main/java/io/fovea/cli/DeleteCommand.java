package io.fovea.cli;

import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "delete",
    header = "Deletes a record.",
    description = {
      "With --write, deletes one record of a table of a database that no process has open, and"
          + " its index entries. Opens FILE with a log, which recovers it if it was not closed.",
      "The exit code is 4 if there is no such record."
    })
final class DeleteCommand extends KeyCommand {
  @Option(names = "--write", description = "Changes FILE; without it nothing is done.")
  boolean write;

  @Mixin final HexOption hex = new HexOption();

  @Override
  public Integer call() {
    requireWrite(write);
    boolean deleted;
    try (Opened db = openToChange()) {
      Records records = records(db, hex.hex);
      deleted = db.call(tx -> records.delete(tx, parts));
    }
    if (!deleted) {
      return noRecord();
    }
    if (json) {
      out().println(Json.of(Map.of("records", 1)));
    }
    return Main.OK;
  }
}
