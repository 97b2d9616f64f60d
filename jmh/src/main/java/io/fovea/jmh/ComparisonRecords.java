package io.fovea.jmh;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * The records of {@link StoreComparison}, the same for all engines. Record n has the key {@code
 * hash(n)}, 8 bytes, big-endian: keys are unique and in random order. All numbers in a value are
 * big-endian:
 *
 * <pre>
 *   0      8         16               92                                 100
 *   | n    | version | filler by n    | check: of n and of the version   |
 * </pre>
 *
 * The version is the number of updates. {@link #check} reads eight bytes three times, and detects
 * values of another record, torn values, and short values.
 */
final class ComparisonRecords {
  static final int KEY_BYTES = 8;
  static final int VALUE_BYTES = 100;

  private static final int VERSION = 8;
  private static final int FILLER = 16;
  private static final int CHECK = 92;
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private ComparisonRecords() {}

  /** Thrown if a value does not belong to its key. The run fails. */
  static final class WrongValueException extends IllegalStateException {
    private static final long serialVersionUID = 1;

    WrongValueException(String message) {
      super(message);
    }
  }

  static void key(long n, byte[] key) {
    LONGS.set(key, 0, hash(n));
  }

  /** Returns the key as a number, whose unsigned order is that of the keys. */
  static long number(byte[] key) {
    return (long) LONGS.get(key, 0);
  }

  static void setNumber(long number, byte[] key) {
    LONGS.set(key, 0, number);
  }

  /** Sets the value of record n as loaded, with version 0. */
  static void value(long n, byte[] value) {
    LONGS.set(value, 0, n);
    LONGS.set(value, VERSION, 0L);
    for (int at = FILLER; at + 8 <= CHECK; at += 8) {
      LONGS.set(value, at, n * at);
    }
    LONGS.set(value, CHECK, sum(n, 0));
  }

  /**
   * Returns the version of a value. Throws WrongValueException if the value is malformed or does
   * not belong to the key.
   */
  static long check(byte[] key, byte[] value) {
    if (value == null || value.length != VALUE_BYTES) {
      throw new WrongValueException(
          "key "
              + Long.toHexString(number(key))
              + (value == null ? ": no value" : ": a value of " + value.length + " bytes"));
    }
    long n = (long) LONGS.get(value, 0);
    long version = (long) LONGS.get(value, VERSION);
    if (hash(n) != number(key) || (long) LONGS.get(value, CHECK) != sum(n, version)) {
      throw new WrongValueException(
          "key "
              + Long.toHexString(number(key))
              + ": value of record "
              + n
              + ", version "
              + version);
    }
    return version;
  }

  /** Checks a value and increments its version. */
  static void update(byte[] key, byte[] value) {
    long version = check(key, value) + 1;
    LONGS.set(value, VERSION, version);
    LONGS.set(value, CHECK, sum((long) LONGS.get(value, 0), version));
  }

  private static long sum(long n, long version) {
    return ~n ^ version * 0x9E37_79B9_7F4A_7C15L;
  }

  /** The finalizer of SplitMix64, a bijection. */
  static long hash(long n) {
    long z = n + 0x9E37_79B9_7F4A_7C15L;
    z = (z ^ z >>> 30) * 0xBF58_476D_1CE4_E5B9L;
    z = (z ^ z >>> 27) * 0x94D0_49BB_1331_11EBL;
    return z ^ z >>> 31;
  }
}
