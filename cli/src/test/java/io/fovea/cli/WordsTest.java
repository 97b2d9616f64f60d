package io.fovea.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.jline.reader.EOFError;
import org.jline.reader.Parser;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class WordsTest {
  private static Words at(String line) {
    int cursor = line.indexOf('|');
    return (Words)
        Words.parser().parse(line.replace("|", ""), cursor, Parser.ParseContext.COMPLETE);
  }

  @Test
  void words() {
    assertEquals(List.of(), Words.of("").all());
    assertEquals(List.of(), Words.of("  # all of it").all());
    assertEquals(List.of("get", "t", "", "a#b"), Words.of(" get  t '' a#b #c").all());
    assertEquals(
        List.of("two words", "a \"b\" \\n", "c d", "x"),
        Words.of("'two words' \"a \\\"b\\\" \\\\n\" c\\ d x").all());
    assertEquals(List.of("a'b"), Words.of("a\"'\"b").all());
    assertTrue(Words.of("get 'open").isOpen());
    assertFalse(Words.of("get open").isOpen());
    Parser parser = Words.parser();
    assertThrows(
        EOFError.class, () -> parser.parse("get 'open", 9, Parser.ParseContext.ACCEPT_LINE));
    assertEquals(
        List.of("get", "open"), parser.parse("get 'open", 9, Parser.ParseContext.COMPLETE).words());
  }

  @ParameterizedTest
  @ValueSource(strings = {"plain", "two words", "", "it's", "\"", "\\", "#", "a=\tb", "'\"\\ "})
  void quotedTextIsOneWord(String word) {
    assertEquals(List.of(word, "x"), Words.of(Words.quoted(word) + " x").all());
  }

  @Test
  void wordAtCursor() {
    Words empty = at("|");
    assertEquals("", empty.word());
    assertEquals(0, empty.wordIndex());
    Words first = at("sc|an t");
    assertEquals("scan", first.word());
    assertEquals(2, first.wordCursor());
    assertEquals(4, first.rawWordLength());
    Words behind = at("scan |");
    assertEquals("", behind.word());
    assertEquals(1, behind.wordIndex());
    assertEquals(List.of("scan", ""), behind.words());
    Words between = at("scan | --limit 5");
    assertEquals(List.of("scan", "", "--limit", "5"), between.words());
    Words quoted = at("scan 'two w|");
    assertEquals("two w", quoted.word());
    assertEquals(5, quoted.wordCursor());
    assertEquals(6, quoted.rawWordCursor());
    assertEquals("\"two words\"", quoted.escape("two words", true).toString());
  }
}
