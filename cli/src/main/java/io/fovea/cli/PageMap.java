package io.fovea.cli;

import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import javax.imageio.ImageIO;

/**
 * A map of pages: rows of cells, in file order. If there are more pages than cells, a cell
 * represents several, and has their most frequent color.
 */
final class PageMap {
  /** The side of a cell, in pixels. */
  private static final int SIDE = 4;

  /** The height of a legend line, in pixels. */
  private static final int LINE = 18;

  /** A map is about twice as wide as it is high. */
  private static final int SHAPE = 2;

  /** The golden angle: neighboring hues are far apart. */
  private static final double ANGLE = 137.50776;

  /**
   * A color.
   *
   * @param rgb red, green, blue
   * @param what its meaning
   */
  record Colour(int rgb, String what) implements Comparable<Colour> {
    /** The color of the nth of many things. */
    static Colour hue(int n, double lightness, String what) {
      double hue = n * ANGLE % 360;
      double chroma = (1 - Math.abs(2 * lightness - 1)) * 0.6;
      return new Colour(
          part(hue, 0, chroma, lightness) << 16
              | part(hue, 120, chroma, lightness) << 8
              | part(hue, 240, chroma, lightness),
          what);
    }

    /** A primary color, which is strongest at its own hue. */
    private static int part(double hue, int own, double chroma, double lightness) {
      double away = Math.abs((hue - own + 540) % 360 - 180);
      double much = Math.clamp(2 - away / 60, 0.0, 1.0);
      return (int) Math.round(255 * (lightness + chroma * (much - 0.5)));
    }

    /** As in style sheets. */
    String css() {
      return String.format(Locale.ROOT, "#%06x", rgb);
    }

    @Override
    public int compareTo(Colour other) {
      return Comparator.comparing(Colour::what).thenComparing(Colour::rgb).compare(this, other);
    }
  }

  private final int pagesPerCell;
  private final int columns;
  private final int[] cells;
  private int filled;

  /** The pages of the incomplete cell, by color. */
  private final Map<Integer, Integer> open = new HashMap<>();

  private int openPages;

  /**
   * Creates an empty map.
   *
   * @param pages the number of pages to be added
   * @param most the maximum number of cells
   */
  PageMap(long pages, int most) {
    this.pagesPerCell = Math.toIntExact(Math.max(1, Math.ceilDiv(pages, most)));
    int count = Math.toIntExact(Math.max(1, Math.ceilDiv(pages, pagesPerCell)));
    this.columns = (int) Math.ceil(Math.sqrt((double) count * SHAPE));
    this.cells = new int[count];
  }

  int pagesPerCell() {
    return pagesPerCell;
  }

  int columns() {
    return columns;
  }

  private int lines() {
    return Math.ceilDiv(cells.length, columns);
  }

  /** Adds the next page. */
  void add(Colour colour) {
    open.merge(colour.rgb, 1, Integer::sum);
    if (++openPages == pagesPerCell) {
      close();
    }
  }

  private void close() {
    if (openPages > 0) {
      cells[filled++] = open.entrySet().stream().max(Map.Entry.comparingByValue()).get().getKey();
      open.clear();
      openPages = 0;
    }
  }

  /** Renders an SVG with a legend below. Adjacent cells of one color are one rectangle. */
  byte[] svg(List<Colour> legend) {
    close();
    int top = lines() * SIDE + LINE;
    StringBuilder s = new StringBuilder();
    s.append(
        String.format(
            Locale.ROOT,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\""
                + " font-family=\"sans-serif\" font-size=\"12\" shape-rendering=\"crispEdges\">%n",
            Math.max(columns * SIDE, 40 * LINE),
            top + legend.size() * LINE));
    for (int from = 0; from < filled; ) {
      int line = from / columns;
      int to = from + 1;
      while (to < filled && to / columns == line && cells[to] == cells[from]) {
        to++;
      }
      rect(s, from % columns * SIDE, line * SIDE, (to - from) * SIDE, SIDE, cells[from]);
      from = to;
    }
    for (int i = 0; i < legend.size(); i++) {
      Colour c = legend.get(i);
      rect(s, 0, top + i * LINE, 12, 12, c.rgb);
      s.append(
          String.format(
              Locale.ROOT,
              "<text x=\"%d\" y=\"%d\">%s</text>%n",
              LINE,
              top + i * LINE + 11,
              escaped(c.what)));
    }
    return s.append("</svg>\n").toString().getBytes(StandardCharsets.UTF_8);
  }

  private static void rect(StringBuilder s, int x, int y, int width, int height, int rgb) {
    s.append(
        String.format(
            Locale.ROOT,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#%06x\"/>%n",
            x,
            y,
            width,
            height,
            rgb));
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
  }

  /** Renders a PNG without a legend, which would need a font. */
  byte[] png() throws IOException {
    close();
    BufferedImage image =
        new BufferedImage(columns * SIDE, lines() * SIDE, BufferedImage.TYPE_INT_RGB);
    for (int y = 0; y < image.getHeight(); y++) {
      for (int x = 0; x < image.getWidth(); x++) {
        int cell = y / SIDE * columns + x / SIDE;
        image.setRGB(x, y, cell < filled ? cells[cell] : 0xFFFFFF);
      }
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ImageIO.write(image, "png", out);
    return out.toByteArray();
  }
}
