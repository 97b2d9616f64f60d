package io.fovea.cli;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "put",
    header = "Sets a record.",
    description = {
      "With --write, sets one record of a table of a database that no process has open; the"
          + " record may exist. Opens FILE with a log, which recovers it if it was not closed.",
      "Fields of a row that are not named keep their values; in a new row they are null, or 0 or"
          + " empty. In a table of bytes, the value is the word after the key. An object is"
          + " replaced as a whole: components that are not named are null, and its constructor"
          + " does not run. A table with a computed index can be written only by its application."
    })
final class PutCommand extends TableCommand {
  @Parameters(
      index = "2..*",
      arity = "1..*",
      paramLabel = "WORD",
      description = {
        "All parts of the key, then FIELD=VALUE for each field to set: " + PARTS,
      })
  List<String> words = new ArrayList<>();

  @Option(
      names = "--null",
      paramLabel = "FIELD",
      description = "Sets a nullable field to null; may be repeated.")
  List<String> nulls = new ArrayList<>();

  @Option(names = "--write", description = "Changes FILE; without it nothing is done.")
  boolean write;

  @Override
  public Integer call() {
    requireWrite(write);
    try (Opened db = openToChange()) {
      Records records = records(db, false);
      int parts = Math.min(words.size(), records.keyParts());
      List<String> key = words.subList(0, parts);
      Map<String, @Nullable String> values = values(records, words.subList(parts, words.size()));
      db.run(tx -> records.put(tx, key, values));
    }
    if (json) {
      out().println(Json.of(Map.of("records", 1)));
    }
    return Main.OK;
  }

  private Map<String, @Nullable String> values(Records records, List<String> rest) {
    Map<String, @Nullable String> values = new LinkedHashMap<>();
    if (records instanceof ByteRecords) {
      if (rest.size() != 1 || !nulls.isEmpty()) {
        throw mistake("give a key and a value, of one word each");
      }
      values.put(records.columns().getLast(), rest.getFirst());
      return values;
    }
    for (String word : rest) {
      int at = word.indexOf('=');
      if (at <= 0) {
        throw mistake("'" + word + "' is not FIELD=VALUE");
      }
      if (values.put(word.substring(0, at), word.substring(at + 1)) != null) {
        throw mistake("the field " + word.substring(0, at) + " is named twice");
      }
    }
    for (String field : nulls) {
      if (values.put(field, null) != null) {
        throw mistake("the field " + field + " is named twice");
      }
    }
    return values;
  }
}
