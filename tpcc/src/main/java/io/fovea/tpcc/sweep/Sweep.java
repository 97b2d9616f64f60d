package io.fovea.tpcc.sweep;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.Progress;
import io.fovea.tpcc.plot.Axis;
import io.fovea.tpcc.plot.Figure;
import io.fovea.tpcc.plot.Look;
import io.fovea.tpcc.plot.NoFontsException;
import io.fovea.tpcc.plot.Panel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Runs a matrix in rounds. Each round runs every combination once, so that a slow phase of the
 * machine affects all of them. One thread.
 */
final class Sweep {
  /** Runs a command of the driver. */
  interface Start {
    /**
     * Runs a command to its end.
     *
     * @return its exit code
     */
    int run(List<String> args, Path output) throws IOException;
  }

  private final Matrix matrix;

  /** The options that vary within a JVM, in turn. */
  private final Matrix then;

  private final int rounds;
  private final List<String> command;
  private final Path folder;
  private final Progress progress;
  private final List<Cell> cells = new ArrayList<>();

  private final List<List<Cell>> groups = new ArrayList<>();

  Sweep(
      Matrix matrix,
      Matrix then,
      int rounds,
      List<String> command,
      Path folder,
      Progress progress) {
    this.matrix = matrix;
    this.then = then;
    this.rounds = rounds;
    this.command = command;
    this.folder = folder;
    this.progress = progress;
    for (Map<String, String> outer : matrix.cells()) {
      List<Cell> group = new ArrayList<>();
      for (Map<String, String> inner : then.cells()) {
        Map<String, String> options = new LinkedHashMap<>(outer);
        options.putAll(inner);
        group.add(new Cell(options));
      }
      groups.add(group);
      cells.addAll(group);
    }
  }

  /** Runs the whole matrix, and returns the highest exit code. */
  int run(Start start) throws IOException {
    Files.createDirectories(folder);
    int worst = Exit.OK;
    for (int round = 1; round <= rounds; round++) {
      for (List<Cell> group : groups) {
        int code = run(start, group, round);
        if (code == Exit.INTERRUPTED || code == Exit.USAGE) {
          throw new DriverException(
              code,
              "the command ended with " + code + ": see " + file(group.getFirst(), round, ".txt"));
        }
        worst = Math.max(worst, code);
      }
    }
    return worst;
  }

  private Path file(Cell cell, int round, String ending) {
    return folder.resolve(Matrix.name(cell.options) + "-" + round + ending);
  }

  private static List<String> options(Cell cell, Path json) {
    List<String> options = Matrix.arguments(cell.options);
    options.add("--json=" + json);
    return options;
  }

  /** Writes options without dashes: picocli would reject a value that looks like an option. */
  private static String then(Cell cell, Path json) {
    return "--then="
        + options(cell, json).stream().map(o -> o.substring(2)).collect(Collectors.joining(" "));
  }

  private int run(Start start, List<Cell> group, int round) throws IOException {
    List<String> args = new ArrayList<>(command);
    if (group.size() == 1) {
      Path json = file(group.getFirst(), round, ".json");
      Files.deleteIfExists(json);
      args.addAll(options(group.getFirst(), json));
    } else {
      // Runs the first and the last cell beforehand and discards the results: the JVM is still
      // compiling then.
      Path forgotten = file(group.getFirst(), round, ".first");
      args.addAll(options(group.getFirst(), forgotten));
      args.add(then(group.getLast(), forgotten));
      for (Cell cell : group) {
        Path json = file(cell, round, ".json");
        Files.deleteIfExists(json);
        args.add(then(cell, json));
      }
    }
    int code = start.run(args, file(group.getFirst(), round, ".txt"));
    for (Cell cell : group) {
      Path json = file(cell, round, ".json");
      JsonObject report =
          Files.exists(json)
              ? JsonParser.parseString(Files.readString(json)).getAsJsonObject()
              : null;
      boolean good =
          report != null && (!report.has("consistent") || report.get("consistent").getAsBoolean());
      if (good) {
        cell.add(report);
      } else {
        cell.failed(code);
      }
      double[] goodput = cell.goodput();
      progress.say(
          "round %d of %d  %s: %s",
          round,
          rounds,
          cell.options.isEmpty() ? "no option" : cell.options,
          good
              ? String.format(Locale.ROOT, "%,.0f tx/s", goodput[goodput.length - 1])
              : "ended with " + code);
    }
    return code;
  }

  // ------------------------------------------------------------------------------------- results

