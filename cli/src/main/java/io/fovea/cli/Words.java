package io.fovea.cli;

import java.util.ArrayList;
import java.util.List;
import org.jline.reader.CompletingParsedLine;
import org.jline.reader.EOFError;
import org.jline.reader.Parser;

/**
 * A line of a shell, split into words.
 *
 * <pre>
 *   get stock 7 'two words' ""     single quotes: literal     "" is an empty word
 *   get stock "a \"b\""            double quotes: a backslash escapes the next character
 *   get stock a\ b                 and also outside of quotes
 *   # a comment                    a word that begins with # ends the line
 * </pre>
 *
 * <p>Immutable and thread-safe.
 */
final class Words implements CompletingParsedLine {
  private static final char NONE = 0;

  private final String line;
  private final int cursor;
  private final List<String> words = new ArrayList<>();
  private int wordIndex = -1;
  private int wordCursor;
  private int rawStart;
  private int rawEnd;

  /** The unclosed quote, or {@link #NONE}. */
  private char open = NONE;

  private Words(String line, int cursor) {
    this.line = line;
    this.cursor = cursor;
  }

  /** The parser for the line reader. An unclosed quote continues on the next line. */
  static Parser parser() {
    return (line, cursor, context) -> {
      Words words = of(line, cursor);
      if (words.open != NONE && context == Parser.ParseContext.ACCEPT_LINE) {
        throw new EOFError(-1, -1, "unclosed quote", "quote");
      }
      return words;
    };
  }

  /** Splits a whole line. */
  static Words of(String line) {
    return of(line, line.length());
  }

  private static Words of(String line, int cursor) {
    Words words = new Words(line, cursor);
    words.split();
    return words;
  }

  private void split() {
    int at = 0;
    while (true) {
      while (at < line.length() && Character.isWhitespace(line.charAt(at))) {
        at++;
      }
      if (at >= line.length() || line.charAt(at) == '#') {
        break;
      }
      if (wordIndex < 0 && cursor < at) {
        none(cursor);
      }
      at = word(at);
    }
    if (wordIndex < 0) {
      none(cursor);
    }
  }

  /** The cursor is between words: adds an empty one. */
  private void none(int at) {
    wordIndex = words.size();
    words.add("");
    rawStart = at;
    rawEnd = at;
  }

  /** Reads a word; returns the position after it. */
  private int word(int from) {
    StringBuilder word = new StringBuilder();
    int cursorInWord = -1;
    open = NONE;
    int at = from;
    for (; at < line.length(); at++) {
      char c = line.charAt(at);
      if (at == cursor) {
        cursorInWord = word.length();
      }
      if (open == NONE && Character.isWhitespace(c)) {
        break;
      }
      if (c == '\\' && open != '\'' && at + 1 < line.length()) {
        at++;
        word.append(line.charAt(at));
      } else if (open == NONE && (c == '\'' || c == '"')) {
        open = c;
      } else if (c == open) {
        open = NONE;
      } else {
        word.append(c);
      }
    }
    if (wordIndex < 0 && from <= cursor && cursor <= at) {
      wordIndex = words.size();
      wordCursor = cursorInWord < 0 ? word.length() : cursorInWord;
      rawStart = from;
      rawEnd = at;
    }
    words.add(word.toString());
    return at;
  }

  /** Quotes a word as it must be typed. */
  static String quoted(String word) {
    return !word.isEmpty()
            && word.chars().noneMatch(c -> Character.isWhitespace(c) || "'\"\\".indexOf(c) >= 0)
            && word.charAt(0) != '#'
        ? word
        : '"' + word.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }

  /** All words, without the empty one at the cursor. */
  List<String> all() {
    List<String> all = new ArrayList<>(words);
    if (rawStart == rawEnd) {
      all.remove(wordIndex);
    }
    return all;
  }

  /** Whether a quote is unclosed. */
  boolean isOpen() {
    return open != NONE;
  }

  @Override
  public String word() {
    return words.get(wordIndex);
  }

  @Override
  public int wordCursor() {
    return wordCursor;
  }

  @Override
  public int wordIndex() {
    return wordIndex;
  }

  @Override
  public List<String> words() {
    return words;
  }

  @Override
  public String line() {
    return line;
  }

  @Override
  public int cursor() {
    return cursor;
  }

  @Override
  public CharSequence escape(CharSequence candidate, boolean complete) {
    return quoted(candidate.toString());
  }

  @Override
  public int rawWordCursor() {
    return cursor - rawStart;
  }

  @Override
  public int rawWordLength() {
    return rawEnd - rawStart;
  }
}
