package io.fovea.tpcc.lookups;

import java.util.Locale;

/**
 * How large a part of the records is, as people write it: {@code 1.1} is what 1.1 pools hold,
 * {@code 50%} is half of the records.
 *
 * @param value a factor, above 0
 * @param ofData whether it is one of the data, and not of the pool
 */
record Share(double value, boolean ofData) {
  private static final double MAX = 1e6;

  /** All records. */
  static final Share ALL = new Share(1, true);

  /**
   * Reads one.
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
              + "' is no size: expected a share of the pool such as 1.1, or of the data such"
              + " as 50%");
    }
    return new Share(value, ofData);
  }

  /**
   * How many records that is.
   *
   * @param poolRecords how many the pool holds
   * @param records how many there are
   * @return at least 1; more than there are where it is a share of the pool
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
