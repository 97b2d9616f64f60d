package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.tpcc.bench.Rng;
import java.nio.charset.StandardCharsets;
import java.util.BitSet;
import org.junit.jupiter.api.Test;

class TextTest {
  private final Rng rng = new Rng(1);
  private final Text text = new Text();

  private String string(int length) {
    return new String(text.bytes, 0, length, StandardCharsets.US_ASCII);
  }

  @Test
  void lastNamesAreThreeSyllables() {
    assertEquals("BARBARBAR", LastNames.of(0));
    assertEquals("PRICALLYOUGHT", LastNames.of(371));
    assertEquals("OUGHTABLEPRI", LastNames.of(123));
    assertEquals("PRESESEANTI", LastNames.of(456));
    assertEquals("CALLYATIONEING", LastNames.of(789));
    assertEquals("EINGEINGEING", LastNames.of(999));
  }

  @Test
  void alphanumericReachesBothLengthsAndEveryCharacter() {
    BitSet lengths = new BitSet();
    BitSet characters = new BitSet();
    for (int i = 0; i < 5_000; i++) {
      String s = string(text.alphanumeric(rng, 14, 24));
      assertTrue(s.matches("[A-Za-z0-9]{14,24}"), s);
      lengths.set(s.length());
      s.chars().forEach(characters::set);
    }
    assertEquals(11, lengths.cardinality());
    assertEquals(62, characters.cardinality());
  }

  @Test
  void fixedLengthsAreExact() {
    for (int i = 0; i < 200; i++) {
      assertEquals(24, text.alphanumeric(rng, 24, 24));
      assertTrue(string(text.letters(rng, 2)).matches("[A-Z]{2}"));
      assertTrue(string(text.digits(rng, 16)).matches("[0-9]{16}"));
      assertTrue(string(text.zip(rng)).matches("[0-9]{4}11111"));
    }
  }

  @Test
  void originalOccursAnywhereInData() {
    boolean first = false;
    boolean last = false;
    BitSet lengths = new BitSet();
    for (int i = 0; i < 20_000; i++) {
      int length = text.data(rng, true);
      String s = string(length);
      lengths.set(length);
      assertTrue(s.contains("ORIGINAL") && s.matches("[A-Za-z0-9]{26,50}"), s);
      assertTrue(Text.isOriginal(text.bytes, length));
      first |= s.startsWith("ORIGINAL");
      last |= s.endsWith("ORIGINAL");
    }
    assertTrue(first && last, "ORIGINAL reaches both ends");
    assertEquals(25, lengths.cardinality());
    for (int i = 0; i < 1_000; i++) {
      int length = text.data(rng, false);
      assertFalse(Text.isOriginal(text.bytes, length));
    }
  }

  @Test
  void isOriginalRespectsTheLength() {
    byte[] b = "xORIGINAL".getBytes(StandardCharsets.US_ASCII);
    assertTrue(Text.isOriginal(b, 9));
    assertFalse(Text.isOriginal(b, 8));
    assertFalse(Text.isOriginal(b, 0));
  }
}
