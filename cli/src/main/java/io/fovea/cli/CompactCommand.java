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
    header = "Makes a file shorter.",
    description = {
      "With --write, moves pages of a database that nobody has open to free pages nearer to the front of the file,"
          + " and cuts off its end. FILE is opened for that, with a log, which recovers it if it was"
          + " not closed. (A database that is in use is compacted by the application that has it"
          + " open: Database.compact.)",
      "The space of runs of free pages that are left is given back to the file system: the file is"
          + " as long, and takes less of the disk.",
      "Where it is cut short, the pages that were moved stay where they are."
    })
final class CompactCommand extends FileCommand implements WholeFile {
  @Mixin final ProgressOption progress = new ProgressOption();

  @Option(
      names = "--bytes-per-second",
      paramLabel = "BYTES",
      description = "Moves at most so many bytes of pages a second; 0, the default, for no limit.")
  long bytesPerSecond;

  @Option(
      names = "--no-holes",
      description = "Leaves the space of free pages in the middle of the file where it is.")
  boolean noHoles;

  @Option(names = "--write", description = "Changes FILE; without it nothing is done.")
  boolean write;

  @Override
  public Integer call() {
    requireWrite(write);
    if (bytesPerSecond < 0) {
      throw mistake("--bytes-per-second takes a number of bytes, and 0 for no limit");
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
                  "%s: %d bytes of pages moved; %d bytes before, %d now, %d of them in use;"
                      + " %d bytes of free ones punched out of the file",
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
