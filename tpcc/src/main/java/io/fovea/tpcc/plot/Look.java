package io.fovea.tpcc.plot;

import java.awt.BasicStroke;
import java.awt.Color;

/**
 * How a line is drawn.
 *
 * @param hue what is told apart by colour
 * @param dash what is told apart by dashes
 * @since 0.1.0
 */
public record Look(Hue hue, Dash dash) {

  /**
   * Colours that people who see few colours can tell apart, too: those of Okabe and Ito, "Color
   * Universal Design", 2008, without the yellow, which is hard to see on white.
   *
   * @since 0.1.0
   */
  public enum Hue {
    /** For what matters most. */
    BLUE(0x0072B2),
    /** For what is set against it. */
    VERMILION(0xD55E00),
    /** A third. */
    GREEN(0x009E73),
    /** A fourth. */
    PURPLE(0xCC79A7),
    /** A fifth. */
    ORANGE(0xE69F00),
    /** A sixth, close to the first only in name. */
    SKY(0x56B4E9),
    /** For what is beside the point. */
    GRAY(0x777777),
    /** For the sum of the others. */
    BLACK(0x000000);

    final Color color;

    Hue(int rgb) {
      color = new Color(rgb);
    }
  }

  /**
   * The stroke.
   *
   * @since 0.1.0
   */
  public enum Dash {
    /** All of it. */
    SOLID(1.6f),
    /** Long strokes. */
    DASHED(1.6f, 7, 4),
    /** Short strokes. */
    DOTTED(1.2f, 2, 3),
    /** All of it, thin. */
    THIN(0.8f);

    final BasicStroke stroke;

    Dash(float width, float... pattern) {
      stroke =
          new BasicStroke(
              width,
              BasicStroke.CAP_BUTT,
              BasicStroke.JOIN_ROUND,
              1,
              pattern.length == 0 ? null : pattern,
              0);
    }
  }

  /**
   * A solid line.
   *
   * @param hue its colour
   * @return the look
   */
  public static Look solid(Hue hue) {
    return new Look(hue, Dash.SOLID);
  }

  /**
   * A line of long strokes.
   *
   * @param hue its colour
   * @return the look
   */
  public static Look dashed(Hue hue) {
    return new Look(hue, Dash.DASHED);
  }
}
