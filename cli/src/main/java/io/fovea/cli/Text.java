package io.fovea.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.math.BigDecimal;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Formats values as text: names and values on lines, tables, bytes. */
final class Text {
  private static final HexFormat HEX = HexFormat.of();

  /** The number of bytes shown of an abbreviated byte string. */
  private static final int SHOWN = 48;

  private Text() {}

  /** Why a file can't be accessed; the JDK's message is only the path. */
  static String why(IOException e) {
    return switch (e) {
      case NoSuchFileException n -> "its directory is missing";
      case AccessDeniedException a -> "access is denied";
      case FileSystemException f when f.getReason() != null -> f.getReason();
      default -> String.valueOf(e.getMessage());
    };
  }

  /** A message without its period, to be embedded or to end like those of commands. */
  static String reason(Exception e) {
    String text = String.valueOf(e.getMessage()).strip();
    return text.endsWith(".") ? text.substring(0, text.length() - 1) : text;
  }

  /** A byte string in hexadecimal, and in quotes if it is readable. */
  static String bytes(byte[] b, boolean all) {
    int n = all ? b.length : Math.min(b.length, SHOWN);
    StringBuilder s = new StringBuilder(HEX.formatHex(b, 0, n));
    if (n < b.length) {
      s.append("... (").append(b.length).append(" bytes)");
    }
    StringBuilder quoted = new StringBuilder();
    int readable = 0;
    for (int i = 0; i < n; i++) {
      boolean is = b[i] >= 0x20 && b[i] < 0x7F;
      readable += is ? 1 : 0;
      quoted.append(is ? (char) b[i] : '.');
    }
    return 2 * readable > n ? s + " \"" + quoted + "\"" : s.toString();
  }

  /** A value on one line. */
  static String value(@Nullable Object v, boolean all) {
    return switch (v) {
      case null -> "none";
      case byte[] b -> b.length == 0 ? "empty" : bytes(b, all);
      case BigDecimal d -> d.toPlainString();
      case Map<?, ?> m -> Json.compact(m);
      case List<?> l when l.stream().anyMatch(Text::hasParts) -> Json.compact(l);
      default -> v.toString();
    };
  }

  private static boolean hasParts(@Nullable Object o) {
    return o instanceof Map || o instanceof List || o instanceof byte[];
  }

  /** A name and a value on each line; one line for each map of a list. */
  static void lines(
      PrintWriter out, Map<String, @Nullable Object> map, String indent, boolean all) {
    int width = map.keySet().stream().mapToInt(String::length).max().orElse(0);
    map.forEach(
        (name, v) -> {
          if (v instanceof List<?> list) {
            out.println(indent + name + ":");
            list.forEach(o -> out.println(indent + "  " + line(o, all)));
          } else {
            out.println(indent + name + " ".repeat(width - name.length() + 2) + value(v, all));
          }
        });
  }

  /** A value on one line, maps with their names. */
  static String line(@Nullable Object o, boolean all) {
    if (!(o instanceof Map<?, ?> map)) {
      return value(o, all);
    }
    StringBuilder s = new StringBuilder();
    map.forEach(
        (name, v) ->
            s.append(s.isEmpty() ? "" : "  ").append(name).append(' ').append(value(v, all)));
    return s.toString();
  }

  /** A table; columns of numbers are aligned to the right. */
  static void table(PrintWriter out, List<List<String>> rows) {
    int columns = rows.getFirst().size();
    int[] width = new int[columns];
    for (List<String> row : rows) {
      for (int i = 0; i < columns; i++) {
        width[i] = Math.max(width[i], row.get(i).length());
      }
    }
    for (List<String> row : rows) {
      StringBuilder s = new StringBuilder();
      for (int i = 0; i < columns; i++) {
        String pad = " ".repeat(width[i] - row.get(i).length());
        s.append(i == 0 ? row.get(i) + pad : "  " + pad + row.get(i));
      }
      out.println(s.toString().stripTrailing());
    }
  }

  /** One line for the record, and one for each part of it. */
  static void record(PrintWriter out, Map<String, @Nullable Object> record, boolean all) {
    StringBuilder line = new StringBuilder();
    line.append(record.get("lsn")).append("..").append(record.get("end"));
    line.append("  ").append(record.get("type"));
    record.forEach(
        (name, v) -> {
          boolean said =
              name.equals("lsn")
                  || name.equals("end")
                  || name.equals("type")
                  || name.equals("body");
          boolean parts =
              v instanceof List<?> list && !list.isEmpty() && list.getFirst() instanceof Map;
          if (!said && !parts) {
            line.append("  ").append(name).append(' ').append(value(v, all));
          }
        });
    out.println(line);
    record.forEach(
        (name, v) -> {
          if (v instanceof List<?> list) {
            for (Object o : list) {
              if (o instanceof Map<?, ?>) {
                out.println("    " + line(o, all));
              }
            }
          }
        });
  }

  /** All bytes, 16 per line, with their offsets. */
  static void hex(PrintWriter out, byte[] all) {
    for (int at = 0; at < all.length; at += 16) {
      StringBuilder digits = new StringBuilder();
      StringBuilder chars = new StringBuilder();
      for (int i = at; i < Math.min(at + 16, all.length); i++) {
        byte b = all[i];
        digits.append(HEX.toHexDigits(b)).append(i % 8 == 7 ? "  " : " ");
        chars.append(b >= 0x20 && b < 0x7F ? (char) b : '.');
      }
      out.println(String.format("%08x  %-50s%s", at, digits, chars).stripTrailing());
    }
  }
}
