package io.fovea.tpcc;

/**
 * The last names of clause 4.3.2.3: three syllables, one for each digit of a number below 1,000.
 */
final class LastNames {
  private static final String[] SYLLABLES = {
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"
  };

  private static final String[] NAMES = new String[1_000];

  static {
    for (int n = 0; n < NAMES.length; n++) {
      NAMES[n] = SYLLABLES[n / 100] + SYLLABLES[n / 10 % 10] + SYLLABLES[n % 10];
    }
  }

  private LastNames() {}

  static String of(int number) {
    return NAMES[number];
  }
}
