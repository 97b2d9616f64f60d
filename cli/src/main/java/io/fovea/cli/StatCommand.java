package io.fovea.cli;

import io.fovea.FileReport;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(
    name = "stat",
    header = "Shows the use of space.",
    description = {
      "Shows the use of space in a database that no process has open, by table, index and kind"
          + " of page, and the contents of its superblock. A file that was not closed is shown as"
          + " recovery restores it. Nothing on disk changes."
    })
final class StatCommand extends FileCommand implements WholeFile {
  @Mixin final CopyOption copy = new CopyOption();

  @Override
  public Integer call() {
    FileReport report = looking(copy, f -> FileReport.inspect(f, Opening.options()));
    if (json) {
      out().println(Json.of(Report.all(report)));
    } else {
      Report.print(out(), file(), report);
    }
    report.problems().forEach(p -> err().println("fovea: " + p));
    return report.ok() ? Main.OK : Main.PROBLEMS;
  }
}
