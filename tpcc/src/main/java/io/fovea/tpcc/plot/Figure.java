package io.fovea.tpcc.plot;

import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.geom.AffineTransform;
import java.awt.geom.Rectangle2D;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.imageio.ImageIO;

/**
 * Panels stacked under a title. The same panels give the same bytes on machines with the same
 * fonts. One thread.
 *
 * @since 0.1.0
 */
public final class Figure {
  /** The width in pixels of an SVG; a PNG has {@link #PNG_SCALE} times as many. */
  public static final int WIDTH = 960;

  /** The number of PNG pixels per SVG pixel. */
  public static final int PNG_SCALE = 2;

  private static final int PANEL_HEIGHT = 290;
  private static final int PANEL_GAP = 18;
  private static final int MARGIN = 16;
  private static final int TITLE_SIZE = 17;
  private static final int SUBTITLE_SIZE = 12;
  private static final int LINE_GAP = 5;

  private final String title;
  private final List<String> subtitles;
  private final List<Part> parts = new ArrayList<>();

  /** Whether a panel has a second y axis; all panels then reserve space for it. */
  private boolean right;

  /** A panel of any kind. */
  private interface Part {
    void draw(Graphics2D g, Rectangle2D area);
  }

  /**
   * Creates a figure without panels.
   *
   * @param title the title
   * @param subtitles further lines below the title
   */
  public Figure(String title, List<String> subtitles) {
    this.title = title;
    this.subtitles = List.copyOf(subtitles);
  }

  /**
   * Checks that this machine can draw text.
   *
   * @throws NoFontsException if it cannot
   */
  public static void requireFonts() {
    Fonts.require();
  }

  /**
   * Adds a panel below the others.
   *
   * @param panel the panel
   * @return this
   */
  public Figure add(Panel panel) {
    right |= panel.right != null;
    parts.add((g, area) -> new PanelChart(panel, area, right).draw(g));
    return this;
  }

  /**
   * Adds a panel of bars below the others.
   *
   * @param panel the panel
   * @return this
   */
  public Figure add(BarPanel panel) {
    parts.add((g, area) -> BarChart.draw(panel, g, area));
    return this;
  }

  /**
   * Returns the number of panels.
   *
   * @return their number
   */
  public int panels() {
    return parts.size();
  }

  /**
   * Returns the height in pixels of an SVG.
   *
   * @return the height
   */
  public int height() {
    return headHeight() + parts.size() * (PANEL_HEIGHT + PANEL_GAP);
  }

  private int headHeight() {
    return MARGIN + TITLE_SIZE + LINE_GAP + subtitles.size() * (SUBTITLE_SIZE + LINE_GAP) + MARGIN;
  }

  /**
   * Renders the figure as SVG.
   *
   * @return the document
   * @throws NoFontsException if this machine cannot draw text
   */
  public String svg() {
    Fonts.require();
    SvgGraphics g = new SvgGraphics(WIDTH, height());
    draw(g);
    g.dispose();
    return g.document(title);
  }

  /**
   * Renders the figure as an image, {@link #PNG_SCALE} times as large as the SVG.
   *
   * @return the image
   * @throws NoFontsException if this machine cannot draw text
   */
  public BufferedImage image() {
    Fonts.require();
    BufferedImage image =
        new BufferedImage(PNG_SCALE * WIDTH, PNG_SCALE * height(), BufferedImage.TYPE_INT_RGB);
    Graphics2D g = image.createGraphics();
    g.setTransform(AffineTransform.getScaleInstance(PNG_SCALE, PNG_SCALE));
    g.setClip(0, 0, WIDTH, height());
    draw(g);
    g.dispose();
    return image;
  }

  /**
   * Writes the figure as SVG.
   *
   * @param file the file, replaced if it exists
   * @throws IOException if it cannot be written
   * @throws NoFontsException if this machine cannot draw text
   */
  public void writeSvg(Path file) throws IOException {
    String svg = svg();
    Files.writeString(file, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + svg);
  }

  /**
   * Writes the figure as PNG.
   *
   * @param file the file, replaced if it exists
   * @throws IOException if it cannot be written
   * @throws NoFontsException if this machine cannot draw text
   */
  public void writePng(Path file) throws IOException {
    BufferedImage image = image();
    ImageIO.setUseCache(false);
    try (OutputStream out = Files.newOutputStream(file)) {
      if (!ImageIO.write(image, "png", out)) {
        throw new IOException("this JDK cannot write PNG");
      }
    }
  }

  private void draw(Graphics2D g) {
    g.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
    g.setRenderingHint(RenderingHints.KEY_STROKE_CONTROL, RenderingHints.VALUE_STROKE_PURE);
    g.setRenderingHint(
        RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
    // Text measurement: the same for both formats, and for letters of any size.
    g.setRenderingHint(
        RenderingHints.KEY_FRACTIONALMETRICS, RenderingHints.VALUE_FRACTIONALMETRICS_ON);
    g.setPaint(Color.WHITE);
    g.fill(new Rectangle2D.Double(0, 0, WIDTH, height()));
    int y = MARGIN + TITLE_SIZE;
    g.setPaint(Color.BLACK);
    g.setFont(Fonts.bold(TITLE_SIZE));
    g.drawString(title, MARGIN, y);
    g.setPaint(Color.DARK_GRAY);
    g.setFont(Fonts.plain(SUBTITLE_SIZE));
    for (String line : subtitles) {
      y += SUBTITLE_SIZE + LINE_GAP;
      g.drawString(line, MARGIN, y);
    }
    for (int i = 0; i < parts.size(); i++) {
      double top = headHeight() + (double) i * (PANEL_HEIGHT + PANEL_GAP);
      parts.get(i).draw(g, new Rectangle2D.Double(0, top, WIDTH, PANEL_HEIGHT));
    }
  }
}
