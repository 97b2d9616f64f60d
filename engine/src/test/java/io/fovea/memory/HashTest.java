package io.fovea.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The distribution of hashes of typical keys. */
class HashTest {
  private final MemorySegment key = Arena.ofAuto().allocate(512, 8);

  @Test
  void dependsOnlyOnTheBytes() {
    Random random = new Random(1);
    for (int len = 0; len <= 200; len++) {
      byte[] bytes = new byte[len];
      random.nextBytes(bytes);
      key.fill((byte) 0);
      Mem.putBytes(key, 8, bytes, 0, len);
      long hash = Hash.hash(Hash.seed(7), key, 8, len);
      key.fill((byte) -1);
      Mem.putBytes(key, 131, bytes, 0, len);
      assertEquals(hash, Hash.hash(Hash.seed(7), key, 131, len));
      assertNotEquals(hash, Hash.hash(Hash.seed(8), key, 131, len));
    }
  }

  /** Every bit of every key changes about half of the hash's bits. */
  @Test
  void everyBitMatters() {
    Random random = new Random(2);
    int rounds = 200;
    for (int len : new int[] {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 33, 48, 49, 64, 97}) {
      for (int bit = 0; bit < len * 8; bit++) {
        int flipped = 0;
        for (int i = 0; i < rounds; i++) {
          byte[] bytes = new byte[len];
          random.nextBytes(bytes);
          Mem.putBytes(key, 0, bytes, 0, len);
          long before = Hash.hash(Hash.seed(i), key, 0, len);
          bytes[bit / 8] ^= (byte) (1 << bit % 8);
          Mem.putBytes(key, 0, bytes, 0, len);
          flipped += Long.bitCount(before ^ Hash.hash(Hash.seed(i), key, 0, len));
        }
        double share = flipped / (64.0 * rounds);
        assertTrue(share > 0.45 && share < 0.55, "length " + len + ", bit " + bit + ": " + share);
      }
    }
  }

  /** Typical keys: small big-endian numbers, by tree, by length. */
  @Test
  void hasNoCollisionsOfTypicalKeys() {
    Set<Long> seen = new HashSet<>();
    int keys = 0;
    for (int tree = 0; tree < 20; tree++) {
      long seed = Hash.seed(tree);
      for (int i = 0; i < 5_000; i++) {
        Mem.putIntBE(key, 0, i ^ 0x8000_0000);
        keys += add(seen, Hash.hash(seed, key, 0, 4));
        Mem.putLongBE(key, 0, i ^ Long.MIN_VALUE);
        keys += add(seen, Hash.hash(seed, key, 0, 8));
        Mem.putIntBE(key, 0, i % 10);
        Mem.putIntBE(key, 4, i / 10 % 10);
        Mem.putIntBE(key, 8, i);
        keys += add(seen, Hash.hash(seed, key, 0, 12));
      }
      key.fill((byte) 0x7F);
      for (int len = 0; len < 100; len++) {
        keys += add(seen, Hash.hash(seed, key, 0, len));
      }
    }
    assertEquals(keys, seen.size(), "two keys have the same hash");
  }

  private static int add(Set<Long> seen, long hash) {
    seen.add(hash);
    return 1;
  }

  /** Tables use a few bits from either end; no bucket may be crowded. */
  @Test
  void fillsBucketsEvenly() {
    int buckets = 1 << 10;
    int keys = 1 << 16;
    for (int shift : new int[] {0, 27, 54}) {
      int[] count = new int[buckets];
      for (int i = 0; i < keys; i++) {
        Mem.putLongBE(key, 0, i);
        count[(int) (Hash.hash(Hash.seed(1), key, 0, 8) >>> shift) & buckets - 1]++;
      }
      double chi = 0;
      double mean = (double) keys / buckets;
      for (int c : count) {
        chi += (c - mean) * (c - mean) / mean;
      }
      // 1023 degrees of freedom: mean 1023, deviation 45.
      assertTrue(chi < 1023 + 6 * 45, "shift " + shift + ": " + chi);
    }
  }

  @Test
  void hashesNumbers() {
    Set<Long> seen = new HashSet<>();
    for (long i = -10_000; i < 10_000; i++) {
      assertTrue(seen.add(Hash.hash(Hash.seed(3), i)));
      assertNotEquals(0, Hash.hash(Hash.seed(3), i));
    }
    seen.clear();
    for (long i = -10_000; i < 10_000; i++) {
      assertTrue(seen.add(Hash.spread(i)));
    }
  }
}
