package io.fovea.tpcc;

import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.plot.Figure;
import io.fovea.tpcc.plot.NoFontsException;
import io.fovea.tpcc.settings.Version;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** Draws the results of runs. Opens no database. */
@Command(
    name = "report",
    description = {
      "Plots one run, or two runs overlaid, from their --json or --hlog files:"
          + " throughput, latency and device operations over time, and the percentile curve.",
      "With a report RUN.json, the percentile curve comes from RUN.hlog in the same folder, if present."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Version.class)
final class ReportCommand implements Callable<Integer> {
  /** More than two runs make the lines indistinguishable. */
  private static final int RUNS_MAX = 2;

  @Spec private CommandSpec spec;

  @Parameters(
      arity = "1..*",
      paramLabel = "FILE",
      description =
          "a report (RUN.json) or histograms (RUN.hlog), optionally followed by those of a second run")
  private List<Path> files;

  @Option(
      names = "--out",
      paramLabel = "PATH",
      description =
          "the output file, or a folder for it (default: named after the runs, in the current"
              + " folder)")
  private Path out;

  @Option(
      names = "--format",
      paramLabel = "FORMAT",
      converter = FormatConverter.class,
      description = "svg or png (default: by the extension of --out, or svg)")
  private Format format;

  @Option(
      names = "--title",
      paramLabel = "TEXT",
      description = "the title (default: the names of the runs)")
  private String title;

  /** The output format. */
  enum Format {
    SVG,
    PNG;

    String ending() {
      return "." + name().toLowerCase(Locale.ROOT);
    }
  }

  @Override
  public Integer call() {
    if (files.size() > RUNS_MAX) {
      throw mistake("one run or two, not " + files.size());
    }
    Format kind = format();
    List<RunFile> runs = files.stream().map(RunFile::read).toList();
    Path file = out;
    if (out == null || Files.isDirectory(out)) {
      String name = runs.stream().map(RunFile::name).distinct().collect(Collectors.joining("-"));
      file = (out == null ? Path.of("") : out).resolve(name + kind.ending());
    }
    Figure figure = RunFigure.of(runs, title);
    try {
      if (kind == Format.SVG) {
        figure.writeSvg(file);
      } else {
        figure.writePng(file);
      }
    } catch (NoFontsException e) {
      throw new DriverException(Exit.ERROR, e.getMessage());
    } catch (IOException e) {
      throw new DriverException(Exit.ERROR, "cannot write " + file + ": " + e);
    }
    PrintWriter stdout = spec.commandLine().getOut();
    stdout.println("wrote " + file);
    return Exit.OK;
  }

  /**
   * Returns the format of {@code --format} or of the extension of {@code --out}, which must agree.
   */
  private Format format() {
    if (out == null || Files.isDirectory(out)) {
      return format == null ? Format.SVG : format;
    }
    Path folder = out.toAbsolutePath().getParent();
    if (folder != null && !Files.isDirectory(folder)) {
      throw mistake("--out: no such folder: " + folder);
    }
    String name = out.getFileName().toString().toLowerCase(Locale.ROOT);
    for (Format f : Format.values()) {
      if (name.endsWith(f.ending())) {
        if (format != null && format != f) {
          throw mistake("--format contradicts the extension of --out");
        }
        return f;
      }
    }
    if (format == null) {
      throw mistake("--out: a folder, or a file that ends in .svg or .png");
    }
    return format;
  }

  private ParameterException mistake(String message) {
    return new ParameterException(spec.commandLine(), message);
  }

  static final class FormatConverter implements ITypeConverter<Format> {
    @Override
    public Format convert(String value) {
      for (Format f : Format.values()) {
        if (f.name().equalsIgnoreCase(value)) {
          return f;
        }
      }
      throw new TypeConversionException("'" + value + "' is not one of svg, png");
    }
  }
}
