package io.fovea.tpcc.plot;

import java.awt.AlphaComposite;
import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics;
import java.awt.Graphics2D;
import java.awt.Image;
import java.awt.Shape;
import java.awt.font.GlyphVector;
import java.awt.geom.AffineTransform;
import java.awt.geom.PathIterator;
import java.awt.geom.Rectangle2D;
import java.awt.image.BufferedImage;
import java.awt.image.BufferedImageOp;
import java.awt.image.ImageObserver;
import java.text.AttributedCharacterIterator;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/**
 * Writes drawings as SVG: shapes in plain colors, lines, text and rectangular clips, which is all
 * that charts need. Text stays text. The output is deterministic: no times, and only numbers as
 * ids.
 *
 * <p>This is the drawing target of JFreeChart. Existing libraries were rejected: JFreeSVG is under
 * the GPL, VectorGraphics2D has had no release since 2017, and Batik brings a DOM in about ten
 * jars.
 *
 * <p>Images, gradients, XOR and other clips throw {@link UnsupportedOperationException}. One
 * thread.
 */
final class SvgGraphics extends StatefulGraphics {
  /** Families for viewers, with letters about as wide as those of the layout. */
  private static final String FONTS = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif";

  private static final double OPAQUE = 255;

  /** Inverse of the precision of coordinates: a tenth of a pixel. */
  private static final double PRECISION = 10;

  private final int width;
  private final int height;
  private final StringBuilder body;
  private final Map<String, String> clips;

  /** Creates an empty drawing. */
  SvgGraphics(int width, int height) {
    super(
        new BufferedImage(1, 1, BufferedImage.TYPE_INT_ARGB).createGraphics(),
        new Rectangle2D.Double(0, 0, width, height));
    this.width = width;
    this.height = height;
    this.body = new StringBuilder();
    this.clips = new LinkedHashMap<>();
  }

  private SvgGraphics(SvgGraphics parent) {
    super(
        (Graphics2D) parent.state.create(),
        new Rectangle2D.Double(0, 0, parent.width, parent.height));
    this.width = parent.width;
    this.height = parent.height;
    this.body = parent.body;
    this.clips = parent.clips;
    this.clip = parent.clip;
  }

  /** Returns a graphics object that draws into the same document, with separate state. */
  @Override
  public Graphics create() {
    return new SvgGraphics(this);
  }

