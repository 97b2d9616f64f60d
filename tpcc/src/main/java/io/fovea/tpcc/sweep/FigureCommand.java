package io.fovea.tpcc.sweep;

import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.plot.NoFontsException;
import io.fovea.tpcc.settings.Version;
import io.fovea.tpcc.sweep.Results.Point;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code tpcc.sh figure}. Opens no database. */
@Command(
    name = "figure",
    description = {
      "Draws goodput and abort rate of sweeps, and writes them as Markdown tables,"
          + " with the commands that produced them.",
      "Lines over one numeric option, bars over several options or over words. A point without"
          + " a value on the x axis is drawn as a dashed reference line."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Version.class)
public final class FigureCommand implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Parameters(
      arity = "1..*",
      paramLabel = "FILE",
      description = "files named sweep.json; their rounds are merged")
  private List<Path> files;

  @Option(
      names = "--over",
      paramLabel = "OPTION",
      split = ",",
      required = true,
      description = "options on the x axis, such as threads, or protocol,threads")
  private List<String> over;

  @Option(
      names = "--series",
      paramLabel = "OPTION",
      split = ",",
      description = "options with one color and table column per value")
  private List<String> series = new ArrayList<>();

  @Option(
      names = "--each",
      paramLabel = "OPTION",
      split = ",",
      description = "options with one figure per value")
  private List<String> each = new ArrayList<>();

  @Option(
      names = "--ratio-to",
      paramLabel = "OPTION=VALUE",
      split = ",",
      description =
          "baseline, such as protocol=tictoc,timestamps=memory: each table cell shows its ratio to"
              + " the cell that differs only in these options")
  private Map<String, String> ratioTo = new LinkedHashMap<>();

  @Option(
      names = "--name",
      paramLabel = "VALUE=NAME",
      split = ",",
      description = "names for values in the figure, such as occ=OCC")
  private Map<String, String> names = new LinkedHashMap<>();

  @Option(
      names = "--out",
      paramLabel = "PREFIX",
      required = true,
      description = "write PREFIX.md and PREFIX.svg, or PREFIX-VALUE.svg for each value of --each")
  private Path out;

  @Option(names = "--title", paramLabel = "TEXT", description = "title (default: the prefix)")
  private String title;

  /** Called by picocli. */
  public FigureCommand() {}

  @Override
  public Integer call() throws IOException {
    Path folder = out.toAbsolutePath().getParent();
    if (folder == null || !Files.isDirectory(folder)) {
      throw mistake("--out: no such folder: " + folder);
    }
    Results results = Results.read(files);
    Map<String, List<Point>> figures = new LinkedHashMap<>();
    for (Point p : results.points) {
      String name = each.stream().map(p::get).collect(Collectors.joining(" "));
      Map<String, String> others = new LinkedHashMap<>(p.options());
      each.forEach(others::remove);
      figures
          .computeIfAbsent(name, n -> new ArrayList<>())
          .add(new Point(others, p.goodput(), p.abortRate()));
    }
    PrintWriter stdout = spec.commandLine().getOut();
    StringBuilder text = new StringBuilder();
    String heading = title != null ? title : out.getFileName().toString();
    for (Map.Entry<String, List<Point>> figure : figures.entrySet()) {
      Pivot pivot;
      try {
        pivot = new Pivot(figure.getValue(), over, series, names, ratioTo);
      } catch (IllegalArgumentException e) {
        throw mistake(e.getMessage());
      }
      Path svg = svg(figure.getKey());
      text.append("**").append(heading).append(figure.getKey().isEmpty() ? "" : ": ");
      text.append(figure.getKey())
          .append("**, thousand transactions per second (least-most) · aborted attempts");
      if (!ratioTo.isEmpty()) {
        text.append(" · ratio to ").append(String.join(" ", ratioTo.values()));
      }
      text.append("\n\n").append(pivot.markdown()).append('\n');
      try {
        Drawing.of(pivot, heading, figure.getKey()).writeSvg(svg);
        text.append("![").append(figure.getKey()).append("](plots/");
        text.append(svg.getFileName()).append(")\n\n");
        stdout.println("wrote " + svg);
      } catch (NoFontsException e) {
        stdout.println("no figure: " + e.getMessage());
      }
    }
    text.append("```sh\n").append(String.join("\n", results.commands)).append("\n```\n");
    Path table = out.resolveSibling(out.getFileName() + ".md");
    Files.writeString(table, text);
    stdout.println("wrote " + table);
    return Exit.OK;
  }

  private Path svg(String name) {
    String suffix = name.isEmpty() ? "" : "-" + name.replaceAll("[^A-Za-z0-9.]+", "-");
    return out.resolveSibling(out.getFileName() + suffix + ".svg");
  }

  private ParameterException mistake(String message) {
    return new ParameterException(spec.commandLine(), message);
  }
}
