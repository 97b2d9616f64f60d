package io.fovea.memory;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * A 64-bit hash of byte strings in native memory.
 *
 * <p>It follows wyhash (Wang Yi, https://github.com/wangyi-fudan/wyhash) and rapidhash (Nicolas De
 * Carli, https://github.com/Nicoshev/rapidhash): eight bytes at a time are folded by a 64 x 64 to
 * 128 bit multiplication whose halves are xored. Keys of up to 16 bytes, nearly all keys, take two
 * loads, two multiplications and no loop.
 *
 * <p><b>Purpose.</b> Transactions treat two keys with the same hash as one item, which is coarser
 * and still correct, so a collision costs only a needless conflict. The hash is therefore not
 * hardened against attackers and is not written to files: it may change with any release.
 *
 * <p>Zero is never returned, so that zero can mean "no item" in tables of hashes.
 *
 * @since 0.1.0
 */
public final class Hash {
  private static final long S0 = 0x2d358dccaa6c78a5L;
  private static final long S1 = 0x8bb84b93962eacc9L;
  private static final long S2 = 0x4b33a62ed433d4a3L;

  private Hash() {}

  /**
   * Returns a seed for {@link #hash}, made from a small number such as a tree id. Seeds of adjacent
   * numbers are unrelated; the hash relies on that.
   *
   * @param number any number
   */
  public static long seed(long number) {
    return mix(mix(number ^ S0, S1) ^ S2, S1 ^ number);
  }

  /**
   * Hashes a byte string.
   *
   * @param seed from {@link #seed}
   * @param key native memory with the bytes
   * @param off the offset of the bytes
   * @param len the number of bytes; 0 is allowed
   * @return the hash, never 0
   */
  public static long hash(long seed, MemorySegment key, long off, int len) {
    Objects.checkFromIndexSize(off, len, key.byteSize());
    long a;
    long b;
    if (len > 16) {
      seed = fold(seed, key, off, len);
      a = Mem.peekLong(key, off + len - 16);
      b = Mem.peekLong(key, off + len - 8);
    } else if (len >= 8) {
      a = Mem.peekLong(key, off);
      b = Mem.peekLong(key, off + len - 8);
    } else {
      a = few(key, off, len);
      b = 0;
    }
    return last(a ^ S1, b ^ seed, len);
  }

  /**
   * Hashes a number.
   *
   * @param seed from {@link #seed}
   * @param value any number
   * @return the hash, never 0
   */
  public static long hash(long seed, long value) {
    return last(value ^ S1, value ^ seed, 8);
  }

  /**
   * Spreads a number over all 64 bits, one to one, by Stafford's variant 13 of MurmurHash3's
   * finalizer.
   */
  public static long spread(long value) {
    long v = (value ^ value >>> 30) * 0xbf58476d1ce4e5b9L;
    v = (v ^ v >>> 27) * 0x94d049bb133111ebL;
    return v ^ v >>> 31;
  }

  /**
   * Returns up to seven bytes as a number; the length distinguishes strings that are equal here.
   */
  private static long few(MemorySegment key, long off, int len) {
    if (len >= 4) {
      return (long) Mem.peekInt(key, off) << 32 | Mem.peekInt(key, off + len - 4) & 0xFFFF_FFFFL;
    }
    if (len <= 0) {
      return 0;
    }
    return (Mem.peekByte(key, off) & 0xFFL) << 16
        | (Mem.peekByte(key, off + (len >>> 1)) & 0xFFL) << 8
        | Mem.peekByte(key, off + len - 1) & 0xFFL;
  }

  /** Folds all but the last 16 bytes of a longer key, in three lanes if it is long enough. */
  private static long fold(long seed, MemorySegment key, long off, int len) {
    long at = off;
    int left = len;
    if (left > 48) {
      long lane1 = seed;
      long lane2 = seed;
      do {
        seed = mix(Mem.peekLong(key, at) ^ S0, Mem.peekLong(key, at + 8) ^ seed);
        lane1 = mix(Mem.peekLong(key, at + 16) ^ S1, Mem.peekLong(key, at + 24) ^ lane1);
        lane2 = mix(Mem.peekLong(key, at + 32) ^ S2, Mem.peekLong(key, at + 40) ^ lane2);
        at += 48;
        left -= 48;
      } while (left > 48);
      seed ^= lane1 ^ lane2;
    }
    while (left > 16) {
      seed = mix(Mem.peekLong(key, at) ^ S2, Mem.peekLong(key, at + 8) ^ seed ^ S1);
      at += 16;
      left -= 16;
    }
    return seed;
  }

  /**
   * Finishes every hash. A factor of zero would erase the other, so the halves of the product are
   * xored onto the factors instead of replacing them.
   */
  private static long last(long a, long b, int len) {
    long low = a * b;
    long high = Math.unsignedMultiplyHigh(a, b);
    long hash = mix(a ^ low ^ S0 ^ len, b ^ high ^ S1);
    return hash != 0 ? hash : S0;
  }

  private static long mix(long a, long b) {
    return a * b ^ Math.unsignedMultiplyHigh(a, b);
  }

  /**
   * Returns the slot at which the calling thread starts, so that threads spread over the slots and
   * each thread returns to its own slot. Uses two multiplications, since a remainder would cost a
   * division at the beginning of each transaction.
   *
   * @param slots the number of slots; positive
   * @return a slot from 0 to {@code slots - 1}
   */
  public static int ofThread(int slots) {
    long spread = Thread.currentThread().threadId() * 0x9E37_79B9_7F4A_7C15L >>> 32;
    return (int) (spread * slots >>> 32);
  }
}
