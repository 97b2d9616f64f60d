package io.fovea.tpcc.plot;

import java.awt.Color;
import java.awt.Composite;
import java.awt.Font;
import java.awt.FontMetrics;
import java.awt.Graphics2D;
import java.awt.GraphicsConfiguration;
import java.awt.Image;
import java.awt.Paint;
import java.awt.Polygon;
import java.awt.Rectangle;
import java.awt.RenderingHints;
import java.awt.Shape;
import java.awt.Stroke;
import java.awt.font.FontRenderContext;
import java.awt.geom.AffineTransform;
import java.awt.geom.Arc2D;
import java.awt.geom.Ellipse2D;
import java.awt.geom.Line2D;
import java.awt.geom.NoninvertibleTransformException;
import java.awt.geom.Path2D;
import java.awt.geom.Rectangle2D;
import java.awt.geom.RoundRectangle2D;
import java.awt.image.ImageObserver;
import java.awt.image.RenderedImage;
import java.awt.image.renderable.RenderableImage;
import java.text.AttributedCharacterIterator;
import java.util.Map;

/**
 * The state of a {@link Graphics2D}, delegated to another instance, and the drawing methods,
 * reduced to drawing or filling shapes. Clips are rectangles. One thread.
 */
abstract class StatefulGraphics extends Graphics2D {
  /** Holds font, stroke, paint, composite, hints and transform; nothing is drawn on it. */
  final Graphics2D state;

  /** The visible part, in document coordinates. */
  Rectangle2D clip;

  private final Rectangle2D whole;

  StatefulGraphics(Graphics2D state, Rectangle2D whole) {
    this.state = state;
    this.whole = whole;
    this.clip = whole;
  }

  // Clips.

  @Override
  public void clip(Shape shape) {
    if (shape == null) {
      throw new NullPointerException("a null clip");
    }
    clip = clip.createIntersection(inDocument(shape));
  }

  @Override
  public void setClip(Shape shape) {
    clip = shape == null ? whole : inDocument(shape);
  }

  private Rectangle2D inDocument(Shape shape) {
    AffineTransform t = state.getTransform();
    if (!(shape instanceof Rectangle2D) || t.getShearX() != 0 || t.getShearY() != 0) {
      throw new UnsupportedOperationException("a clip that is not a rectangle");
    }
    return t.createTransformedShape(shape).getBounds2D();
  }

