package io.fovea.btree;

import java.util.Random;

/** Keys that are hard cases for prefixes, heads and tails. */
final class RandomKeys {
  enum Kind {
    /** Eight random bytes. */
    NUMBERS,
    /** Eight bytes, close together. */
    DENSE,
    /** Up to a dozen bytes of a small alphabet with 0x00 and 0xFF. */
    SHORT,
    /** Long common prefixes that differ somewhere. */
    PREFIXES,
    /** Any length up to the maximum. */
    ANY,
    /** Composite keys as in TPC-C: three or four big-endian ints. */
    TUPLES
  }

  private static final byte[] ALPHABET = {0, 1, 'a', 'b', (byte) 0xFE, (byte) 0xFF};

  private final Random random;
  private final Kind kind;
  private final int max;

  RandomKeys(Kind kind, long seed, int max) {
    this.kind = kind;
    this.random = new Random(seed);
    this.max = max;
  }

  byte[] next() {
    return switch (kind) {
      case NUMBERS -> TestTree.bytes(random.nextLong());
      case DENSE -> TestTree.bytes(1_000_000 + random.nextInt(20_000));
      case SHORT -> fill(new byte[random.nextInt(12)]);
      case PREFIXES -> prefixed();
      case ANY -> fill(new byte[random.nextInt(max + 1)]);
      case TUPLES -> tuple();
    };
  }

  private byte[] fill(byte[] key) {
    for (int i = 0; i < key.length; i++) {
      key[i] = ALPHABET[random.nextInt(ALPHABET.length)];
    }
    return key;
  }

  private byte[] prefixed() {
    int shared = random.nextInt(4) * (max / 5);
    int len = Math.min(max, shared + random.nextInt(14));
    byte[] key = new byte[len];
    int filler = random.nextInt(3);
    for (int i = 0; i < shared && i < len; i++) {
      key[i] = (byte) (filler == 0 ? 'x' : filler == 1 ? 0xFF : 0);
    }
    for (int i = shared; i < len; i++) {
      key[i] = ALPHABET[random.nextInt(ALPHABET.length)];
    }
    return key;
  }

  private byte[] tuple() {
    int parts = 3 + random.nextInt(2);
    byte[] key = new byte[4 * parts];
    for (int i = 0; i < parts; i++) {
      int part = random.nextInt(i < 2 ? 10 : 3000);
      key[4 * i] = (byte) 0x80;
      key[4 * i + 2] = (byte) (part >>> 8);
      key[4 * i + 3] = (byte) part;
    }
    return key;
  }
}
