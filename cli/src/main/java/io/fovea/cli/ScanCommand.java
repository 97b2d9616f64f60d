package io.fovea.cli;

import io.fovea.ScanOrder;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "scan",
    header = "Shows records in order.",
    description = {
      "Shows records of a table of a database that no process has open, in the order of their"
          + " keys or of an index. With parts of a key, only those that begin with them; --from,"
          + " --after and --to narrow the range further. Nothing on disk changes."
    })
final class ScanCommand extends PrefixCommand {
  @Mixin final CopyOption copy = new CopyOption();

  private static final int SHOWN = 100;

  @Option(
      names = {"--descending", "--reverse"},
      description = "Shows the records in descending order.")
  boolean descending;

  @Option(
      names = "--limit",
      paramLabel = "N",
      description =
          "The maximum number of records; 0 for all of them. The default is" + " ${DEFAULT-VALUE}.")
  long limit = SHOWN;

  private long shown;

  @Override
  public Integer call() {
    if (limit < 0) {
      throw mistake("--limit takes a number of records, or 0 for all");
    }
    Bounds bounds = bounds();
    // A snapshot, from which any number of records can be read.
    try (Opened file = toRead(copy);
        Opened db = file.frozen()) {
      Records records = records(db, hex.hex);
      if (json) {
        out().print("[");
      }
      ScanOrder order = descending ? ScanOrder.DESCENDING : ScanOrder.ASCENDING;
      db.read(
          tx -> {
            records.scan(tx, bounds, index, order, this::show);
            return null;
          });
      if (json) {
        out().println(shown == 0 ? "]" : "\n]");
      }
    }
    return Main.OK;
  }

  /** Shows a record; returns whether to continue. */
  private boolean show(Map<String, @Nullable Object> record) {
    goOn();
    if (json) {
      out().print(shown == 0 ? "\n" : ",\n");
      out().print(Json.of(record).indent(2).stripTrailing());
    } else {
      out().println(Text.line(record, false));
    }
    shown++;
    return limit == 0 || shown < limit;
  }
}
