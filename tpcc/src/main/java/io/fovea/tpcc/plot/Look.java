package io.fovea.tpcc.plot;

import java.awt.BasicStroke;
import java.awt.Color;

/**
 * The style of a line.
 *
 * @param hue the color
 * @param dash the stroke
 * @since 0.1.0
 */
public record Look(Hue hue, Dash dash) {

  /**
   * Colors that people with color vision deficiency can distinguish: those of Okabe and Ito, "Color
   * Universal Design", 2008, without yellow, which is hard to see on white.
   *
   * @since 0.1.0
   */
  public enum Hue {
    /** For the most important line. */
    BLUE(0x0072B2),
    /** For the line to compare with. */
    VERMILION(0xD55E00),
    /** Third color. */
    GREEN(0x009E73),
    /** Fourth color. */
    PURPLE(0xCC79A7),
    /** Fifth color. */
    ORANGE(0xE69F00),
    /** Sixth color. */
    SKY(0x56B4E9),
    /** For unimportant lines. */
    GRAY(0x777777),
    /** For a sum of other lines. */
    BLACK(0x000000);

    final Color color;

    Hue(int rgb) {
      color = new Color(rgb);
    }
  }

  /**
   * A stroke.
   *
   * @since 0.1.0
   */
  public enum Dash {
    /** Solid. */
    SOLID(1.6f),
    /** Long dashes. */
    DASHED(1.6f, 7, 4),
    /** Dots. */
    DOTTED(1.2f, 2, 3),
    /** Solid and thin. */
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
   * Returns a solid line.
   *
   * @param hue the color
   * @return the style
   */
  public static Look solid(Hue hue) {
    return new Look(hue, Dash.SOLID);
  }

  /**
   * Returns a dashed line.
   *
   * @param hue the color
   * @return the style
   */
  public static Look dashed(Hue hue) {
    return new Look(hue, Dash.DASHED);
  }
}
