package io.fovea.cli;

import io.fovea.Database;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.NameText;
import io.fovea.schema.TableSpec;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Parameters;

/** A command on the records of a table. */
abstract class TableCommand extends FileCommand {
  /** Describes the parts of a key, for the help of commands. */
  static final String PARTS =
      "numbers, texts, byte strings in hexadecimal. A table of bytes has keys of one part: 0x"
          + " and hexadecimal digits, or text. A part that begins with a minus, and all parts"
          + " after it, must follow --.";

  @Parameters(index = "1", paramLabel = "TABLE", description = "The table.")
  String table = "";

  /** Returns the records of the table, with objects as bytes or decoded. */
  final Records records(Opened opened, boolean bytes) {
    Database db = opened.database();
    TableSpec found = db.describe(table);
    if (found == null) {
      throw mistake("there is no table " + NameText.of(table) + ": " + TableFile.others(db));
    }
    return Records.of(this, db.table(found), bytes);
  }

  /** Prints a number of records. */
  final void said(long records) {
    String text = records + (records == 1 ? " record" : " records");
    out().println(json ? Json.of(Map.of("records", records)) : text);
  }

  /** Reports a missing record. */
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

  /** Only the application can compute the keys of a computed index, and so maintain it. */
  final void requireNoComputedIndex(@Nullable TableSpec found) {
    if (found == null) {
      return; // records() reports it
    }
    for (IndexSpec i : found.indexes()) {
      if (TableFile.isComputed(found, i)) {
        throw mistake(
            "the index "
                + NameText.of(i.name())
                + " is by a computed key: only the application can change this table");
      }
    }
  }
}