  @Override
  public Shape getClip() {
    try {
      return state.getTransform().createInverse().createTransformedShape(clip).getBounds2D();
    } catch (NoninvertibleTransformException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public Rectangle getClipBounds() {
    return getClip().getBounds();
  }

  @Override
  public void clipRect(int x, int y, int width, int height) {
    clip(new Rectangle(x, y, width, height));
  }

  @Override
  public void setClip(int x, int y, int width, int height) {
    setClip(new Rectangle(x, y, width, height));
  }

  @Override
  public boolean hit(Rectangle rect, Shape shape, boolean onStroke) {
    Shape s = onStroke ? state.getStroke().createStrokedShape(shape) : shape;
    return state.getTransform().createTransformedShape(s).intersects(rect);
  }

  // Shapes.

  @Override
  public void drawLine(int x1, int y1, int x2, int y2) {
    draw(new Line2D.Double(x1, y1, x2, y2));
  }

  @Override
  public void fillRect(int x, int y, int width, int height) {
    fill(new Rectangle(x, y, width, height));
  }

  @Override
  public void clearRect(int x, int y, int width, int height) {
    Paint paint = getPaint();
    setPaint(getBackground());
    fillRect(x, y, width, height);
    setPaint(paint);
  }

  @Override
  public void drawRoundRect(int x, int y, int width, int height, int arcWidth, int arcHeight) {
    draw(new RoundRectangle2D.Double(x, y, width, height, arcWidth, arcHeight));
  }

  @Override
  public void fillRoundRect(int x, int y, int width, int height, int arcWidth, int arcHeight) {
    fill(new RoundRectangle2D.Double(x, y, width, height, arcWidth, arcHeight));
  }

  @Override
  public void drawOval(int x, int y, int width, int height) {
    draw(new Ellipse2D.Double(x, y, width, height));
  }

  @Override
  public void fillOval(int x, int y, int width, int height) {
    fill(new Ellipse2D.Double(x, y, width, height));
  }

  @Override
  public void drawArc(int x, int y, int width, int height, int start, int extent) {
    draw(new Arc2D.Double(x, y, width, height, start, extent, Arc2D.OPEN));
  }

  @Override
  public void fillArc(int x, int y, int width, int height, int start, int extent) {
    fill(new Arc2D.Double(x, y, width, height, start, extent, Arc2D.PIE));
  }

  @Override
  public void drawPolyline(int[] xs, int[] ys, int count) {
    Path2D path = new Path2D.Double();
    for (int i = 0; i < count; i++) {
      if (i == 0) {
        path.moveTo(xs[i], ys[i]);
      } else {
        path.lineTo(xs[i], ys[i]);
      }
    }
    draw(path);
  }

  @Override
  public void drawPolygon(int[] xs, int[] ys, int count) {
    draw(new Polygon(xs, ys, count));
  }

  @Override
  public void fillPolygon(int[] xs, int[] ys, int count) {
    fill(new Polygon(xs, ys, count));
  }

  @Override
  public void drawString(String text, int x, int y) {
    drawString(text, (float) x, (float) y);
  }

  @Override
  public void drawString(AttributedCharacterIterator text, int x, int y) {
    drawString(text, (float) x, (float) y);
  }

  // Operations that charts do not need.

  private static UnsupportedOperationException unsupported(String what) {
    return new UnsupportedOperationException(what);
  }

  @Override
  public void copyArea(int x, int y, int width, int height, int dx, int dy) {
    throw unsupported("copies");
  }

  @Override
  public void setXORMode(Color color) {
    throw unsupported("XOR");
  }

  @Override
  public void drawRenderedImage(RenderedImage image, AffineTransform at) {
    throw unsupported("images");
  }

  @Override
  public void drawRenderableImage(RenderableImage image, AffineTransform at) {
    throw unsupported("images");
  }

  @Override
  public boolean drawImage(Image image, int x, int y, ImageObserver observer) {
    throw unsupported("images");
  }

  @Override
  public boolean drawImage(
      Image image, int x, int y, int width, int height, ImageObserver observer) {
    throw unsupported("images");
  }

  @Override
  public boolean drawImage(Image image, int x, int y, Color background, ImageObserver observer) {
    throw unsupported("images");
  }

  @Override
  public boolean drawImage(
      Image image, int x, int y, int width, int height, Color background, ImageObserver observer) {
    throw unsupported("images");
  }

  @Override
  public boolean drawImage(
      Image image,
      int dx1,
      int dy1,
      int dx2,
      int dy2,
      int sx1,
      int sy1,
      int sx2,
      int sy2,
      ImageObserver observer) {
    throw unsupported("images");
  }

  @Override
  public boolean drawImage(
      Image image,
      int dx1,
      int dy1,
      int dx2,
      int dy2,
      int sx1,
      int sy1,
      int sx2,
      int sy2,
      Color background,
      ImageObserver observer) {
    throw unsupported("images");
  }

  // The state.

  @Override
  public void setPaintMode() {
    state.setPaintMode();
  }

  @Override
  public Color getColor() {
    return state.getColor();
  }

  @Override
  public void setColor(Color color) {
    state.setColor(color);
  }

  @Override
  public Paint getPaint() {
    return state.getPaint();
  }

  @Override
  public void setPaint(Paint paint) {
    state.setPaint(paint);
  }

  @Override
  public Color getBackground() {
    return state.getBackground();
  }

  @Override
  public void setBackground(Color color) {
    state.setBackground(color);
  }

  @Override
  public Composite getComposite() {
    return state.getComposite();
  }

  @Override
  public void setComposite(Composite composite) {
    state.setComposite(composite);
  }

  @Override
  public Stroke getStroke() {
    return state.getStroke();
  }

  @Override
  public void setStroke(Stroke stroke) {
    state.setStroke(stroke);
  }

  @Override
  public Font getFont() {
    return state.getFont();
  }

  @Override
  public void setFont(Font font) {
    state.setFont(font);
  }

  @Override
  public FontMetrics getFontMetrics(Font font) {
    return state.getFontMetrics(font);
  }

  @Override
  public FontRenderContext getFontRenderContext() {
    return state.getFontRenderContext();
  }

  @Override
  public GraphicsConfiguration getDeviceConfiguration() {
    return state.getDeviceConfiguration();
  }

  @Override
  public Object getRenderingHint(RenderingHints.Key key) {
    return state.getRenderingHint(key);
  }

  @Override
  public void setRenderingHint(RenderingHints.Key key, Object value) {
    state.setRenderingHint(key, value);
  }

  @Override
  public RenderingHints getRenderingHints() {
    return state.getRenderingHints();
  }

  @Override
  public void setRenderingHints(Map<?, ?> hints) {
    state.setRenderingHints(hints);
  }

  @Override
  public void addRenderingHints(Map<?, ?> hints) {
    state.addRenderingHints(hints);
  }

  @Override
  public AffineTransform getTransform() {
    return state.getTransform();
  }

  @Override
  public void setTransform(AffineTransform transform) {
    state.setTransform(transform);
  }

  @Override
  public void transform(AffineTransform transform) {
    state.transform(transform);
  }

  @Override
  public void translate(int x, int y) {
    state.translate(x, y);
  }

  @Override
  public void translate(double x, double y) {
    state.translate(x, y);
  }

  @Override
  public void rotate(double theta) {
    state.rotate(theta);
  }

  @Override
  public void rotate(double theta, double x, double y) {
    state.rotate(theta, x, y);
  }

  @Override
  public void scale(double x, double y) {
    state.scale(x, y);
  }

  @Override
  public void shear(double x, double y) {
    state.shear(x, y);
  }

  @Override
  public void dispose() {
    state.dispose();
  }
}
