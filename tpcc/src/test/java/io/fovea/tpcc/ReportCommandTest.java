package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.JsonReport;
import io.fovea.tpcc.bench.Sampler;
import io.fovea.tpcc.bench.Series;
import io.fovea.tpcc.plot.Figure;
import io.fovea.tpcc.plot.PlotFonts;
import io.fovea.tpcc.plot.Svg;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import javax.imageio.ImageIO;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests {@code tpcc.sh report} on synthetic files; {@link EndToEndTest} uses those of a run. */
class ReportCommandTest {
  @TempDir Path folder;

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int report(Object... args) {
    String[] all = new String[args.length + 1];
    all[0] = "report";
    for (int i = 0; i < args.length; i++) {
      all[i + 1] = args[i].toString();
    }
    out.getBuffer().setLength(0);
    err.getBuffer().setLength(0);
    return Main.execute(SmallDatabase.SCALE, new PrintWriter(out), new PrintWriter(err), all);
  }

  /** Writes a report of ten seconds, two of which are warm-up. */
  private Path json(String name, String... extraColumns) throws IOException {
    Series series = new Series(1);
    for (int i = 1; i <= 10; i++) {
      series.add(Series.SECOND, i);
      for (String column : Series.STANDARD) {
        if (!column.equals(Series.SECOND)) {
          series.add(column, 100 * i);
        }
      }
      for (String column : extraColumns) {
        series.add(column, i);
      }
    }
    series.warmupSeconds(2);
    series.mark(2, Sampler.WARMUP_ENDS);
    series.mark(5, "half of it");
    JsonObject options = new JsonObject();
    options.addProperty("warehouses", 3);
    options.addProperty("bufferBytes", 64 << 20);
    JsonReport report = new JsonReport("run", options, false);
    report.series(series);
    Path file = folder.resolve(name);
    report.write(file);
    return file;
  }

  private Path hlog(String name) throws IOException {
    Path file = folder.resolve(name);
    HistogramLogWriter writer = new HistogramLogWriter(file.toFile());
    writer.outputLogFormatVersion();
    writer.outputStartTime(1_000_000);
    writer.setBaseTime(1_000_000);
    writer.outputLegend();
    for (int second = 0; second < 5; second++) {
      for (String tag : List.of("newOrder", "payment")) {
        Histogram h = new Histogram(3);
        h.setTag(tag);
        for (int i = 0; i < 1_000; i++) {
          h.recordValue(1_000 + 50 * i);
        }
        writer.outputIntervalHistogram(second, second + 1, h, 1);
      }
    }
    writer.close();
    return file;
  }

  private Svg drawn(String name) throws IOException {
    assertTrue(out.toString().contains(name), out.toString());
    return new Svg(Files.readString(folder.resolve(name)));
  }

  private void expect(int code, int found) {
    assertEquals(code, found, () -> out + "\n" + err);
  }

  @Test
  void oneRun() throws IOException {
    PlotFonts.assume();
    expect(Exit.OK, report(json("small.json"), "--out", folder));
    List<String> texts = drawn("small.svg").texts();
    for (String text :
        List.of(
            "small",
            "3 warehouses, buffer 64m",
            "Throughput",
            "transactions",
            "Latency",
            "median",
            "99.9 %",
            "maximum",
            "Data file",
            "reads",
            "writes",
            "warm-up",
            "half of it")) {
      assertTrue(texts.contains(text), text + " in " + texts);
    }
    assertFalse(texts.contains("Latency by percentile"), "there are no histograms");
    assertFalse(texts.contains(Sampler.WARMUP_ENDS), "the warm-up is shaded");
  }

  @Test
  void histogramsOfAReportAreDrawn() throws IOException {
    PlotFonts.assume();
    hlog("small.hlog");
    expect(Exit.OK, report(json("small.json"), "--out", folder));
    List<String> texts = drawn("small.svg").texts();
    assertTrue(texts.containsAll(List.of("Latency by percentile", "new order", "payment", "all")));
  }

