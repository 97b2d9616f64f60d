package io.fovea.tpcc;

/** Amounts are integer cents and rates integer ten-thousandths. No floating point. */
final class Money {
  private static final long RATE = 10_000;

  private Money() {}

  /**
   * Returns the total of a New-Order (clause 2.4.2.2): {@code sum * (1 - discount) * (1 + wTax +
   * dTax)}, rounded half up to a cent. Does not overflow while the sum is below 10^9 cents.
   */
  static long orderTotal(long sum, int discount, int warehouseTax, int districtTax) {
    long exact = sum * (RATE - discount) * (RATE + warehouseTax + districtTax);
    return (exact + RATE * RATE / 2) / (RATE * RATE);
  }

  /** Formats an amount for messages: {@code -1234} is "-12.34". */
  static String format(long cents) {
    String sign = cents < 0 ? "-" : "";
    long magnitude = Math.abs(cents);
    long part = magnitude % 100;
    return sign + magnitude / 100 + (part < 10 ? ".0" : ".") + part;
  }

  /** Writes a non-negative number in decimal. Returns the index after its last digit. */
  static int putNumber(byte[] to, int at, long number) {
    int end = at + 1;
    for (long n = number; n >= 10; n /= 10) {
      end++;
    }
    for (int i = end - 1; i >= at; i--) {
      to[i] = (byte) ('0' + number % 10);
      number /= 10;
    }
    return end;
  }

  /** Writes a non-negative amount as {@code 12.34}. Returns the index after its last digit. */
  static int putAmount(byte[] to, int at, long cents) {
    int i = putNumber(to, at, cents / 100);
    to[i++] = '.';
    to[i++] = (byte) ('0' + cents / 10 % 10);
    to[i++] = (byte) ('0' + cents % 10);
    return i;
  }
}
