package io.fovea.cli;

import io.fovea.ScanOrder;
import java.io.BufferedWriter;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "export",
    header = "Writes records as JSON lines or CSV.",
    description = {
      "Writes the records of a table of a database that no process has open, in key order: one"
          + " JSON object per line, or CSV. With parts of a key, only records that begin with"
          + " them. Byte strings and objects are hexadecimal. Nothing in the database changes;"
          + " 'import' reads the output.",
      "The first line describes the table, so that 'import' can create it; CSV has it only with"
          + " --schema, because other programs do not expect it."
    })
final class ExportCommand extends TableCommand {
  @Mixin final ProgressOption progress = new ProgressOption();

  @Mixin final CopyOption copy = new CopyOption();

  @Parameters(
      index = "2..*",
      arity = "0..*",
      paramLabel = "PART",
      description = "The first parts of the key: " + PARTS)
  List<String> parts = new ArrayList<>();

  @Mixin final BoundsOption between = new BoundsOption();

  @Mixin final FormatOption as = new FormatOption();

  @Option(
      names = "--output",
      paramLabel = "FILE",
      description = "The new file to write, instead of standard output.")
  @Nullable Path output;

  @Option(
      names = "--schema",
      negatable = true,
      description = "Whether the first line describes the table. The default is yes for JSON.")
  @Nullable Boolean schema;

  @Option(
      names = "--objects",
      description = {"Writes objects as JSON, with the names of their components."})
  boolean objects;

  @Override
  public Integer call() throws IOException {
    if (objects && as.format != Format.JSON) {
      throw mistake("objects of several versions have no columns: --objects requires JSON");
    }
    if (json && output == null) {
      throw mistake("--json is for the summary, not the records: give --output");
    }
    try (Opened file = toRead(copy);
        Opened db = file.frozen()) {
      Records records = records(db, !objects);
      if (output == null) {
        write(db, records, new BufferedWriter(out()));
      } else {
        said(write(db, records, output));
      }
    }
    return Main.OK;
  }

  /** Writes a new file, which is removed after a failure. Reported records survive a power loss. */
  private long write(Opened db, Records records, Path to) throws IOException {
    FileOutputStream file;
    try {
      Files.createFile(to);
      file = new FileOutputStream(to.toFile()); // not a channel: an interrupt would close it
    } catch (FileAlreadyExistsException e) {
      throw mistake("the file " + to + " exists");
    } catch (IOException e) {
      throw mistake("the file " + to + " can't be created: " + Text.why(e));
    }
    boolean whole = false;
    try (Writer created =
        new BufferedWriter(new OutputStreamWriter(file, StandardCharsets.UTF_8.newEncoder()))) {
      long n = write(db, records, created);
      created.flush();
      file.getFD().sync();
      sync(to.toAbsolutePath().getParent());
      whole = true;
      return n;
    } catch (IOException e) {
      throw Output.Failed.of(to, e);
    } finally {
      if (!whole) {
        Files.deleteIfExists(to);
      }
    }
  }

  /** Makes the entries of a directory durable, if the platform can open one. */
  private static void sync(Path directory) throws IOException {
    FileChannel channel;
    try {
      channel = FileChannel.open(directory, StandardOpenOption.READ);
    } catch (IOException e) {
      return;
    }
    try (channel) {
      channel.force(true);
    }
  }

  private long write(Opened db, Records records, Writer to) throws IOException {
    Boolean asked = schema;
    boolean first = asked == null ? as.format == Format.JSON && !objects : asked;
    if (first) {
      to.write(SchemaLine.of(records.table.spec(), as.format));
      to.write(as.format == Format.CSV ? "\r\n" : "\n");
    }
    Format.Sink sink =
        as.format.sink(
            to, records.columns(), records.columns().stream().anyMatch(records::mayBeNull));
    AtomicLong n = new AtomicLong();
    Bounds bounds = between.of(this, new ArrayList<>(parts));
    long total = bounds.isAll() && !db.inTransaction() ? records.table.count() : 0;
    try (Progress p = progress.of(err(), "exported", "records", n::get, total)) {
      p.start();
      db.read(
          tx -> {
            records.scan(
                tx,
                bounds,
                null,
                ScanOrder.ASCENDING,
                record -> {
                  goOn();
                  try {
                    sink.add(record);
                  } catch (IOException e) {
                    throw new UncheckedIOException(e);
                  }
                  n.incrementAndGet();
                  return true;
                });
            return null;
          });
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
    sink.end();
    to.flush();
    return n.get();
  }
}