  @Test
  void twoRunsHaveTheirNamesInTheLegend() throws IOException {
    PlotFonts.assume();
    Path a = json("a.json");
    Path b = json("b.json");
    expect(Exit.OK, report(a, b, "--out", folder, "--title", "Two of them"));
    List<String> texts = drawn("a-b.svg").texts();
    for (String text :
        List.of("Two of them", "a", "b", "a: median", "b: median", "a: reads", "b: writes")) {
      assertTrue(texts.contains(text), text + " in " + texts);
    }
    expect(Exit.OK, report(a, a, "--out", folder.resolve("twice.svg")));
    assertTrue(drawn("twice.svg").texts().containsAll(List.of("a (1)", "a (2)")));
  }

  @Test
  void histogramsAlone() throws IOException {
    PlotFonts.assume();
    expect(Exit.OK, report(hlog("small.hlog"), "--out", folder));
    List<String> texts = drawn("small.svg").texts();
    assertTrue(texts.containsAll(List.of("Throughput", "Latency", "new order")), "" + texts);
    assertFalse(texts.contains("Data file"), "which histograms do not contain");
    RunFile run = RunFile.read(folder.resolve("small.hlog"));
    assertEquals(5, run.series().size());
    assertEquals(2_000, run.series().column(Series.OPERATIONS)[4], 1);
    assertEquals(5, run.series().column(Series.SECOND)[4], 0.01);
    assertEquals(26, run.series().column(Series.P50_MICROS)[0], 0.1);
    assertEquals(5_000, run.latencies().get("payment").getTotalCount());
  }

  @Test
  void extraColumnsAreDrawn() throws IOException {
    PlotFonts.assume();
    expect(Exit.OK, report(json("extra.json", "workingSetPages", "framesFree"), "--out", folder));
    List<String> texts = drawn("extra.svg").texts();
    assertEquals(2, texts.stream().filter("working set pages"::equals).count(), "legend and axis");
    assertTrue(texts.contains("Frames free"), "a separate panel: " + texts);
  }

  @Test
  void pngAndSvg() throws IOException {
    PlotFonts.assume();
    Path a = json("a.json");
    expect(Exit.OK, report(a, "--format=png", "--out", folder));
    assertEquals(
        Figure.PNG_SCALE * Figure.WIDTH, ImageIO.read(folder.resolve("a.png").toFile()).getWidth());
    expect(Exit.OK, report(a, "--out", folder.resolve("b.PNG")));
    assertTrue(ImageIO.read(folder.resolve("b.PNG").toFile()).getHeight() > 500);
    expect(Exit.OK, report(a, "--out", folder.resolve("c"), "--format", "svg"));
    assertFalse(drawn("c").texts().isEmpty());
  }

  @Test
  void outAndFormatMustAgree() throws IOException {
    Path a = json("a.json");
    expect(Exit.USAGE, report(a, "--out", folder.resolve("a.png"), "--format", "svg"));
    expect(Exit.USAGE, report(a, "--out", folder.resolve("a.pdf")));
    expect(Exit.USAGE, report(a, "--out", folder.resolve("nowhere").resolve("a.svg")));
    expect(Exit.USAGE, report(a, "--format", "gif"));
    expect(Exit.USAGE, report());
    expect(Exit.USAGE, report(a, a, a));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "my diary | neither a report",
        "'' | neither a report",
        "{} | not a report of this driver",
        "{\"a\": | it is not JSON",
        "{\"command\":\"check\"} | has no series",
        "{\"command\":\"run\",\"reportVersion\":2,\"series\":{}} | version is 2",
        "{\"command\":\"run\",\"reportVersion\":1,\"series\":{}} | series is broken",
        "#[Histogram log format version 1.3] | neither a report",
        "#[x]%0.000,1.000,1.0,nonsense | histograms are broken"
      })
  void invalidReportsAreRefusedInOneLine(String content, String why) throws IOException {
    Path file = folder.resolve("file.json");
    Files.writeString(file, content.replace('%', '\n'));
    expect(Exit.USAGE, report(file, "--out", folder));
    assertEquals(1, err.toString().lines().count(), err.toString());
    assertTrue(err.toString().startsWith("tpcc: " + file), err.toString());
    assertTrue(err.toString().contains(why), err.toString());
  }

  @Test
  void missingFileIsRefused() {
    expect(Exit.USAGE, report(folder.resolve("nothing.json")));
    assertTrue(err.toString().contains("does not exist"), err.toString());
  }
}
