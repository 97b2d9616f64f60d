package io.fovea.tpcc.plot;

import org.junit.jupiter.api.Assumptions;

/** Leaves tests that draw out where nothing can be drawn. */
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
