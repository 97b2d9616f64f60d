package io.fovea.cli;

import io.fovea.BackupOptions;
import io.fovea.BackupPosition;
import io.fovea.BackupReport;
import io.fovea.Database;
import io.fovea.FileDump;
import io.fovea.FileReport;
import io.fovea.Options;
import io.fovea.config.Durability;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "backup",
    header = "Copies a database into a directory.",
    description = {
      "Copies a database that no process has open into a directory. Opens FILE, which recovers"
          + " it if it was not closed. Overwrites no existing file. To copy a database in use,"
          + " call Database.backup in the application that has it open, or use --in-use.",
      "With --since, copies only pages that were changed since an earlier backup."
    })
final class BackupCommand extends FileCommand implements WholeFile {
  @Mixin final ProgressOption progress = new ProgressOption();

  @Parameters(
      index = "1",
      paramLabel = "DIRECTORY",
      description = "The directory for the copy, created if it does not exist.")
  @Nullable Path directory;

  @Option(
      names = "--rate",
      paramLabel = "MIB",
      description = "The maximum rate in MiB per second; 0, the default, for no limit.")
  long rate;

  @Option(
      names = "--since",
      paramLabel = "BACKUP",
      description = {
        "Copies only changes since an earlier backup, given by its directory, its archive, or"
            + " its position as text."
      })
  @Nullable String since;

  @Option(
      names = "--in-use",
      description = {
        "FILE may be open in another process, with a log or for reading; it is not changed. A"
            + " checkpoint of that process invalidates the copy: then copying restarts, a limited"
            + " number of times."
      })
  boolean inUse;

  private BackupOptions options() {
    BackupOptions all = BackupOptions.defaults().bytesPerSecond(rate << 20);
    String s = since;
    if (s == null) {
      return all;
    }
    try {
      return all.since(BackupPosition.parse(s));
    } catch (IllegalArgumentException e) {
      return all.since(BackupPosition.of(Path.of(s)));
    }
  }

  @Override
  public Integer call() {
    if (rate < 0 || rate > Long.MAX_VALUE >>> 20) {
      throw mistake("--rate takes a number of MiB per second, or 0 for no limit");
    }
    Path to = Objects.requireNonNull(directory);
    BackupReport report;
    String name = file().getFileName().toString();
    long total = since == null ? Progress.bytes(file()) : 0;
    try (Progress p = progress.of(err(), "copied", "", () -> Progress.bytes(to, name), total)) {
      p.start();
      report = inUse ? FileDump.backup(file(), to, options()) : backup(file(), to, options());
    }
    if (json) {
      out().println(Json.of(report));
    } else {
      out()
          .println(
              String.format(
                  Locale.ROOT,
                  "%s: %d pages of %d, %d bytes of data, %d bytes of log, in %s",
                  directory,
                  report.pagesCopied(),
                  report.pages(),
                  report.dataBytes(),
                  report.logBytes(),
                  report.duration()));
      if (report.position() != null) {
        out().println("position " + report.position());
      }
    }
    return Main.OK;
  }

  private static BackupReport backup(Path file, Path directory, BackupOptions how) {
    FileReport.Header header = Opening.header(file);
    // If the file was closed, no log needs to be copied.
    Options options =
        header.state() == FileReport.State.CLEAN
            ? Opening.options(header).durability(Durability.NONE)
            : Opening.toChange(file);
    try (Database db = Database.open(file, options)) {
      return db.backup(directory, how);
    }
  }
}
