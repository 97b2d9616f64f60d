package io.fovea.cli;

import io.fovea.Order;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Writes the records of a table for other programs. */
@Command(
    name = "export",
    description = {
      "Writes the records of a table of a database that nobody has open, in the order of their keys:"
          + " one JSON object a line, or CSV. With parts of a key: those that begin with them."
          + " Byte strings, and objects, are hexadecimal digits. Nothing in the database changes;"
          + " 'import' reads what this writes."
    })
final class ExportCommand extends TableCommand {
  @Mixin final CopyOption copy = new CopyOption();

  @Parameters(
      index = "2..*",
      arity = "0..*",
      paramLabel = "PART",
      description = "The first parts of the key: " + PARTS)
  List<String> parts = new ArrayList<>();

  @Mixin final FormatOption as = new FormatOption();

  @Option(
      names = "--output",
      paramLabel = "FILE",
      description = "A new file to write to, instead of the standard output.")
  @Nullable Path output;

  @Override
  public Integer call() throws IOException {
    if (json && output == null) {
      throw mistake("--json is for what is said beside the records: give --output");
    }
    try (Opened file = toRead(copy);
        Opened db = file.frozen()) {
      Records records = records(db);
      if (output == null) {
        write(db, records, new BufferedWriter(out()));
        if (out().checkError()) {
          throw new IOException("The standard output takes no more.");
        }
      } else {
        said(write(db, records, output));
      }
    }
    return Main.OK;
  }

  /** To a file that is not there before, nor after a failure. */
  private long write(Opened db, Records records, Path to) throws IOException {
    Writer created;
    try {
      created = Files.newBufferedWriter(to, StandardOpenOption.CREATE_NEW);
    } catch (FileAlreadyExistsException e) {
      throw mistake("there is a file " + to + " already");
    }
    boolean whole = false;
    try (created) {
      long n = write(db, records, created);
      whole = true;
      return n;
    } finally {
      if (!whole) {
        Files.deleteIfExists(to);
      }
    }
  }

  private long write(Opened db, Records records, Writer to) throws IOException {
    Format.Sink sink =
        as.format.sink(
            to, records.columns(), records.columns().stream().anyMatch(records::mayBeNull));
    long[] n = {0};
    try {
      db.read(
          tx -> {
            records.scan(
                tx,
                parts,
                null,
                Order.ASCENDING,
                record -> {
                  goOn();
                  try {
                    sink.add(record);
                  } catch (IOException e) {
                    throw new UncheckedIOException(e);
                  }
                  n[0]++;
                  return true;
                });
            return null;
          });
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
    sink.end();
    to.flush();
    return n[0];
  }
}
