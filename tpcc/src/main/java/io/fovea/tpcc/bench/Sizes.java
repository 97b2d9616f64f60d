package io.fovea.tpcc.bench;

import java.util.Locale;

/** Parses and formats sizes in bytes. */
public final class Sizes {
  private static final String UNITS = "kmgt";

  private Sizes() {}

  /**
   * Parses 4096, 4k, 512m, 1g or 1GiB; units are powers of 1,024.
   *
   * @throws IllegalArgumentException with a message for the user
   */
  public static long parse(String text) {
    String s = text.strip().toLowerCase(Locale.ROOT);
    String number = s.replaceFirst("(?<=\\d)\\s*([kmgt]?)(i?b)?$", "");
    String unit = s.substring(number.length()).strip();
    int shift = unit.isEmpty() ? 0 : 10 * (UNITS.indexOf(unit.charAt(0)) + 1);
    try {
      long n = Long.parseLong(number);
      if (n >= 0 && n <= Long.MAX_VALUE >> shift) {
        return n << shift;
      }
    } catch (NumberFormatException e) {
      // reported below
    }
    throw new IllegalArgumentException(
        "'" + text + "' is not a size: expected a number of bytes, or one with k, m, g or t");
  }

  /** Returns the shortest exact form: 4096 is 4k. */
  public static String format(long bytes) {
    int unit = 0;
    while (unit < UNITS.length() && bytes != 0 && bytes % 1_024 == 0) {
      bytes /= 1_024;
      unit++;
    }
    return unit == 0 ? Long.toString(bytes) : bytes + UNITS.substring(unit - 1, unit);
  }
}
