package io.fovea.cli;

import io.fovea.FileReport;
import io.fovea.Restore;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "restore",
    header = "Restores a database from backups.",
    description = {
      "Restores a database from a full backup and the incremental ones that follow it, in order:"
          + " copies them, verifies and recovers the copy, and then renames it to FILE."
          + " Overwrites no existing file. A damaged backup is not restored."
    })
final class RestoreCommand extends FileCommand {
  @Mixin final ProgressOption progress = new ProgressOption();

  @Parameters(
      index = "1..*",
      arity = "1..*",
      paramLabel = "BACKUP",
      description = {
        "The directory of a backup, the data file in it, or a tar archive that Database.backup"
            + " wrote: a full backup first, then incremental ones in order."
      })
  List<Path> backups = List.of();

  @Option(
      names = "--verify",
      description = "Verifies the copy before it is renamed. This is always done.")
  boolean verify;

  @Override
  public Integer call() {
    Restore restore = Restore.from(backups.get(0));
    for (Path incremental : backups.subList(1, backups.size())) {
      restore = restore.then(incremental);
    }
    Path directory = Objects.requireNonNull(file().toAbsolutePath().getParent());
    String name = file().getFileName().toString();
    FileReport report;
    try (Progress p =
        progress.of(err(), "restored", "", () -> Progress.bytes(directory, name), 0)) {
      p.start();
      report = restore.to(file(), Opening.options());
    }
    if (json) {
      out().println(Json.of(Report.verified(report)));
    } else {
      out().println(Report.summary(file(), report));
      out()
          .println(
              backups.size() == 1
                  ? "Nothing is wrong: the backup was restored."
                  : "Nothing is wrong: the " + backups.size() + " backups were restored.");
    }
    return Main.OK;
  }
}
