package io.fovea.cli;

import io.fovea.FileReport;
import picocli.CommandLine.Command;

/** What takes the space? */
@Command(
    name = "stat",
    description = {
      "Says what takes the space of a database that nobody has open: by table, index and kind of"
          + " page, and what its superblock says. Of a file that was not closed it shows what"
          + " recovery makes of it. Nothing on disk changes."
    })
final class StatCommand extends FileCommand implements WholeFile {
  @Override
  public Integer call() {
    FileReport report = FileReport.inspect(file(), Opening.options());
    if (json) {
      out().println(Json.of(Report.all(report)));
    } else {
      Report.print(out(), file(), report);
    }
    report.problems().forEach(p -> err().println("fovea: " + p));
    return report.ok() ? Main.OK : Main.PROBLEMS;
  }
}
