package io.fovea.cli;

import io.fovea.FileReport;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(
    name = "stat",
    header = "Says what takes the space.",
    description = {
      "Says what takes the space of a database that nobody has open: by table, index and kind of"
          + " page, and what its superblock says. Of a file that was not closed it shows what"
          + " recovery makes of it. Nothing on disk changes."
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
