package io.fovea.encoding;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.InvalidUseException;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;

/** The order of encoded values equals the order of the values, and encoding loses nothing. */
class TupleTest {
  private static final int CAP = 600;

  private final MemorySegment a = Arena.ofAuto().allocate(CAP);
  private final MemorySegment b = Arena.ofAuto().allocate(CAP);

  @Property
  void int32OrderIsPreserved(@ForAll int x, @ForAll int y) {
    int n = Tuple.putInt32(a, 0, x);
    int m = Tuple.putInt32(b, 0, y);
    assertEquals(Integer.signum(Integer.compare(x, y)), order(n, m));
    assertEquals(x, Tuple.getInt32(a, 0));
  }

  @Property
  void int64OrderIsPreserved(@ForAll long x, @ForAll long y) {
    int n = Tuple.putInt64(a, 0, x);
    int m = Tuple.putInt64(b, 0, y);
    assertEquals(Integer.signum(Long.compare(x, y)), order(n, m));
    assertEquals(x, Tuple.getInt64(a, 0));
  }

  @net.jqwik.api.Tag("slow")
  @Property(tries = 2000)
  void byteOrderIsPreserved(@ForAll("zeros") byte[] x, @ForAll("zeros") byte[] y) {
    int n = Tuple.end(a, Tuple.escape(x, 0, x.length, a, 0));
    int m = Tuple.end(b, Tuple.escape(y, 0, y.length, b, 0));
    assertEquals(Integer.signum(Arrays.compareUnsigned(x, y)), order(n, m));
    assertEquals(n, Tuple.skip(a, 0, n, Tuple.BYTES));
    assertArrayEquals(x, Tuple.getBytes(a, 0, n));
  }

  @net.jqwik.api.Tag("slow")
  @Property(tries = 2000)
  void textIsOrderedByCodePoints(@ForAll("texts") String x, @ForAll("texts") String y) {
    int n = Tuple.end(a, Tuple.escapeText(x, 200, a, 0));
    int m = Tuple.end(b, Tuple.escapeText(y, 200, b, 0));
    int expected = Arrays.compare(x.codePoints().toArray(), y.codePoints().toArray());
    assertEquals(Integer.signum(expected), order(n, m));
    assertArrayEquals(x.getBytes(StandardCharsets.UTF_8), Tuple.getBytes(a, 0, n));
  }

  /** Parts cannot run into one another: (a, b) is ordered by a, then by b. */
  @net.jqwik.api.Tag("slow")
  @Property(tries = 2000)
  void tupleOrderIsPreserved(
      @ForAll("zeros") byte[] x1, @ForAll int x2, @ForAll("zeros") byte[] y1, @ForAll int y2) {
    int n = Tuple.putInt32(a, Tuple.end(a, Tuple.escape(x1, 0, x1.length, a, 0)), x2);
    int m = Tuple.putInt32(b, Tuple.end(b, Tuple.escape(y1, 0, y1.length, b, 0)), y2);
    int first = Arrays.compareUnsigned(x1, y1);
    int expected = first != 0 ? first : Integer.compare(x2, y2);
    assertEquals(Integer.signum(expected), order(n, m));
  }

  /** A tuple of fewer parts is a prefix of exactly those that begin with its values. */
  @net.jqwik.api.Tag("slow")
  @Property(tries = 2000)
  void prefixesAreExact(@ForAll("zeros") byte[] x, @ForAll("zeros") byte[] y, @ForAll long rest) {
    int n = Tuple.end(a, Tuple.escape(x, 0, x.length, a, 0));
    int m = Tuple.putInt64(b, Tuple.end(b, Tuple.escape(y, 0, y.length, b, 0)), rest);
    boolean prefix = m >= n && Mem.equal(a, 0, n, b, 0, n);
    assertEquals(Arrays.equals(x, y), prefix);
  }

  @net.jqwik.api.Tag("slow")
  @Property(tries = 2000)
  void successorOfAPrefixIsTheLeastAboveItsKeys(
      @ForAll("zeros") byte[] prefix, @ForAll("zeros") byte[] other) {
    Mem.putBytes(a, 0, prefix, 0, prefix.length);
    Mem.putBytes(b, 0, other, 0, other.length);
    int n = Tuple.successorOfPrefix(a, 0, prefix.length);
    boolean begins =
        other.length >= prefix.length && Arrays.equals(prefix, Arrays.copyOf(other, prefix.length));
    boolean above = Arrays.compareUnsigned(other, prefix) >= 0;
    boolean below = n == 0 || order(n, other.length) > 0;
    assertEquals(begins, above && below);
  }

  @Test
  void oversizedTextIsCountedButNotTruncated() {
    assertEquals(-1 - 6, Tuple.escapeText("äöü", 5, a, 0));
    assertEquals(6, Tuple.escapeText("äöü", 6, a, 0));
    assertEquals(-1 - 4, Tuple.escapeText("abcd", 3, a, 0));
    assertEquals(-1 - 4, Utf8.put("\uD83D\uDE00", a, 0, 3));
    assertEquals(4, Utf8.put("\uD83D\uDE00", a, 0, 4));
    assertEquals("\uD83D\uDE00", Utf8.get(a, 0, 4));
    assertTrue(Utf8.equal(a, 0, 4, "\uD83D\uDE00"));
  }

  @Test
  void unpairedSurrogateHasNoUtf8() {
    assertThrows(InvalidUseException.class, () -> Tuple.escapeText("a\uD83D", 10, a, 0));
    assertThrows(InvalidUseException.class, () -> Utf8.put("\uDE00", a, 0, 10));
    assertThrows(InvalidUseException.class, () -> Utf8.length("\uDE00\uD83D"));
  }

  @Test
  void incompletePartIsDetected() {
    assertEquals(-1, Tuple.skip(a, 0, 3, Tuple.INT32));
    Mem.putBytes(a, 0, new byte[] {'a', 0, (byte) 0xFF, 0}, 0, 4);
    assertEquals(-1, Tuple.skip(a, 0, 4, Tuple.TEXT));
  }

  @Provide
  Arbitrary<byte[]> zeros() {
    return Arbitraries.bytes()
        .injectDuplicates(0.3)
        .map(x -> x % 5 == 0 ? (byte) 0 : x % 7 == 0 ? (byte) -1 : x)
        .array(byte[].class)
        .ofMaxSize(12);
  }

  @Provide
  Arbitrary<String> texts() {
    return Arbitraries.strings()
        .withChars('\0', 'a', 'b', '\u0001', 'ÿ', 'ʸ', '\uFFFD', '\uE000')
        .ofMaxLength(10)
        .map(s -> s.replace("ʸ", "\uD83D\uDE00"));
  }

  private int order(int n, int m) {
    return Integer.signum(Mem.compare(a, 0, n, b, 0, m));
  }
}
