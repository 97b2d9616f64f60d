package io.fovea.tpcc.plot;

import org.junit.jupiter.api.Assumptions;

/** Skips drawing tests on machines without fonts. */
public final class PlotFonts {
  private PlotFonts() {}

  public static void assume() {
    try {
      Figure.requireFonts();
    } catch (NoFontsException e) {
      Assumptions.abort(e.getMessage());
    }
  }
}
