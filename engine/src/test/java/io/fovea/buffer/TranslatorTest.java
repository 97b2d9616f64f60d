package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.Assume;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

class TranslatorTest {
  private static Translator translator(Translation kind, int frames) {
    Arena arena = Arena.ofAuto();
    MemorySegment headers = arena.allocate((long) frames * FrameHeader.BYTES, 64);
    int bytes = Translator.buckets(frames) * Translator.bucketBytes(kind);
    MemorySegment table = bytes == 0 ? headers : arena.allocate(bytes, 64);
    return new Translator(kind, frames, headers, table);
  }

  @Property(tries = 2000)
  void preferredFrameIsTheRemainder(
      @ForAll @IntRange(min = 64, max = 1 << 29) int frames,
      @ForAll @LongRange(min = 0, max = PageRef.PID_MASK) long pid,
      @ForAll @IntRange(min = -2, max = 2) int near) {
    Translator t =
        new Translator(Translation.PREDICTIVE, frames, MemorySegment.NULL, MemorySegment.NULL);
    long multiple = Math.max(0, pid / frames * frames + near);
    for (long p : new long[] {pid, multiple & PageRef.PID_MASK, PageRef.PID_MASK}) {
      assertEquals(p % frames, t.remainder(p));
      assertEquals((int) (p / frames), t.tag(p));
    }
  }

  @Property(tries = 1000)
  void predictionsAreAlwaysLegal(
      @ForAll Translation kind,
      @ForAll @IntRange(min = 64, max = 300) int frames,
      @ForAll long pid) {
    Translator t = translator(kind, frames);
    int frame = t.predict(pid);
    assertTrue(frame >= 0 && frame < frames, () -> "frame " + frame);
    int preferred = t.preferred(pid);
    assertTrue(preferred >= -1 && preferred < frames);
    assertTrue(t.bucket(pid) >= 0 && t.bucket(pid) < t.buckets);
  }

  /** Pages with few different preferred frames, so that entries and chains fill up. */
  @Property(tries = 300)
  void tableIsAMap(
      @ForAll Translation kind,
      @ForAll @IntRange(min = 1, max = 80) int preferredFrames,
      @ForAll long seed) {
    Assume.that(!Translator.isOwn(kind)); // a page is in its preferred frame, or in none
    int frames = 64;
    Translator t = translator(kind, frames);
    Random random = new Random(seed);
    Map<Long, Integer> model = new HashMap<>();
    boolean[] used = new boolean[frames];
    for (int i = 0; i < 400; i++) {
      long pid = 64 + random.nextInt(preferredFrames) + 64L * random.nextInt(40);
      int bucket = t.bucket(pid);
      Integer frame = model.get(pid);
      t.lock(bucket);
      assertEquals(frame == null ? -1 : frame, t.find(bucket, pid));
      if (frame != null) {
        t.remove(bucket, pid, frame);
        used[frame] = false;
        model.remove(pid);
      } else {
        int f = random.nextInt(frames);
        if (!used[f]) {
          t.insert(bucket, pid, f);
          used[f] = true;
          model.put(pid, f);
        }
      }
      t.unlock(bucket);
      model.forEach((p, f) -> assertEquals(f, t.locate(p)));
      model.forEach((p, f) -> assertEquals(f, t.lookup(p)));
      if (kind != Translation.PREDICTIVE) {
        model.forEach((p, f) -> assertEquals(f, t.predict(p)));
      }
    }
  }

  /** A page is in the frame with its number, or in none; frame 0 is not used. */
  @Property(tries = 300)
  void oneFramePerPage(@ForAll @IntRange(min = 64, max = 300) int frames, @ForAll long any) {
    Translator t = translator(Translation.VIRTUAL, frames);
    for (long pid : new long[] {1, 63, frames - 1, Math.floorMod(any, frames - 1) + 1}) {
      int bucket = t.bucket(pid);
      assertEquals(pid, t.predict(pid));
      assertEquals(-1, t.lookup(pid));
      t.lock(bucket);
      t.insert(bucket, pid, (int) pid);
      t.unlock(bucket);
      assertEquals(pid, t.locate(pid));
      assertEquals(pid, t.lookup(pid));
      t.lock(bucket);
      t.remove(bucket, pid, (int) pid);
      t.unlock(bucket);
      assertEquals(-1, t.locate(pid));
    }
    for (long pid : new long[] {0, -1, frames, Long.MAX_VALUE, Long.MIN_VALUE, 1L << 32}) {
      assertEquals(0, t.predict(pid));
      assertEquals(-1, t.lookup(pid));
    }
  }

  @Property(tries = 200)
  void preferredFramesSpread(@ForAll long seed) {
    Translator t = translator(Translation.PREDICTIVE_HASHED, 64);
    int[] hits = new int[64];
    Random random = new Random(seed);
    long first = random.nextInt(1_000_000);
    for (int i = 0; i < 6400; i++) {
      hits[t.preferred(first + i)]++;
    }
    for (int count : hits) {
      assertTrue(
          count > 30 && count < 200, () -> "one frame is preferred by " + count + " of 6400 pages");
    }
  }
}
