package io.fovea.tpcc;

import io.fovea.tpcc.bench.Rng;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Random text as ASCII bytes (clauses 4.3.2.2 and 4.3.2.7). One per thread: every call writes into
 * {@link #bytes} and returns the length, so that no strings are made.
 */
final class Text {
  private static final byte[] ALPHANUMERIC =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
          .getBytes(StandardCharsets.US_ASCII);
  private static final byte[] ORIGINAL = "ORIGINAL".getBytes(StandardCharsets.US_ASCII);

  /** ORIGINAL has the eight bytes of a long, so that one compare tells whether it is there. */
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private static final long ORIGINAL_LONG = (long) LONG.get(ORIGINAL, 0);

  private static final byte[] ZIP_END = "11111".getBytes(StandardCharsets.US_ASCII);

  /** What the last call wrote, from index 0. */
  final byte[] bytes = new byte[500];

  /** An a-string: {@code min} to {@code max} characters of letters and digits. */
  int alphanumeric(Rng rng, int min, int max) {
    int length = rng.between(min, max);
    fill(rng, length, ALPHANUMERIC.length, 0);
    return length;
  }

  /** An a-string of letters, for W_STATE and its like. */
  int letters(Rng rng, int length) {
    fill(rng, length, 26, 0);
    return length;
  }

  /** An n-string: digits. */
  int digits(Rng rng, int length) {
    fill(rng, length, 10, 52);
    return length;
  }

  /** A zip code: four random digits and 11111. */
  int zip(Rng rng) {
    digits(rng, 4);
    System.arraycopy(ZIP_END, 0, bytes, 4, ZIP_END.length);
    return 4 + ZIP_END.length;
  }

  /** I_DATA and S_DATA: 26 to 50 characters, with ORIGINAL somewhere in them where asked. */
  int data(Rng rng, boolean original) {
    int length = alphanumeric(rng, 26, 50);
    if (original) {
      int at = rng.between(0, length - ORIGINAL.length);
      System.arraycopy(ORIGINAL, 0, bytes, at, ORIGINAL.length);
    }
    return length;
  }

  /** Whether ORIGINAL stands in the first {@code length} bytes of {@code text}. */
  static boolean isOriginal(byte[] text, int length) {
    for (int at = 0; at <= length - Long.BYTES; at++) {
      if ((long) LONG.get(text, at) == ORIGINAL_LONG) {
        return true;
      }
    }
    return false;
  }

  /** Six characters from one draw; what the multiplications leave over is below 2^-28 uneven. */
  private void fill(Rng rng, int length, int symbols, int first) {
    long left = 0;
    for (int i = 0; i < length; i++) {
      if (i % 6 == 0) {
        left = rng.nextLong();
      }
      bytes[i] = ALPHANUMERIC[first + (int) Math.unsignedMultiplyHigh(left, symbols)];
      left *= symbols;
    }
  }
}
