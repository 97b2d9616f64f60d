package io.fovea.cli;

import io.fovea.Database;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.NameText;
import io.fovea.schema.TableSpec;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Parameters;

/** What the commands for the records of a table have in common. */
abstract class TableCommand extends FileCommand {
  /** What the parts of a key are, for the help of commands. */
  static final String PARTS =
      "numbers, texts, bytes as hexadecimal digits. A table of bytes has keys of one part: 0x and"
          + " hexadecimal digits, or text. What begins with a minus comes behind --, as"
          + " do the parts after it.";

  @Parameters(index = "1", paramLabel = "TABLE", description = "Which table.")
  String table = "";

  /** The records of the table, objects as bytes or not. */
  final Records records(Opened opened, boolean bytes) {
    Database db = opened.database();
    TableSpec found = db.describe(table);
    if (found == null) {
      throw mistake("there is no table " + NameText.of(table) + ": " + TableFile.others(db));
    }
    return Records.of(this, db.table(found), bytes);
  }

  /** Says of how many records it was. */
  final void said(long records) {
    String text = records + (records == 1 ? " record" : " records");
    out().println(json ? Json.of(Map.of("records", records)) : text);
  }

  /** Says that a record is not there. */
  final int noRecord() {
    err().println("fovea: there is no such record");
    return Main.NO_RECORD;
  }

  /** Opens the file to change records of the table. */
  final Opened openToChange() {
    Opened db = toChange();
    try {
      requireNoComputedIndex(db.database().describe(table));
      return db;
    } catch (RuntimeException e) {
      db.close();
      throw e;
    }
  }

  /** An index by a computed key is kept by the application, which alone can compute it. */
  final void requireNoComputedIndex(@Nullable TableSpec found) {
    if (found == null) {
      return; // records() says so
    }
    for (IndexSpec i : found.indexes()) {
      if (TableFile.isComputed(found, i)) {
        throw mistake(
            "the index "
                + NameText.of(i.name())
                + " is by a key that the application computes: only the application can change"
                + " this table");
      }
    }
  }
}
