package io.fovea.tpcc.plot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.awt.AlphaComposite;
import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.GradientPaint;
import java.awt.geom.Ellipse2D;
import java.awt.geom.Line2D;
import java.awt.geom.Path2D;
import java.awt.geom.Rectangle2D;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Element;

class SvgGraphicsTest {
  private SvgGraphics g;

  @BeforeEach
  void make() {
    PlotFonts.assume();
    g = new SvgGraphics(200, 100);
  }

  private Svg svg() {
    return new Svg(g.document("title"));
  }

  @Test
  void rectanglesAndPathsAreRounded() {
    g.setPaint(new Color(0x123456));
    g.fill(new Rectangle2D.Double(1.04, 2.06, 3, 4.25));
    Path2D path = new Path2D.Double();
    path.moveTo(1, 1);
    path.lineTo(1.01, 1.01); // the same when rounded to a tenth
    path.lineTo(20.25, 30);
    path.closePath();
    g.setStroke(new BasicStroke(1.5f, BasicStroke.CAP_BUTT, 1, 1, new float[] {3, 2}, 0));
    g.draw(path);
    Element rect = svg().elements("rect").get(0);
    assertEquals("1", rect.getAttribute("x"));
    assertEquals("2.1", rect.getAttribute("y"));
    assertEquals("4.3", rect.getAttribute("height"));
    assertEquals("#123456", rect.getAttribute("fill"));
    Element line = svg().elements("path").get(0);
    assertEquals("M1 1L20.3 30Z", line.getAttribute("d"));
    assertEquals("1.5", line.getAttribute("stroke-width"));
    assertEquals("3,2", line.getAttribute("stroke-dasharray"));
  }

  @Test
  void transformsAndTransparencyAreApplied() {
    g.translate(10, 20);
    g.scale(2, 2);
    g.setPaint(new Color(255, 0, 0, 128));
    g.setComposite(AlphaComposite.getInstance(AlphaComposite.SRC_OVER, 0.5f));
    g.fillRect(1, 1, 5, 5);
    Element rect = svg().elements("rect").get(0);
    assertEquals("12", rect.getAttribute("x"));
    assertEquals("22", rect.getAttribute("y"));
    assertEquals("10", rect.getAttribute("width"));
    assertEquals("0.25", rect.getAttribute("fill-opacity"));
  }

  @Test
  void textStaysTextAndIsEscaped() {
    g.setFont(Fonts.bold(12));
    g.drawString("p < \"99\" & more\u0001", 5, 15);
    g.rotate(-Math.PI / 2, 50, 50);
    g.drawString("upwards", 50, 50);
    Svg svg = svg();
    assertEquals(2, svg.texts().size());
    assertEquals("p < \"99\" & more", svg.texts().get(0));
    Element first = svg.elements("text").get(0);
    assertEquals("5", first.getAttribute("x"));
    assertEquals("bold", first.getAttribute("font-weight"));
    Element second = svg.elements("text").get(1);
    assertEquals("matrix(0 -1 1 0 50 50)", second.getAttribute("transform"));
  }

  @Test
  void drawingIsClipped() {
    g.clip(new Rectangle2D.Double(10, 10, 50, 50));
    g.draw(new Line2D.Double(20, 20, 30, 20)); // inside
    g.draw(new Line2D.Double(20, 20, 90, 20)); // across
    g.draw(new Line2D.Double(70, 20, 90, 20)); // outside
    g.draw(new Line2D.Double(20, 30, 95, 30)); // across, with the same clip
    g.setClip(null);
    g.draw(new Line2D.Double(70, 20, 90, 20));
    Svg svg = svg();
    assertEquals(4, svg.elements("path").size());
    assertEquals(1, svg.elements("clipPath").size());
    assertFalse(svg.elements("path").get(0).hasAttribute("clip-path"));
    assertEquals("url(#c1)", svg.elements("path").get(1).getAttribute("clip-path"));
    assertEquals("url(#c1)", svg.elements("path").get(2).getAttribute("clip-path"));
    assertFalse(svg.elements("path").get(3).hasAttribute("clip-path"));
    Element rect = (Element) svg.elements("clipPath").get(0).getFirstChild();
    assertEquals("50", rect.getAttribute("width"));
  }

  @Test
  void copyHasItsOwnState() {
    g.setPaint(Color.RED);
    g.translate(5, 5);
    SvgGraphics copy = (SvgGraphics) g.create();
    copy.setPaint(Color.BLUE);
    copy.translate(5, 5);
    copy.clip(new Rectangle2D.Double(0, 0, 1, 1));
    copy.dispose();
    g.fillRect(0, 0, 9, 9);
    Element rect = svg().elements("rect").get(0);
    assertEquals("#ff0000", rect.getAttribute("fill"));
    assertEquals("5", rect.getAttribute("x"));
    assertFalse(rect.hasAttribute("clip-path"));
    assertEquals(new Rectangle2D.Double(-5, -5, 200, 100), g.getClip());
  }

  @Test
  void otherShapesBecomePaths() {
    g.fillOval(5, 5, 10, 10);
    g.drawPolyline(new int[] {1, 2, 3}, new int[] {1, 5, 1}, 3);
    g.drawPolygon(new int[] {1, 2, 3}, new int[] {1, 5, 1}, 3);
    Svg svg = svg();
    assertTrue(svg.elements("path").get(0).getAttribute("d").contains("C"));
    assertEquals("M1 1L2 5L3 1", svg.elements("path").get(1).getAttribute("d"));
    assertEquals("M1 1L2 5L3 1Z", svg.elements("path").get(2).getAttribute("d"));
  }

  @Test
  void unsupportedOperationsAreRefused() {
    assertThrows(
        UnsupportedOperationException.class, () -> g.clip(new Ellipse2D.Double(0, 0, 5, 5)));
    assertThrows(UnsupportedOperationException.class, () -> g.setXORMode(Color.RED));
    g.setPaint(new GradientPaint(0, 0, Color.RED, 5, 5, Color.BLUE));
    assertThrows(UnsupportedOperationException.class, () -> g.fillRect(0, 0, 5, 5));
  }
}
