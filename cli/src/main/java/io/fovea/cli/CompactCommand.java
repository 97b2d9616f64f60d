package io.fovea.cli;

import io.fovea.CompactOptions;
import io.fovea.CompactReport;
import io.fovea.Database;
import io.fovea.Options;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "compact",
    header = "Shortens a file.",
    description = {
      "With --write, moves pages of a database that no process has open to free pages nearer to"
          + " the start of the file, and cuts off its end. Opens FILE with a log, which recovers"
          + " it if it was not closed. (To compact a database in use, call Database.compact in"
          + " the application that has it open.)",
      "The space of remaining runs of free pages is returned to the file system: the file keeps"
          + " its length but uses less of the disk.",
      "If it is interrupted, pages that were already moved stay where they are."
    })
final class CompactCommand extends FileCommand implements WholeFile {
  @Mixin final ProgressOption progress = new ProgressOption();

  @Option(
      names = "--bytes-per-second",
      paramLabel = "BYTES",
      description = "The maximum bytes of pages moved per second; 0, the default, for no limit.")
  long bytesPerSecond;

  @Option(
      names = "--no-holes",
      description = "Keeps the space of free pages in the middle of the file.")
  boolean noHoles;

  @Option(names = "--write", description = "Changes FILE; without it nothing is done.")
  boolean write;

  @Override
  public Integer call() {
    requireWrite(write);
    if (bytesPerSecond < 0) {
      throw mistake("--bytes-per-second takes a number of bytes, or 0 for no limit");
    }
    Options options = Opening.toChange(file());
    CompactReport report;
    try (Progress p = progress.of(err(), "the file has", "", () -> Progress.bytes(file()), 0);
        Database db = Database.open(file(), options)) {
      p.start();
      report =
          db.compact(CompactOptions.defaults().bytesPerSecond(bytesPerSecond).punchHoles(!noHoles));
    }
    if (json) {
      out().println(Json.of(report));
    } else {
      out()
          .println(
              String.format(
                  Locale.ROOT,
                  "%s: %d bytes of pages moved; %d bytes before, %d now, %d of them in use; %d"
                      + " bytes of free pages returned to the file system",
                  file(),
                  report.bytesMoved(),
                  report.bytesBefore(),
                  report.bytesAfter(),
                  report.bytesUsed(),
                  report.bytesPunched()));
    }
    return Main.OK;
  }
}