  String markdown(String title) {
    StringBuilder b = new StringBuilder();
    b.append("# ").append(title).append("\n\n```sh\ntpcc/tpcc.sh sweep --rounds ").append(rounds);
    b.append(matrix.text("--vary")).append(then.text("--then"));
    b.append(" \\\n  ").append(String.join(" ", command)).append("\n```\n\n|");
    matrix.names().forEach(name -> column(b, name));
    then.names().forEach(name -> column(b, name));
    b.append(
        " goodput, tx/s | least to most | operations/s | aborted attempts | p50, us | p99, us |\n|");
    b.append("---|".repeat(matrix.names().size() + then.names().size() + 6)).append('\n');
    for (Cell cell : cells) {
      b.append('|');
      cell.options.values().forEach(value -> b.append(' ').append(value).append(" |"));
      double[] goodput = cell.goodput();
      double abortRate = Cell.median(cell.abortRate());
      column(b, format("%,.0f", Cell.median(goodput)) + failures(cell));
      column(
          b,
          goodput.length == 0
              ? "-"
              : format("%,.0f", Arrays.stream(goodput).min().orElse(0))
                  + " to "
                  + format("%,.0f", Arrays.stream(goodput).max().orElse(0)));
      column(b, format("%,.0f", Cell.median(cell.operations())));
      column(b, format("%.2f %%", 100 * abortRate));
      column(b, format("%,.1f", Cell.median(cell.latency("p50"))));
      column(b, format("%,.1f", Cell.median(cell.latency("p99"))));
      b.append('\n');
    }
    return b.append("\nMedians of ")
        .append(Progress.count(rounds, "round"))
        .append(" in turn.\n")
        .toString();
  }

  private static void column(StringBuilder b, String text) {
    b.append(' ').append(text).append(" |");
  }

  private static String format(String format, double value) {
    return Double.isNaN(value) ? "-" : String.format(Locale.ROOT, format, value);
  }

  private static String failures(Cell cell) {
    return cell.failures().isEmpty() ? "" : " (ended with " + cell.failures() + ")";
  }

  String json(String title) {
    JsonObject o = new JsonObject();
    o.addProperty("title", title);
    o.addProperty("command", String.join(" ", command));
    o.addProperty("rounds", rounds);
    o.addProperty("vary", matrix.text("--vary").strip());
    o.addProperty("then", then.text("--then").strip());
    JsonArray array = new JsonArray();
    cells.forEach(cell -> array.add(cell.toJson()));
    o.add("cells", array);
    return new GsonBuilder().setPrettyPrinting().serializeNulls().create().toJson(o) + "\n";
  }

  /** Plots goodput and abort rate over the numeric option; null if none is varied. */
  Figure figure(String title) {
    String axis = then.axis() != null ? then.axis() : matrix.axis();
    if (axis == null) {
      return null;
    }
    Panel goodput = new Panel("Goodput", Axis.linear(axis), Axis.linear("transactions per second"));
    Panel aborts = new Panel("Abort rate", Axis.linear(axis), Axis.linear("% of the attempts"));
    Map<String, List<Cell>> lines = new LinkedHashMap<>();
    for (Cell cell : cells) {
      Map<String, String> others = new LinkedHashMap<>(cell.options);
      others.remove(axis);
      String name = others.isEmpty() ? "all" : String.join(", ", others.values());
      lines.computeIfAbsent(name, n -> new ArrayList<>()).add(cell);
    }
    int n = 0;
    for (Map.Entry<String, List<Cell>> line : lines.entrySet()) {
      Look look = look(n++);
      List<Cell> list = line.getValue();
      double[] xs =
          list.stream().mapToDouble(c -> Double.parseDouble(c.options.get(axis))).toArray();
      goodput.line(
          line.getKey(),
          xs,
          list.stream().mapToDouble(c -> Cell.median(c.goodput())).toArray(),
          look);
      aborts.line(
          line.getKey(),
          xs,
          list.stream().mapToDouble(c -> 100 * Cell.median(c.abortRate())).toArray(),
          look);
    }
    return new Figure(title, List.of(String.join(" ", command))).add(goodput).add(aborts);
  }

  /** Returns one of six colors, then the same dashed and dotted. */
  private static Look look(int n) {
    Look.Hue[] hues = {
      Look.Hue.BLUE,
      Look.Hue.VERMILION,
      Look.Hue.GREEN,
      Look.Hue.PURPLE,
      Look.Hue.ORANGE,
      Look.Hue.SKY
    };
    Look.Dash[] dashes = {Look.Dash.SOLID, Look.Dash.DASHED, Look.Dash.DOTTED};
    return new Look(hues[n % hues.length], dashes[n / hues.length % dashes.length]);
  }

  /** Writes table, JSON and, if possible, a figure into the folder. */
  void write(String title) throws IOException {
    write("sweep.md", markdown(title));
    write("sweep.json", json(title));
    Figure figure = figure(title);
    if (figure != null) {
      Path file = folder.resolve("sweep.svg");
      try {
        figure.writeSvg(file);
        progress.say("wrote %s", file);
      } catch (NoFontsException e) {
        progress.say("no figure: %s", e.getMessage());
      }
    }
  }

  private void write(String name, String text) throws IOException {
    Files.writeString(folder.resolve(name), text);
    progress.say("wrote %s", folder.resolve(name));
  }
}
