package io.fovea.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * An input that can be read only once, such as a pipe. If it may be read again, its bytes are
 * copied to a temporary file while they are read. Not thread-safe.
 */
final class Spool extends InputStream {
  private static final int BUFFER = 1 << 16;

  private final InputStream in;
  private final @Nullable Path file;
  private final @Nullable OutputStream copy;

  /** The number of bytes read from the input. */
  private long count;

  /** The copy after those bytes, once the rest of the input was read for another reader. */
  private @Nullable InputStream rest;

  /**
   * Creates a spool.
   *
   * @param isReadTwice whether {@link #again} may be called
   */
  Spool(InputStream in, boolean isReadTwice) throws IOException {
    this.in = in;
    this.file = isReadTwice ? Files.createTempFile("fovea-import", "") : null;
    this.copy = file == null ? null : Files.newOutputStream(file);
    if (file != null) {
      file.toFile().deleteOnExit(); // after Ctrl-C
    }
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
  }

  @Override
  public int read(byte[] to, int from, int length) throws IOException {
    InputStream copied = rest;
    if (copied != null) {
      return copied.read(to, from, length);
    }
    int n = in.read(to, from, length);
    if (n > 0) {
      count += n;
      if (copy != null) {
        copy.write(to, from, n);
      }
    }
    return n;
  }

  /**
   * Copies the rest, and returns the input from its beginning. A reader of this continues where it
   * is.
   */
  InputStream again() throws IOException {
    Path there = file;
    if (there == null) {
      throw new IllegalStateException("Not copied.");
    }
    if (rest == null) {
      long at = count;
      byte[] buffer = new byte[BUFFER];
      while (read(buffer, 0, buffer.length) >= 0) {
        // Reading copies it.
      }
      InputStream copied = Files.newInputStream(there);
      rest = copied;
      copied.skipNBytes(at);
    }
    return Files.newInputStream(there);
  }

  /** Keeps the copy: readers of this are closed before the input is read again. */
  @Override
  public void close() {}

  /** Deletes the copy. */
  void delete() throws IOException {
    InputStream copied = rest;
    if (copied != null) {
      copied.close();
    }
    if (copy != null) {
      copy.close();
    }
    if (file != null) {
      Files.deleteIfExists(file);
    }
  }
}
