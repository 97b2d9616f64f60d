package io.fovea.cli;

import io.fovea.Database;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.NameText;
import io.fovea.schema.TableSpec;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "create",
    header = "Creates a database, or a table in one.",
    description = {
      "Creates a new database in FILE, with a table of rows if TABLE is given. With --write,"
          + " FILE may be an existing database that no process has open, and the table is created"
          + " in it.",
      "  fovea create shop.fovea stock --key 'item INT32' 'name VARTEXT(200)' 'price DECIMAL(10,2) NULL'",
      "'import' creates the file and the table from a CSV file."
    })
final class CreateCommand extends FileCommand {
  @Parameters(index = "1", arity = "0..1", paramLabel = "TABLE", description = "The new table.")
  @Nullable String table;

  @Parameters(
      index = "2..*",
      arity = "0..*",
      paramLabel = "FIELD",
      description = {
        "A field of its rows: NAME TYPE, or NAME:TYPE. The types are INT32, INT64, BOOLEAN,"
            + " FLOAT64, UUID, INSTANT, DECIMAL(DIGITS, SCALE), TEXT(BYTES), BYTES(BYTES), and"
            + " VARTEXT(BYTES) and VARBYTES(BYTES), which take only the space they need. A NULL"
            + " after the type makes the field nullable."
      })
  List<String> fields = new ArrayList<>();

  @Option(
      names = "--key",
      paramLabel = "FIELD",
      description = "A part of the key; may be repeated.")
  List<String> keys = new ArrayList<>();

  @Option(names = "--write", description = "FILE may exist.")
  boolean write;

  @Override
  public Integer call() {
    boolean there = session() != null || Files.exists(file());
    if (there && table == null) {
      throw mistake(
          session() == null
              ? "the file " + file() + " exists: name a table to create in it"
              : "name a table to create");
    }
    if (there) {
      requireWrite(write);
    }
    requireNoTransaction();
    TableSpec spec = spec();
    try (Opened opened = there ? toChange() : toCreate()) {
      Database db = opened.database();
      if (spec != null) {
        if (db.describe(spec.name()) != null) {
          throw mistake("the table " + NameText.of(spec.name()) + " exists");
        }
        db.table(spec);
      }
    }
    if (json) {
      out().println(Json.of(spec == null ? Map.of() : TableFile.map(spec)));
    }
    return Main.OK;
  }

  private @Nullable TableSpec spec() {
    String name = table;
    if (name == null) {
      if (!keys.isEmpty()) {
        throw mistake("--key needs a table: name one");
      }
      return null;
    }
    if (keys.isEmpty()) {
      throw mistake("a table needs a key: --key 'NAME TYPE'");
    }
    try {
      KeySpec.Definition key = KeySpec.define();
      keys.forEach(k -> FieldSpec.add(key, k));
      Layout.Definition row = Layout.define();
      fields.forEach(f -> FieldSpec.add(row, f));
      return TableSpec.of(name, key.build(), row.build());
    } catch (IllegalArgumentException e) {
      throw mistake(Text.reason(e));
    }
  }
}