  /** Returns the document. */
  String document(String title) {
    StringBuilder svg = new StringBuilder();
    svg.append("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"").append(width);
    svg.append("\" height=\"").append(height).append("\" viewBox=\"0 0 ").append(width);
    svg.append(' ').append(height).append("\" role=\"img\" font-family=\"").append(FONTS);
    svg.append("\" fill=\"none\">\n<title>").append(escape(title)).append("</title>\n");
    if (!clips.isEmpty()) {
      svg.append("<defs>\n");
      clips.forEach(
          (rectangle, id) ->
              svg.append("<clipPath id=\"")
                  .append(id)
                  .append("\"><rect ")
                  .append(rectangle)
                  .append("/></clipPath>\n"));
      svg.append("</defs>\n");
    }
    return svg.append(body).append("</svg>\n").toString();
  }

  @Override
  public void draw(Shape shape) {
    if (!(state.getStroke() instanceof BasicStroke s)) {
      throw new UnsupportedOperationException("stroke " + state.getStroke());
    }
    StringBuilder style = new StringBuilder();
    style.append(color("stroke"));
    style.append(" stroke-width=\"").append(number(s.getLineWidth(), 100)).append('"');
    if (s.getDashArray() != null) {
      style.append(" stroke-dasharray=\"");
      for (int i = 0; i < s.getDashArray().length; i++) {
        style.append(i == 0 ? "" : ",").append(number(s.getDashArray()[i], PRECISION));
      }
      style.append('"');
    }
    if (s.getLineJoin() == BasicStroke.JOIN_ROUND) {
      style.append(" stroke-linejoin=\"round\"");
    }
    element(shape, style.toString());
  }

  @Override
  public void fill(Shape shape) {
    element(shape, color("fill"));
  }

  private void element(Shape shape, String style) {
    Shape s = state.getTransform().createTransformedShape(shape);
    Rectangle2D bounds = s.getBounds2D();
    if (!touches(bounds)) {
      return;
    }
    if (shape instanceof Rectangle2D && untilted()) {
      body.append("<rect ").append(rectangle(bounds));
    } else {
      String path = path(s);
      if (path.isEmpty()) {
        return;
      }
      body.append("<path d=\"").append(path).append('"');
    }
    body.append(style).append(clipped(bounds)).append("/>\n");
  }

  /**
   * Tells whether anything would be visible. A line has bounds without area, which intersect
   * nothing.
   */
  private boolean touches(Rectangle2D bounds) {
    return bounds.getMaxX() >= clip.getMinX()
        && bounds.getMinX() <= clip.getMaxX()
        && bounds.getMaxY() >= clip.getMinY()
        && bounds.getMinY() <= clip.getMaxY();
  }

  private boolean untilted() {
    AffineTransform t = state.getTransform();
    return t.getShearX() == 0 && t.getShearY() == 0;
  }

  private static String rectangle(Rectangle2D r) {
    return "x=\""
        + number(r.getX())
        + "\" y=\""
        + number(r.getY())
        + "\" width=\""
        + number(r.getWidth())
        + "\" height=\""
        + number(r.getHeight())
        + '"';
  }

  /** Returns a clip attribute, or nothing if the shape is inside the clip. */
  private String clipped(Rectangle2D bounds) {
    if (bounds.getMinX() >= clip.getMinX()
        && bounds.getMaxX() <= clip.getMaxX()
        && bounds.getMinY() >= clip.getMinY()
        && bounds.getMaxY() <= clip.getMaxY()) {
      return "";
    }
    String id = clips.computeIfAbsent(rectangle(clip), r -> "c" + (clips.size() + 1));
    return " clip-path=\"url(#" + id + ")\"";
  }

  /**
   * Writes a path of absolute moves, lines and curves, without points that round to the previous
   * one.
   */
  private static String path(Shape shape) {
    StringBuilder d = new StringBuilder();
    double[] c = new double[6];
    String last = "";
    for (PathIterator p = shape.getPathIterator(null); !p.isDone(); p.next()) {
      int kind = p.currentSegment(c);
      String points =
          switch (kind) {
            case PathIterator.SEG_MOVETO, PathIterator.SEG_LINETO -> points(c, 1);
            case PathIterator.SEG_QUADTO -> points(c, 2);
            case PathIterator.SEG_CUBICTO -> points(c, 3);
            default -> "";
          };
      if (kind == PathIterator.SEG_LINETO && points.equals(last)) {
        continue;
      }
      d.append("MLQCZ".charAt(kind)).append(points);
      last = points;
    }
    return d.toString();
  }

  private static String points(double[] coordinates, int count) {
    StringBuilder s = new StringBuilder();
    for (int i = 0; i < 2 * count; i++) {
      s.append(i == 0 ? "" : " ").append(number(coordinates[i]));
    }
    return s.toString();
  }

  @Override
  public void drawString(String text, float x, float y) {
    if (text.isBlank()) {
      return;
    }
    Font font = state.getFont();
    double textWidth = font.getStringBounds(text, state.getFontRenderContext()).getWidth();
    AffineTransform t = state.getTransform();
    body.append("<text");
    if (untilted()) {
      body.append(" x=\"").append(number(x + t.getTranslateX()));
      body.append("\" y=\"").append(number(y + t.getTranslateY())).append('"');
    } else {
      body.append(" transform=\"matrix(");
      double[] m = new double[4];
      t.getMatrix(m);
      for (double v : m) {
        body.append(number(v, 1e4)).append(' ');
      }
      double tx = m[0] * x + m[2] * y + t.getTranslateX();
      double ty = m[1] * x + m[3] * y + t.getTranslateY();
      body.append(number(tx)).append(' ').append(number(ty)).append(")\"");
    }
    body.append(" font-size=\"").append(number(font.getSize2D())).append('"');
    if (font.isBold()) {
      body.append(" font-weight=\"bold\"");
    }
    // Forces the width of the layout on other fonts.
    body.append(" textLength=\"").append(number(textWidth)).append('"');
    body.append(color("fill")).append('>').append(escape(text)).append("</text>\n");
  }

  private String color(String attribute) {
    if (!(state.getPaint() instanceof Color c)) {
      throw new UnsupportedOperationException("paint " + state.getPaint());
    }
    double alpha = c.getAlpha() / OPAQUE;
    if (state.getComposite() instanceof AlphaComposite composite) {
      alpha *= composite.getAlpha();
    }
    String rgb = String.format(Locale.ROOT, "#%06x", c.getRGB() & 0xFFFFFF);
    return " "
        + attribute
        + "=\""
        + rgb
        + (alpha < 1 ? "\" " + attribute + "-opacity=\"" + number(alpha, 100) : "")
        + '"';
  }

  private static String number(double value) {
    return number(value, PRECISION);
  }

  private static String number(double value, double precision) {
    double rounded = Math.round(value * precision) / precision;
    return rounded == Math.rint(rounded) ? Long.toString((long) rounded) : Double.toString(rounded);
  }

  /** Escapes text for XML, and removes characters that XML forbids. */
  private static String escape(String text) {
    StringBuilder s = new StringBuilder(text.length());
    text.codePoints()
        .filter(c -> c >= ' ' && c != 0xFFFE && c != 0xFFFF && !(c >= 0xD800 && c <= 0xDFFF))
        .forEach(
            c -> {
              switch (c) {
                case '&' -> s.append("&amp;");
                case '<' -> s.append("&lt;");
                case '>' -> s.append("&gt;");
                case '"' -> s.append("&quot;");
                default -> s.appendCodePoint(c);
              }
            });
    return s.toString();
  }

  @Override
  public void drawString(AttributedCharacterIterator text, float x, float y) {
    StringBuilder plain = new StringBuilder();
    for (char c = text.first(); c != AttributedCharacterIterator.DONE; c = text.next()) {
      plain.append(c);
    }
    drawString(plain.toString(), x, y);
  }

  @Override
  public void drawGlyphVector(GlyphVector glyphs, float x, float y) {
    fill(glyphs.getOutline(x, y));
  }

  @Override
  public boolean drawImage(Image image, AffineTransform at, ImageObserver observer) {
    throw new UnsupportedOperationException("images");
  }

  @Override
  public void drawImage(BufferedImage image, BufferedImageOp op, int x, int y) {
    throw new UnsupportedOperationException("images");
  }
}
