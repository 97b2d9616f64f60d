package io.fovea.cli;

import io.fovea.FileReport;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(
    name = "verify",
    header = "Checks everything.",
    description = {
      "Checks a whole database that no process has open: every page, every tree, every log"
          + " record that recovery would read. A file that was not closed is recovered in memory,"
          + " and the result is checked. Nothing on disk changes.",
      "Of computed indexes only the structure is checked."
    })
final class VerifyCommand extends FileCommand implements WholeFile {
  @Mixin final ProgressOption progress = new ProgressOption();

  @Mixin final CopyOption copy = new CopyOption();

  @Override
  public Integer call() {
    FileReport report = looking(copy, this::verified);
    if (json) {
      out().println(Json.of(Report.verified(report)));
    } else {
      out().println(Report.summary(file(), report));
      report.problems().forEach(p -> out().println("  " + p));
      out().println(report.ok() ? "Nothing is wrong." : "The database is damaged.");
    }
    return report.ok() ? Main.OK : Main.PROBLEMS;
  }

  private FileReport verified(Path of) {
    // Total unknown: everything is read several times, as pages, trees and records.
    long before = Progress.bytesRead();
    try (Progress p = progress.of(err(), "read", "", () -> Progress.bytesRead() - before, 0)) {
      p.start();
      return FileReport.verify(of, Opening.options());
    }
  }
}
