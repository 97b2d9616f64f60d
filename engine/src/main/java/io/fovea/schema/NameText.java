package io.fovea.schema;

/**
 * Formats names of tables, indexes and fields for messages. Thread-safe.
 *
 * @since 0.1.0
 */
public final class NameText {
  private NameText() {}

  /**
   * Formats a name.
   *
   * @param name any name
   * @return the name, if it contains only ASCII letters and digits and {@code _-.}; otherwise
   *     quoted, with line breaks and invisible characters escaped as in Java
   */
  public static String of(String name) {
    for (int i = 0; i < name.length(); i++) {
      if (!isPlain(name.charAt(i))) {
        return quoted(name);
      }
    }
    return name;
  }

  private static boolean isPlain(char c) {
    return c >= 'a' && c <= 'z'
        || c >= 'A' && c <= 'Z'
        || c >= '0' && c <= '9'
        || c == '_'
        || c == '-'
        || c == '.';
  }

  private static String quoted(String name) {
    StringBuilder out = new StringBuilder(name.length() + 2).append('"');
    name.codePoints()
        .forEach(
            c -> {
              if (c == '"' || c == '\\') {
                out.append('\\').appendCodePoint(c);
              } else if (isVisible(c)) {
                out.appendCodePoint(c);
              } else {
                for (char half : Character.toChars(c)) {
                  out.append(String.format("\\u%04x", (int) half));
                }
              }
            });
    return out.append('"').toString();
  }

  private static boolean isVisible(int c) {
    return switch (Character.getType(c)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.SURROGATE,
          Character.PRIVATE_USE,
          Character.UNASSIGNED,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR ->
          false;
      default -> c == ' ' || !Character.isSpaceChar(c);
    };
  }
}
