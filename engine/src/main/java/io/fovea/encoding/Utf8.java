package io.fovea.encoding;

import io.fovea.error.InvalidUseException;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;

/** UTF-8 text in native memory, written without allocation. */
public final class Utf8 {
  private Utf8() {}

  /**
   * Returns the number of bytes of text in UTF-8.
   *
   * @throws InvalidUseException if it has an unpaired surrogate
   */
  public static int length(CharSequence text) {
    int bytes = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c < 0x80) {
        bytes++;
      } else {
        int point = codePoint(text, i);
        bytes += size(point);
        i += point >= 0x10000 ? 1 : 0;
      }
    }
    return bytes;
  }

  /**
   * Writes text as UTF-8.
   *
   * @param cap the maximum number of bytes
   * @return the number of bytes written, or -1 - (bytes of the text) if there are more than {@code
   *     cap}
   * @throws InvalidUseException if it has an unpaired surrogate
   */
  public static int put(CharSequence text, MemorySegment dst, long off, int cap) {
    int n = text.length();
    if (n > cap) {
      return -1 - length(text);
    }
    long at = off;
    for (int i = 0; i < n; i++) {
      char c = text.charAt(i);
      if (c < 0x80) {
        if (at - off == cap) {
          return -1 - length(text);
        }
        Mem.putByte(dst, at++, (byte) c);
      } else {
        int point = codePoint(text, i);
        if (at - off + size(point) > cap) {
          return -1 - length(text);
        }
        at = put(point, dst, at);
        i += point >= 0x10000 ? 1 : 0;
      }
    }
    return (int) (at - off);
  }

  /** Reads text; invalid UTF-8 becomes the replacement character. */
  public static String get(MemorySegment src, long off, int len) {
    byte[] bytes = new byte[len];
    Mem.getBytes(src, off, bytes, 0, len);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** Returns whether the bytes are the UTF-8 of the given text. */
  public static boolean equal(MemorySegment src, long off, int len, CharSequence text) {
    int at = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c >= 0x80) {
        return get(src, off, len).contentEquals(text);
      }
      if (at == len || Mem.getByte(src, off + at++) != c) {
        return false;
      }
    }
    return at == len;
  }

  static int codePoint(CharSequence text, int i) {
    char c = text.charAt(i);
    if (Character.isHighSurrogate(c)
        && i + 1 < text.length()
        && Character.isLowSurrogate(text.charAt(i + 1))) {
      return Character.toCodePoint(c, text.charAt(i + 1));
    }
    if (Character.isSurrogate(c)) {
      throw new InvalidUseException(
          "The text contains an unpaired surrogate at index " + i + ", which UTF-8 can't encode.");
    }
    return c;
  }

  static int size(int point) {
    return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  }

  static int put(int point, MemorySegment dst, int off) {
    return (int) put(point, dst, (long) off);
  }

  private static long put(int point, MemorySegment dst, long off) {
    long at = off;
    if (point < 0x80) {
      Mem.putByte(dst, at++, (byte) point);
    } else if (point < 0x800) {
      Mem.putByte(dst, at++, (byte) (0xC0 | point >> 6));
      Mem.putByte(dst, at++, (byte) (0x80 | point & 0x3F));
    } else if (point < 0x10000) {
      Mem.putByte(dst, at++, (byte) (0xE0 | point >> 12));
      Mem.putByte(dst, at++, (byte) (0x80 | point >> 6 & 0x3F));
      Mem.putByte(dst, at++, (byte) (0x80 | point & 0x3F));
    } else {
      Mem.putByte(dst, at++, (byte) (0xF0 | point >> 18));
      Mem.putByte(dst, at++, (byte) (0x80 | point >> 12 & 0x3F));
      Mem.putByte(dst, at++, (byte) (0x80 | point >> 6 & 0x3F));
      Mem.putByte(dst, at++, (byte) (0x80 | point & 0x3F));
    }
    return at;
  }
}
