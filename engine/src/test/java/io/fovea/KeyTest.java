package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.InvalidUseException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import org.junit.jupiter.api.Test;

class KeyTest {
  private static final KeySpec.Definition B = KeySpec.define();
  private static final Field W = B.int32("w");
  private static final Field NAME = B.text("name", 8);
  private static final Field RAW = B.bytes("raw", 4);
  private static final Field ID = B.int64("id");
  private static final KeySpec SPEC = B.build();

  private final Key key = new Key(SPEC, this);

  @Test
  void partsAreReadAsTheyWereSet() {
    key.clear().int32(-5).text("a\0b").bytes(new byte[] {0, 1, -1}).int64(Long.MIN_VALUE);
    assertTrue(key.isComplete());
    assertEquals(-5, key.getInt(0));
    assertEquals(-5, key.getInt(W));
    assertEquals(-5L, key.getLong(W));
    assertEquals("a\0b", key.getText(NAME));
    assertArrayEquals(new byte[] {0, 1, -1}, key.getBytes(2));
    assertEquals(Long.MIN_VALUE, key.getLong(ID));
    assertEquals("(-5, \"a\0b\", [0, 1, -1], " + Long.MIN_VALUE + ")", key.toString());
    assertEquals(RAW, key.spec().part("raw"));
  }

  @Test
  void partsOfALoadedKey() {
    key.clear().int32(7).text("x").bytes(new byte[0]).int64(9);
    Key copy = new Key(SPEC, this);
    copy.load(key.segment(), key.base(), key.length());
    assertEquals(4, copy.parts());
    assertEquals("x", copy.getText(1));
    assertEquals(0, copy.getBytes(2).length);
    assertEquals(9, copy.getLong(3));
    assertEquals(0, key.compareTo(copy));
  }

  @Test
  void prefixIsNotComplete() {
    key.clear().int32(7);
    assertEquals(1, key.parts());
    assertFalse(key.isComplete());
    key.textPrefix("ab");
    assertEquals(1, key.parts());
    assertThrows(InvalidUseException.class, () -> key.bytes(new byte[1]));
    Key copy = new Key(SPEC, this).set(key);
    assertThrows(InvalidUseException.class, () -> copy.text("c"));
    assertEquals("(7, ...)", key.toString());
  }

  @Test
  void refusedPartsChangeNothing() {
    key.clear().int32(7);
    assertThrows(InvalidUseException.class, () -> key.int32(8));
    assertThrows(ValueTooLargeException.class, () -> key.text("123456789"));
    assertThrows(InvalidUseException.class, () -> key.set(1, 2));
    assertThrows(InvalidUseException.class, () -> key.set(1L << 40));
    assertThrows(InvalidUseException.class, () -> key.clear().getInt(0));
    assertThrows(InvalidUseException.class, () -> key.getInt(17));
    assertThrows(InvalidUseException.class, () -> key.getInt(-1));
    assertThrows(NullPointerException.class, () -> key.set(1).text(null));
    key.set(7);
    assertThrows(ValueTooLargeException.class, () -> key.text("x").bytes(new byte[5]));
    assertThrows(IndexOutOfBoundsException.class, () -> key.bytes(new byte[4], 3, 2));
    assertEquals(2, key.parts());
  }

  @Test
  void integersWidenButDoNotShrink() {
    Key longs = new Key(KeySpec.of(FieldType.INT64, FieldType.INT64), this);
    longs.set(1, 2);
    assertEquals(2, longs.getLong(1));
    longs.set(1L, -1L);
    assertEquals(-1, longs.getLong(1));
    Key ints = new Key(KeySpec.of(FieldType.INT32), this);
    ints.set(5L);
    assertEquals(5, ints.getInt(0));
    assertThrows(InvalidUseException.class, () -> ints.set(1, 2));
    assertThrows(IllegalArgumentException.class, () -> KeySpec.of(FieldType.TEXT));
    assertThrows(IllegalArgumentException.class, () -> KeySpec.define().build());
  }

  @Test
  void specificationsAreValues() {
    KeySpec.Definition other = KeySpec.define();
    other.int32("w");
    other.text("name", 8);
    other.bytes("raw", 4);
    other.int64("id");
    KeySpec same = other.build();
    assertEquals(SPEC, same);
    assertEquals(SPEC.hashCode(), same.hashCode());
    assertEquals("KeySpec(w INT32, name TEXT(8), raw BYTES(4), id INT64)", SPEC.toString());
    assertThrows(IllegalArgumentException.class, () -> other.int32("w"));
    assertThrows(IllegalArgumentException.class, () -> SPEC.part("x"));
    assertThrows(IllegalArgumentException.class, () -> KeySpec.define().text("x", 0));
    assertThrows(IllegalArgumentException.class, () -> KeySpec.define().int32(""));
  }
}
