package io.fovea.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The reader of CSV, with buffers of any size. */
class CsvReaderTest {
  private static List<List<@Nullable String>> read(String text, int buffer)
      throws IOException, Format.WrongInput {
    List<List<@Nullable String>> all = new ArrayList<>();
    try (CsvReader csv = new CsvReader(new StringReader(text), buffer)) {
      for (@Nullable String[] r = csv.next(); r != null; r = csv.next()) {
        all.add(Arrays.asList(r));
      }
    }
    return all;
  }

  private static void assertReads(String text, String... expected)
      throws IOException, Format.WrongInput {
    for (int buffer = 1; buffer <= text.length() + 1; buffer++) {
      List<String> records = read(text, buffer).stream().map(Object::toString).toList();
      assertEquals(List.of(expected), records, "with a buffer of " + buffer);
    }
  }

  @Test
  void valuesAndLineEnds() throws Exception {
    assertReads("");
    assertReads("\r\n\n\r");
    assertReads("a,b\r\n1,2\n3,4\r5,6", "[a, b]", "[1, 2]", "[3, 4]", "[5, 6]");
    assertReads("\n\na\r\n\r\nb\n", "[a]", "[b]");
    assertReads(",\n,,\n\"\",x,", "[null, null]", "[null, null, null]", "[, x, null]");
    assertReads("\"a,b\",\"c\"\"d\"\n\"\"\"\"", "[a,b, c\"d]", "[\"]");
    assertReads("\"two\r\nlines\" ,x\n", "[two\r\nlines, x]");
    assertReads("a \"b\" , c\n", "[a \"b\" ,  c]");
  }

  /** The line of a record is its last one; that of a wrong value its first. */
  @Test
  void lines() throws Exception {
    for (int buffer = 1; buffer < 40; buffer++) {
      String text = "a,b\r\n\"1\r\n\n2\r3\",x\r\n\n4,5\ry,\"z\" w\n";
      try (CsvReader csv = new CsvReader(new StringReader(text), buffer)) {
        long[] expected = {1, 5, 7};
        for (long line : expected) {
          csv.next();
          assertEquals(line, csv.line());
        }
        String why = assertThrows(Format.WrongInput.class, csv::next).getMessage();
        assertTrue(why.contains("followed by 'w'"), why);
        assertEquals(8, csv.line());
      }
      try (CsvReader csv = new CsvReader(new StringReader("a\nb\n\"c\nd\n"), buffer)) {
        csv.next();
        csv.next();
        String why = assertThrows(Format.WrongInput.class, csv::next).getMessage();
        assertTrue(why.contains("no closing quote"), why);
        assertEquals(3, csv.line());
      }
    }
  }

  @Test
  void manyColumns() throws Exception {
    String[] all = new String[100];
    Arrays.setAll(all, i -> "v" + i);
    List<List<@Nullable String>> records = read(String.join(",", all), 8);
    assertArrayEquals(all, records.getFirst().toArray());
  }

  /** Written by any program, quoted where necessary or everywhere. */
  @Property(tries = 300)
  void readsWhatWasWritten(
      @ForAll("records") List<List<String>> records,
      @ForAll boolean quoted,
      @ForAll("lineEnds") String lineEnd,
      @ForAll @IntRange(min = 1, max = 40) int buffer)
      throws Exception {
    StringBuilder text = new StringBuilder();
    for (List<String> record : records) {
      for (int i = 0; i < record.size(); i++) {
        String value = record.get(i);
        boolean quotes = quoted || value.isEmpty() || value.matches("(?s).*[,\"\r\n].*");
        text.append(i == 0 ? "" : ",");
        text.append(quotes ? '"' + value.replace("\"", "\"\"") + '"' : value);
      }
      text.append(lineEnd);
    }
    assertEquals(records, read(text.toString(), buffer));
  }

  @Provide
  Arbitrary<List<List<String>>> records() {
    Arbitrary<String> value = Arbitraries.strings().withChars("ab ,\"\r\n\t\u00e9#").ofMaxLength(8);
    return value.list().ofMinSize(1).ofMaxSize(5).list().ofMaxSize(6);
  }

  @Provide
  Arbitrary<String> lineEnds() {
    return Arbitraries.of("\r\n", "\n", "\r");
  }
}
