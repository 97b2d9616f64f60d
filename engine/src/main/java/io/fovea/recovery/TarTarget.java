package io.fovea.recovery;

import io.fovea.error.InvalidUseException;
import io.fovea.io.Directories;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A backup as a tar archive in a stream: ustar, which every tar reads.
 *
 * <pre>
 *   header, 512 bytes | bytes of the file, zeros up to 512 | header | bytes | 1024 zeros
 *
 *   header   0 name 100 · 100 mode 8 · 108 uid 8 · 116 gid 8 · 124 size 12 · 136 mtime 12
 *            148 checksum 8 · 156 type 1 "0" · 257 "ustar\0" "00"
 *            numbers: octal digits and a zero; a size of 8 GiB or more: 0x80, then a big-endian
 *            number (base-256, as GNU and BSD tar have it)
 * </pre>
 *
 * <p>The stream stays open. A failed backup has no end mark and lacks bytes that its header
 * promises, which tar reports.
 */
final class TarTarget implements BackupTarget {
  private static final int BLOCK = 512;
  private static final int NAME_MAX = 100;
  private static final int SIZE_DIGITS = 11;

  private final OutputStream out;
  private final String name;
  private final long mtimeSeconds;
  private final int mode;
  private long left;
  private int padding;

  TarTarget(OutputStream out, String name, String like) {
    this.out = out;
    this.mode = Directories.mode(Directories.permissions(like), 0644);
    this.name = name;
    this.mtimeSeconds = System.currentTimeMillis() / 1000;
  }

  @Override
  public void begin(String suffix, long bytes) throws IOException {
    out.write(header(name + suffix, bytes, mtimeSeconds, mode));
    left = bytes;
    padding = (int) (-bytes & BLOCK - 1);
  }

  static byte[] header(String name, long bytes, long mtimeSeconds, int mode) {
    byte[] n = name.getBytes(StandardCharsets.UTF_8);
    if (n.length > NAME_MAX) {
      throw new InvalidUseException(
          "The name " + name + " is longer than the " + NAME_MAX + " bytes that tar allows.");
    }
    byte[] h = new byte[BLOCK];
    System.arraycopy(n, 0, h, 0, n.length);
    octal(h, 100, 7, mode);
    octal(h, 108, 7, 0);
    octal(h, 116, 7, 0);
    if (bytes < 1L << 3 * SIZE_DIGITS) {
      octal(h, 124, SIZE_DIGITS, bytes);
    } else {
      h[124] = (byte) 0x80;
      for (int i = 0; i < 8; i++) {
        h[135 - i] = (byte) (bytes >>> 8 * i);
      }
    }
    octal(h, 136, 11, mtimeSeconds);
    h[156] = '0';
    byte[] magic = "ustar\00000".getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(magic, 0, h, 257, magic.length);
    Arrays.fill(h, 148, 156, (byte) ' ');
    int sum = 0;
    for (byte b : h) {
      sum += b & 0xFF;
    }
    octal(h, 148, 6, sum);
    h[154] = 0;
    return h;
  }

  private static void octal(byte[] h, int at, int digits, long number) {
    long rest = number;
    for (int i = digits - 1; i >= 0; i--) {
      h[at + i] = (byte) ('0' + (rest & 7));
      rest >>>= 3;
    }
    h[at + digits] = 0;
  }

  @Override
  public void write(byte[] from, int off, int len) throws IOException {
    left -= len;
    out.write(from, off, len);
  }

  @Override
  public void end() throws IOException {
    if (left != 0) {
      throw new IllegalStateException(left + " bytes of a file are missing.");
    }
    out.write(new byte[padding]);
  }

  @Override
  public void finish() throws IOException {
    out.write(new byte[2 * BLOCK]);
    out.flush();
  }

  @Override
  public void close() {}
}
