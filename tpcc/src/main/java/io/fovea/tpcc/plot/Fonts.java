package io.fovea.tpcc.plot;

import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;

/**
 * Checks the fonts of this machine. Servers often have none, and then Java cannot even measure
 * text.
 */
final class Fonts {
  /** If this family is missing, Java substitutes an installed sans-serif font. */
  static final String FAMILY = "DejaVu Sans";

  private Fonts() {}

  static Font plain(int size) {
    return new Font(FAMILY, Font.PLAIN, size);
  }

  static Font bold(int size) {
    return new Font(FAMILY, Font.BOLD, size);
  }

  /**
   * Checks that text can be drawn, and switches Java to headless mode. Throws NoFontsException if text cannot be drawn.
   */
  static void require() {
    System.setProperty("java.awt.headless", "true");
    boolean drawn;
    try {
      drawn = draws();
    } catch (RuntimeException | LinkageError | InternalError e) {
      throw new NoFontsException(e);
    }
    if (!drawn) {
      throw new NoFontsException(null);
    }
  }

  private static boolean draws() {
    BufferedImage image = new BufferedImage(40, 20, BufferedImage.TYPE_INT_RGB);
    Graphics2D g = image.createGraphics();
    try {
      g.setColor(Color.WHITE);
      g.setFont(plain(12));
      g.drawString("0123", 2, 16);
    } finally {
      g.dispose();
    }
    for (int x = 0; x < image.getWidth(); x++) {
      for (int y = 0; y < image.getHeight(); y++) {
        if ((image.getRGB(x, y) & 0xFFFFFF) != 0) {
          return true;
        }
      }
    }
    return false;
  }
}
