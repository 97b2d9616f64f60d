package io.fovea.cli;

import java.io.Closeable;
import java.io.IOException;
import java.io.Reader;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Reads CSV after RFC 4180: values between commas, quoted if they contain commas, quotes or line
 * ends. A value without any character is null, and {@code ""} is empty. Lines end with CR, LF or
 * both; empty lines are skipped.
 *
 * <p>It copies each value once, out of a buffer that holds at least the value being read. Not
 * thread-safe.
 */
final class CsvReader implements Closeable {
  private static final int BUFFER = 1 << 16;

  /** Twice the number of hexadecimal digits of the longest value of a table. */
  private static final int VALUE_MAX = 1 << 28;

  /** The end of the input. */
  private static final int END = -1;

  private final Reader in;
  private char[] buffer;
  private int at;
  private int end;

  private @Nullable String[] values = new String[16];
  private int count;

  /** The number of line ends that were read. */
  private long lineEnds;

  private long line;

  CsvReader(Reader in) {
    this(in, BUFFER);
  }

  /**
   * Creates a reader.
   *
   * @param size the number of characters of the buffer, at least 1
   */
  CsvReader(Reader in, int size) {
    this.in = in;
    this.buffer = new char[size];
  }

  /** Returns the values of the next record; null at the end. */
  @Nullable String @Nullable [] next() throws IOException, Format.WrongInput {
    int c = peek();
    while (c == '\n' || c == '\r') {
      endLine();
      c = peek();
    }
    if (c == END) {
      return null;
    }
    count = 0;
    int after;
    do {
      line = lineEnds + 1;
      after = value();
    } while (after == ',');
    line = lineEnds + 1;
    if (after != END) {
      endLine();
    }
    return Arrays.copyOf(values, count);
  }

  /** The line at which the last record ended, or that is wrong; from 1. */
  long line() {
    return line;
  }

  /** Reads a value and the comma after it; returns the comma, or what else follows. */
  private int value() throws IOException, Format.WrongInput {
    if (peek() == '"') {
      return quoted();
    }
    int start = at;
    while (true) {
      for (; at < end; at++) {
        char c = buffer[at];
        if (c <= ',' && (c == ',' || c == '\n' || c == '\r')) {
          add(at == start ? null : new String(buffer, start, at - start));
          at += c == ',' ? 1 : 0;
          return c;
        }
      }
      boolean more = more(start);
      start = 0;
      if (!more) {
        add(at == start ? null : new String(buffer, start, at - start));
        return END;
      }
    }
  }

  private int quoted() throws IOException, Format.WrongInput {
    at++;
    int start = at;
    StringBuilder parts = null;
    boolean afterCr = false;
    while (true) {
      for (; at < end && buffer[at] != '"'; at++) {
        char c = buffer[at];
        lineEnds += c == '\r' || c == '\n' && !afterCr ? 1 : 0;
        afterCr = c == '\r';
      }
      if (at == end) {
        boolean more = more(start);
        start = 0;
        if (!more) {
          throw new Format.WrongInput("a quoted value has no closing quote");
        }
        continue;
      }
      if (at + 1 == end) {
        more(start); // the next character decides
        start = 0;
      }
      afterCr = false;
      if (at + 1 < end && buffer[at + 1] == '"') {
        parts = parts == null ? new StringBuilder() : parts;
        parts.append(buffer, start, at + 1 - start);
        at += 2;
        start = at;
        continue;
      }
      add(
          parts == null
              ? new String(buffer, start, at - start)
              : parts.append(buffer, start, at - start).toString());
      at++;
      break;
    }
    int c = peek();
    while (c == ' ' || c == '\t') {
      at++;
      c = peek();
    }
    if (c == ',') {
      at++;
    } else if (c != END && c != '\n' && c != '\r') {
      line = lineEnds + 1;
      throw new Format.WrongInput("a quoted value is followed by '" + (char) c + "', not a comma");
    }
    return c;
  }

  private void add(@Nullable String value) {
    if (count == values.length) {
      values = Arrays.copyOf(values, 2 * count);
    }
    values[count++] = value;
  }

  /** The next character, which is not consumed. */
  private int peek() throws IOException, Format.WrongInput {
    return at < end || more(at) ? buffer[at] : END;
  }

  private void endLine() throws IOException, Format.WrongInput {
    lineEnds++;
    if (buffer[at++] == '\r' && peek() == '\n') {
      at++;
    }
  }

  /**
   * Reads more characters, and moves those from {@code start} on to the beginning of the buffer.
   *
   * @return whether there are any
   */
  private boolean more(int start) throws IOException, Format.WrongInput {
    int kept = end - start;
    if (kept == buffer.length) {
      if (kept >= VALUE_MAX) {
        throw new Format.WrongInput("a value has more than " + VALUE_MAX + " characters");
      }
      buffer = Arrays.copyOf(buffer, 2 * kept);
    }
    if (start > 0) {
      System.arraycopy(buffer, start, buffer, 0, kept);
    }
    at -= start;
    end = kept;
    int n;
    do {
      n = in.read(buffer, end, buffer.length - end);
    } while (n == 0);
    end += Math.max(0, n);
    return n > 0;
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
