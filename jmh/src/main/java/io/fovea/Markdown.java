package io.fovea;

/** Prints Markdown tables. */
public final class Markdown {
  private Markdown() {}

  /** Prints a row. */
  public static void line(Object first, Object... cells) {
    StringBuilder s = new StringBuilder("| ").append(first);
    for (Object c : cells) {
      s.append(" | ").append(c);
    }
    System.out.println(s.append(" |"));
  }

  /** Prints the header and the rule below it. */
  public static void head(String first, Object... columns) {
    StringBuilder names = new StringBuilder("| ").append(first);
    StringBuilder rule = new StringBuilder("|---");
    for (Object c : columns) {
      names.append(" | ").append(c);
      rule.append("|---");
    }
    System.out.println(names.append(" |"));
    System.out.println(rule.append('|'));
  }
}
