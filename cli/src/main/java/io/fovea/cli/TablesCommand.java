package io.fovea.cli;

import io.fovea.Database;
import io.fovea.TableSize;
import io.fovea.schema.NameText;
import io.fovea.schema.TableSpec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(
    name = "tables",
    header = "Lists the tables.",
    description = {
      "Lists the tables of a database that no process has open, with their sizes. A number that"
          + " the file does not contain is shown as a question mark. Nothing on disk changes."
    })
final class TablesCommand extends FileCommand {
  @Mixin final CopyOption copy = new CopyOption();

  @Override
  public Integer call() {
    try (Opened opened = toRead(copy)) {
      Database db = opened.database();
      Map<String, TableSize> sizes = db.tableSizes();
      if (json) {
        List<Object> list = new ArrayList<>();
        sizes.forEach((name, size) -> list.add(map(spec(db, name), size)));
        out().println(Json.of(list));
      } else {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("table", "of", "records", "MiB", "indexes", "entries", "MiB"));
        sizes.forEach((name, size) -> rows.add(row(spec(db, name), size)));
        Text.table(out(), rows);
      }
    }
    return Main.OK;
  }

  private static TableSpec spec(Database db, String name) {
    return Objects.requireNonNull(db.describe(name));
  }

  /** A table in the form of {@code tables --json}. */
  static Map<String, @Nullable Object> map(TableSpec spec, TableSize size) {
    Map<String, @Nullable Object> m = new LinkedHashMap<>();
    m.put("table", spec.name());
    m.put("kind", TableFile.kind(spec));
    m.put("records", known(size.records()));
    m.put("bytes", known(size.bytes()));
    m.put("indexes", spec.indexes().size());
    m.put("indexEntries", known(size.indexEntries()));
    m.put("indexBytes", known(size.indexBytes()));
    return m;
  }

  private static @Nullable Long known(long n) {
    return n < 0 ? null : Long.valueOf(n);
  }

  private static List<String> row(TableSpec spec, TableSize size) {
    return List.of(
        NameText.of(spec.name()),
        TableFile.kind(spec),
        count(size.records()),
        mib(size.bytes()),
        "" + spec.indexes().size(),
        count(size.indexEntries()),
        mib(size.indexBytes()));
  }

  private static String count(long n) {
    return n < 0 ? "?" : "" + n;
  }

  private static String mib(long bytes) {
    return bytes < 0 ? "?" : String.format(Locale.ROOT, "%.1f", bytes / 1048576.0);
  }
}
