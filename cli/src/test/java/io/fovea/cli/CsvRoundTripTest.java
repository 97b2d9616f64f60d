package io.fovea.cli;

import static io.fovea.cli.Fixture.run;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.StringReader;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.jspecify.annotations.Nullable;

/**
 * Any CSV: an import that creates the table from it, and an export, give its values back. Numbers
 * may be written in another way.
 */
class CsvRoundTripTest {
  @Property(tries = 40)
  void valuesSurvive(
      @ForAll("columns") List<List<@Nullable String>> columns,
      @ForAll("lineEnds") String lineEnd,
      @ForAll boolean mark)
      throws Exception {
    int rows = columns.getFirst().size();
    List<List<@Nullable String>> records = new ArrayList<>();
    for (int row = 0; row < rows; row++) {
      List<@Nullable String> record = new ArrayList<>();
      record.add(Integer.toString((row * 7919) % rows - rows / 2));
      for (List<@Nullable String> column : columns) {
        record.add(column.get(row));
      }
      records.add(record);
    }
    StringBuilder text = new StringBuilder(mark ? "\uFEFF" : "").append("id");
    IntStream.range(0, columns.size()).forEach(i -> text.append(",c").append(i));
    text.append(lineEnd);
    for (List<@Nullable String> record : records) {
      text.append(String.join(",", record.stream().map(CsvRoundTripTest::quoted).toList()));
      text.append(lineEnd);
    }
    Path dir = Files.createTempDirectory("csv");
    try {
      Path in = Files.writeString(dir.resolve("in.csv"), text);
      Path out = dir.resolve("out.csv");
      run(0, "import", dir.resolve("db"), "t", in, "--key", "id");
      run(0, "export", dir.resolve("db"), "t", "--format", "CSV", "--output", out);
      records.sort(Comparator.comparingInt(r -> Integer.parseInt(String.valueOf(r.getFirst()))));
      // An export of a table without nullable columns has no quotes around an empty text.
      boolean nullable = columns.stream().anyMatch(c -> c.contains(null));
      assertEquals(canonical(records, nullable), canonical(read(out), nullable), text::toString);
    } finally {
      try (Stream<Path> all = Files.list(dir)) {
        for (Path p : all.toList()) {
          Files.delete(p);
        }
      }
      Files.delete(dir);
    }
  }

  private static String quoted(@Nullable String value) {
    return value == null
        ? ""
        : value.isEmpty() || value.matches("(?s).*[,\"\r\n].*")
            ? '"' + value.replace("\"", "\"\"") + '"'
            : value;
  }

  private static List<List<@Nullable String>> read(Path csv) throws Exception {
    List<List<@Nullable String>> all = new ArrayList<>();
    try (CsvReader in = new CsvReader(new StringReader(Files.readString(csv)))) {
      in.next();
      for (@Nullable String[] r = in.next(); r != null; r = in.next()) {
        all.add(Arrays.asList(r));
      }
    }
    return all;
  }

  /** Numbers in one form. */
  private static List<List<String>> canonical(
      List<List<@Nullable String>> records, boolean nullable) {
    return records.stream()
        .map(r -> r.stream().map(v -> canonical(v == null && !nullable ? "" : v)).toList())
        .toList();
  }

  private static String canonical(@Nullable String value) {
    if (value == null || !value.matches("-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d{1,3})?")) {
      return value == null ? "null" : "'" + value;
    }
    BigDecimal number = new BigDecimal(value);
    return number.signum() == 0 ? "0" : number.stripTrailingZeros().toPlainString();
  }

  @Provide
  Arbitrary<List<List<@Nullable String>>> columns() {
    return Arbitraries.integers()
        .between(1, 12)
        .flatMap(rows -> column(rows).list().ofMinSize(1).ofMaxSize(4));
  }

  private static Arbitrary<List<@Nullable String>> column(int rows) {
    Arbitrary<String> number =
        Combinators.combine(
                Arbitraries.longs(),
                Arbitraries.integers().between(-330, 310),
                Arbitraries.of(0, 1, 2))
            .as(
                (n, e, how) ->
                    how == 0
                        ? "" + n
                        : how == 1 ? n % 1000 + "e" + e : n % 10_000_000 / 100.0 + "");
    Arbitrary<String> text =
        Arbitraries.strings().withChars("ab0,\" \r\n\u00e9\u20ac.-").ofMaxLength(6);
    Arbitrary<String> codes = Arbitraries.strings().numeric().ofMinLength(1).ofMaxLength(20);
    Arbitrary<String> flags = Arbitraries.of("true", "false");
    Arbitrary<String> mixed = Arbitraries.oneOf(List.of(number, text, codes, flags));
    Arbitrary<String> times =
        Arbitraries.of(
            "2026-11-28T10:00:00Z", "2026-11-28T10:00:00.000Z", "1969-12-31T23:59:59.9Z");
    return Arbitraries.of(number, text, codes, flags, mixed, times)
        .flatMap(kind -> kind.injectNull(0.1).list().ofSize(rows));
  }

  @Provide
  Arbitrary<String> lineEnds() {
    return Arbitraries.of("\r\n", "\n");
  }
}
