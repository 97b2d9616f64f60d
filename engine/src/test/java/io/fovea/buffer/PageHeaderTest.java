package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class PageHeaderTest {
  private static final int PAGE = 4096;
  private final MemorySegment seg = Arena.ofAuto().allocate(2 * PAGE, PAGE);

  @Test
  void fieldsDoNotOverlap() {
    PageHeader.init(seg, PAGE, PageHeader.LEAF, 0x0102030405060708L, 77);
    PageHeader.setLayout(seg, PAGE, 3);
    PageHeader.setLevel(seg, PAGE, 65_535);
    PageHeader.raisePageLsn(seg, PAGE, 99);
    assertEquals(PageHeader.LEAF, PageHeader.type(seg, PAGE));
    assertEquals(3, PageHeader.layout(seg, PAGE));
    assertEquals(65_535, PageHeader.level(seg, PAGE));
    assertEquals(0x0102030405060708L, PageHeader.pid(seg, PAGE));
    assertEquals(99, PageHeader.pageLsn(seg, PAGE));
    assertEquals(77, PageHeader.treeId(seg, PAGE));
    assertEquals(0, Mem.getInt(seg, PAGE + PageHeader.RESERVED));
  }

  @Test
  void lsnNeverDecreases() {
    PageHeader.raisePageLsn(seg, 0, 10);
    PageHeader.raisePageLsn(seg, 0, 9);
    assertEquals(10, PageHeader.pageLsn(seg, 0));
  }

  @Test
  void everyBitIsChecked() {
    PageHeader.init(seg, 0, PageHeader.LEAF, 5, 1);
    PageHeader.seal(seg, 0, PAGE);
    int sealed = PageHeader.checksum(seg, 0);
    assertEquals(sealed, PageHeader.sum(seg, 0, PAGE));
    for (int at = PageHeader.TYPE; at < PAGE; at += 7) {
      byte old = Mem.getByte(seg, at);
      Mem.putByte(seg, at, (byte) (old ^ 1 << at % 8));
      assertNotEquals(sealed, PageHeader.sum(seg, 0, PAGE), "byte " + at);
      Mem.putByte(seg, at, old);
    }
  }
}
