package io.fovea.index;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fovea.btree.Position;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

class HintCodecTest {
  private final MemorySegment memory = Arena.ofAuto().allocate(64, 8);

  @Property
  void roundTrip(
      @ForAll boolean frames,
      @ForAll boolean slots,
      @ForAll boolean withFrame,
      @ForAll @LongRange(min = 1, max = (1L << 40) - 1) long pid,
      @ForAll @IntRange(max = Integer.MAX_VALUE - 1) int frame,
      @ForAll @IntRange(max = 0xFFFE) int slot,
      @ForAll @IntRange(max = 0xFF) int line,
      @ForAll @IntRange(max = 20) int at) {
    HintCodec codec = new HintCodec(true, frames, slots);
    Position p = new Position();
    p.pid = pid;
    p.frame = frame;
    p.slot = slot;
    p.line = line;
    memory.fill((byte) 0x55);
    codec.write(memory, at, p, withFrame);
    assertEquals(
        (byte) 0x55, memory.get(java.lang.foreign.ValueLayout.JAVA_BYTE, at + codec.bytes()));
    Position q = new Position();
    codec.read(memory, at, q);
    assertEquals(pid, q.pid);
    assertEquals(line, q.line);
    assertEquals(frames && withFrame ? frame : -1, q.frame);
    assertEquals(slots && slot < 0xFFFF, q.found);
    if (slots) {
      assertEquals(slot, q.slot);
    }
  }

  @Property
  void omitsWhatCannotBeEncoded(@ForAll boolean frames, @ForAll boolean slots) {
    HintCodec codec = new HintCodec(true, frames, slots);
    Position p = new Position();
    p.frame = 7;
    p.pid = 1L << 40;
    codec.write(memory, 0, p, true);
    Position q = new Position();
    codec.read(memory, 0, q);
    assertEquals(0, q.pid);
    assertEquals(-1, q.frame);
    p.clear();
    p.pid = 3;
    codec.write(memory, 0, p, true);
    codec.read(memory, 0, q);
    assertEquals(0, q.pid);
  }
}
