package io.fovea.tpcc.lookups;

import java.util.Locale;

/**
 * A size of a working set, as written by users: {@code 1.1} is 1.1 times the pool, {@code 50%} is
 * half of the records.
 *
 * @param value a factor, above 0
 * @param ofData whether it refers to the data instead of the pool
 */
record Share(double value, boolean ofData) {
  private static final double MAX = 1e6;

  static final Share ALL = new Share(1, true);

  /**
   * Parses a share.
   *
   * @throws IllegalArgumentException with a message for the user
   */
  static Share parse(String text) {
    String s = text.strip();
    boolean ofData = s.endsWith("%");
    String number = ofData ? s.substring(0, s.length() - 1).strip() : s;
    double value = number.matches("\\d+(\\.\\d*)?|\\.\\d+") ? Double.parseDouble(number) : 0;
    value = ofData ? value / 100 : value;
    if (value <= 0 || value > (ofData ? 1 : MAX)) {
      throw new IllegalArgumentException(
          "'"
              + text
              + "' is not a size: expected a share of the pool such as 1.1, or of the data such"
              + " as 50%");
    }
    return new Share(value, ofData);
  }

  /**
   * Returns the size as a number of records.
   *
   * @return at least 1; may exceed {@code records} for a share of the pool
   */
  long records(long poolRecords, long records) {
    return Math.max(1, Math.round(value * (ofData ? records : poolRecords)));
  }

  @Override
  public String toString() {
    String number = String.format(Locale.ROOT, "%.4f", ofData ? 100 * value : value);
    return number.replaceFirst("\\.?0+$", "") + (ofData ? "%" : "");
  }
}
