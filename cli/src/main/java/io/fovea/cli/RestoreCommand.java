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
    header = "Makes a database of backups.",
    description = {
      "Makes a database of a full backup and of those that add to it, in their order: copies"
          + " them, verifies and recovers the copy, and gives it its name at last. No existing file"
          + " is overwritten. Of a backup that is damaged nothing is restored."
    })
final class RestoreCommand extends FileCommand {
  @Mixin final ProgressOption progress = new ProgressOption();

  @Parameters(
      index = "1..*",
      arity = "1..*",
      paramLabel = "BACKUP",
      description = {
        "The directory of a backup, the file of pages in it, or a tar archive that Database.backup"
            + " wrote: a full one first, then those that were made since it or since each other."
      })
  List<Path> backups = List.of();

  @Option(
      names = "--verify",
      description = "Verifies the copy before it gets its name. That is always done.")
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
