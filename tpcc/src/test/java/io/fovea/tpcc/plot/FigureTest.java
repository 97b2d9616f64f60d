package io.fovea.tpcc.plot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.tpcc.plot.Look.Hue;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Element;

class FigureTest {
  private static final double[] XS = IntStream.rangeClosed(1, 50).asDoubleStream().toArray();

  @TempDir Path folder;

  @BeforeEach
  void assumeFonts() {
    PlotFonts.assume();
  }

  private static double[] ys(double factor) {
    return IntStream.rangeClosed(1, 50).mapToDouble(i -> factor * i).toArray();
  }

  private static Panel panel() {
    return new Panel("Speed", Axis.linear("time (s)"), Axis.linear("things per second"))
        .line("one", XS, ys(1_000), Look.solid(Hue.BLUE))
        .line("two", XS, ys(500), Look.dashed(Hue.VERMILION))
        .shade(0, 10, "warm-up")
        .mark(30, "a mark");
  }

  private static Figure figure() {
    double[] percentiles = {0, 50, 90, 99, 99.9, 99.99};
    double[] micros = {3, 12, 40, 800, 9_000, 1_200_000};
    return new Figure("Title <&>", List.of("more of it"))
        .add(panel())
        .add(
            new Panel("Delay", Axis.linear("time (s)"), Axis.log("delay (µs)"))
                .line("median", XS, ys(3), Look.solid(Hue.GREEN))
                .rightLine(Axis.linear("size"), "the size", XS, ys(0.1), Look.dashed(Hue.GRAY)))
        .add(
            new Panel("Curve", new Axis("percentile", Axis.Scale.NINES), Axis.log("delay (µs)"))
                .line("all", percentiles, micros, Look.solid(Hue.BLACK)));
  }

  /** Returns the lines of a panel, which are long paths in their colors. */
  private static List<Element> lines(Svg svg, Hue hue) {
    String rgb = String.format("#%06x", hue.color.getRGB() & 0xFFFFFF);
    return svg.elements("path").stream()
        .filter(e -> e.getAttribute("stroke").equals(rgb))
        .filter(e -> e.getAttribute("d").chars().filter(c -> c == 'L').count() > 2)
        .toList();
  }

  @Test
  void svgContainsEverythingDrawn() {
    Svg svg = new Svg(figure().svg());
    List<String> texts = svg.texts();
    for (String expected :
        List.of(
            "Title <&>",
            "more of it",
            "Speed",
            "Delay",
            "Curve",
            "one",
            "two",
            "median",
            "the size",
            "all",
            "time (s)",
            "things per second",
            "delay (µs)",
            "percentile",
            "size",
            "warm-up",
            "a mark")) {
      assertTrue(texts.contains(expected), expected + " in " + texts);
    }
    assertTrue(texts.contains("50,000"), "separated thousands: " + texts);
    assertTrue(texts.containsAll(List.of("0 %", "90 %", "99 %", "99.9 %", "99.99 %")), "" + texts);
    assertTrue(texts.containsAll(List.of("10", "100", "1,000", "1,000,000")), "" + texts);
    for (Hue hue : List.of(Hue.BLUE, Hue.VERMILION, Hue.GREEN, Hue.GRAY, Hue.BLACK)) {
      assertFalse(lines(svg, hue).isEmpty(), hue + "");
    }
    assertEquals("960", svg.root().getAttribute("width"));
    assertEquals(figure().height() + "", svg.root().getAttribute("height"));
  }

  @Test
  void theSameFigureGivesTheSameBytes() {
    assertEquals(figure().svg(), figure().svg());
  }

  @Test
  void pngIsTwiceAsLargeAndNotBlank() throws IOException {
    Path file = folder.resolve("figure.png");
    figure().writePng(file);
    BufferedImage image = ImageIO.read(file.toFile());
    assertEquals(Figure.PNG_SCALE * Figure.WIDTH, image.getWidth());
    assertEquals(Figure.PNG_SCALE * figure().height(), image.getHeight());
    for (Hue hue : List.of(Hue.BLUE, Hue.VERMILION, Hue.GREEN)) {
      long pixels =
          IntStream.range(0, image.getHeight())
              .mapToLong(
                  y ->
                      IntStream.range(0, image.getWidth())
                          .filter(x -> image.getRGB(x, y) == hue.color.getRGB())
                          .count())
              .sum();
      assertTrue(pixels > 500, hue + ": " + pixels);
    }
  }

  @Test
  void missingValueIsAGap() {
    double[] gapped = ys(1);
    gapped[20] = Double.NaN;
    Panel panel =
        new Panel("Gap", Axis.linear("x"), Axis.linear("y"))
            .line("gapped", XS, gapped, Look.solid(Hue.PURPLE));
    List<Element> lines = lines(new Svg(new Figure("", List.of()).add(panel).svg()), Hue.PURPLE);
    assertEquals(1, lines.size());
    assertEquals(2, lines.get(0).getAttribute("d").chars().filter(c -> c == 'M').count());
  }

  @Test
  void emptyPanelsAreDrawn() {
    Panel empty =
        new Panel("Nothing", Axis.linear("x"), Axis.log("y"))
            .line("none", new double[0], new double[0], Look.solid(Hue.BLUE));
    Panel zeros =
        new Panel("Zeros", Axis.linear("x"), Axis.log("y"))
            .line("zeros", XS, ys(0), Look.solid(Hue.BLUE));
    Panel flat =
        new Panel("Flat", Axis.linear("x"), Axis.linear("y"))
            .line("flat", XS, ys(0), Look.solid(Hue.BLUE));
    Svg svg = new Svg(new Figure("", List.of()).add(empty).add(zeros).add(flat).svg());
    assertTrue(svg.texts().containsAll(List.of("Nothing", "Zeros", "Flat")));
    assertEquals(1, lines(svg, Hue.BLUE).size(), "only the flat one has values");
  }

  @Test
  void labelsOfMarksDoNotOverlap() {
    Panel panel = panel();
    for (int i = 0; i < 20; i++) {
      panel.mark(40 + 0.1 * i, "close to each other");
    }
    Svg svg = new Svg(new Figure("", List.of()).add(panel).svg());
    List<String> rows =
        svg.elements("text").stream()
            .filter(e -> e.getTextContent().equals("close to each other"))
            .map(e -> e.getAttribute("y"))
            .toList();
    assertTrue(rows.size() > 1 && rows.size() < 20, "as many as there is space for: " + rows);
    assertEquals(rows.size(), rows.stream().distinct().count(), "each in a separate row");
  }

  @Test
  void pointsAndValuesMustMatch() {
    Panel panel = new Panel("", Axis.linear(""), Axis.linear(""));
    assertThrows(
        IllegalArgumentException.class,
        () -> panel.line("x", XS, new double[3], Look.solid(Hue.BLUE)));
  }

  @Test
  void filesAreReplaced() throws IOException {
    Path file = folder.resolve("figure.svg");
    Files.writeString(file, "x".repeat(1 << 20));
    figure().writeSvg(file);
    String text = Files.readString(file);
    assertTrue(text.startsWith("<?xml ") && text.endsWith("</svg>\n"));
    assertFalse(new Svg(text).texts().isEmpty());
  }
}
