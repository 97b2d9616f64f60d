package io.fovea;

/** Prints tables of Markdown. */
public final class Markdown {
  private Markdown() {}

  /** A line of a table. */
  public static void line(Object first, Object... cells) {
    StringBuilder s = new StringBuilder("| ").append(first);
    for (Object c : cells) {
      s.append(" | ").append(c);
    }
    System.out.println(s.append(" |"));
  }

  /** The names of the columns, and the rule below them. */
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
