package io.fovea.tpcc;

import io.fovea.tpcc.bench.Rng;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Random text as ASCII bytes (clauses 4.3.2.2 and 4.3.2.7). Each call writes into {@link #bytes}
 * and returns the length, so no strings are allocated. One per thread.
 */
final class Text {
  private static final byte[] ALPHANUMERIC =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
          .getBytes(StandardCharsets.US_ASCII);
  private static final byte[] ORIGINAL = "ORIGINAL".getBytes(StandardCharsets.US_ASCII);

  /** ORIGINAL has eight bytes, so comparing longs finds it. */
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private static final long ORIGINAL_LONG = (long) LONG.get(ORIGINAL, 0);

  private static final byte[] ZIP_END = "11111".getBytes(StandardCharsets.US_ASCII);

  final byte[] bytes = new byte[500];

  /** Generates an a-string: {@code min} to {@code max} letters and digits. */
  int alphanumeric(Rng rng, int min, int max) {
    int length = rng.between(min, max);
    fill(rng, length, ALPHANUMERIC.length, 0);
    return length;
  }

  /** Generates an a-string of letters, for example for W_STATE. */
  int letters(Rng rng, int length) {
    fill(rng, length, 26, 0);
    return length;
  }

  int digits(Rng rng, int length) {
    fill(rng, length, 10, 52);
    return length;
  }

  /** Generates a zip code: four random digits and 11111. */
  int zip(Rng rng) {
    digits(rng, 4);
    System.arraycopy(ZIP_END, 0, bytes, 4, ZIP_END.length);
    return 4 + ZIP_END.length;
  }

  /** Generates I_DATA or S_DATA: 26 to 50 characters, optionally containing ORIGINAL. */
  int data(Rng rng, boolean original) {
    int length = alphanumeric(rng, 26, 50);
    if (original) {
      int at = rng.between(0, length - ORIGINAL.length);
      System.arraycopy(ORIGINAL, 0, bytes, at, ORIGINAL.length);
    }
    return length;
  }

  /** Tells whether the first {@code length} bytes of {@code text} contain ORIGINAL. */
  static boolean isOriginal(byte[] text, int length) {
    for (int at = 0; at <= length - Long.BYTES; at++) {
      if ((long) LONG.get(text, at) == ORIGINAL_LONG) {
        return true;
      }
    }
    return false;
  }

  /** Generates six characters per draw; the bias is below 2^-28. */
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
