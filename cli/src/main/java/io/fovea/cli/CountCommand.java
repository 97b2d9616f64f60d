package io.fovea.cli;

import io.fovea.ScanOrder;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(
    name = "count",
    header = "Counts records.",
    description = {
      "Counts the records of a table of a database that no process has open; with parts of a"
          + " key, those that begin with them. Nothing on disk changes.",
      "Counting a whole table takes no time, because its count is stored; parts of it are read."
    })
final class CountCommand extends PrefixCommand {
  @Mixin final CopyOption copy = new CopyOption();

  @Override
  public Integer call() {
    Bounds bounds = bounds();
    long records;
    try (Opened file = toRead(copy);
        Opened db = file.frozen()) {
      records =
          bounds.isAll() && index == null && !db.inTransaction()
              ? records(db, hex.hex).table.count()
              : counted(db, bounds);
    }
    out().println(json ? Json.of(Map.of("records", records)) : Long.toString(records));
    return Main.OK;
  }

  private long counted(Opened db, Bounds bounds) {
    Records records = records(db, hex.hex);
    long[] n = {0};
    db.read(
        tx -> {
          n[0] = 0;
          records.scan(
              tx,
              bounds,
              index,
              ScanOrder.ASCENDING,
              record -> {
                goOn();
                n[0]++;
                return true;
              });
          return null;
        });
    return n[0];
  }
}
