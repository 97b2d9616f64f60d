package io.fovea.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.PrettyPrinter;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import com.fasterxml.jackson.core.util.Separators;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.lang.reflect.RecordComponent;
import java.math.BigInteger;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Writes values as JSON: maps, records, iterables, numbers, booleans, byte arrays (as hexadecimal
 * digits) and null; of everything else what it says of itself, as a string.
 *
 * <p>Whole numbers are written as they are, so that a reader who takes them for doubles loses the
 * last digits of those beyond 2^53. Any thread.
 */
final class Json {
  static final JsonFactory FACTORY = new JsonFactory();

  private static final Separators SEPARATORS =
      Separators.createDefaultInstance()
          .withObjectFieldValueSpacing(Separators.Spacing.AFTER)
          .withObjectEmptySeparator("")
          .withArrayEmptySeparator("");

  private Json() {}

  /** A value as JSON, two spaces a level. */
  static String of(@Nullable Object value) {
    StringWriter out = new StringWriter();
    try (JsonGenerator json = FACTORY.createGenerator(out)) {
      json.setPrettyPrinter(printer());
      write(json, value);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a StringWriter throws none
    }
    return out.toString();
  }

  private static PrettyPrinter printer() {
    DefaultPrettyPrinter printer = new DefaultPrettyPrinter(SEPARATORS);
    DefaultIndenter lines = new DefaultIndenter("  ", "\n");
    printer.indentObjectsWith(lines);
    printer.indentArraysWith(lines);
    return printer;
  }

  /** Writes a value. */
  static void write(JsonGenerator json, @Nullable Object value) throws IOException {
    switch (value) {
      case null -> json.writeNull();
      case Boolean b -> json.writeBoolean(b);
      case Double d when Double.isFinite(d) -> json.writeNumber(d);
      case Double d -> json.writeNull();
      case Long n -> json.writeNumber(n);
      case Integer n -> json.writeNumber(n);
      case Number n -> json.writeNumber(new BigInteger(n.toString()));
      case byte[] b -> json.writeString(HexFormat.of().formatHex(b));
      case Record r -> write(json, components(r));
      case Map<?, ?> m -> {
        json.writeStartObject();
        for (Map.Entry<?, ?> e : m.entrySet()) {
          json.writeFieldName(String.valueOf(e.getKey()));
          write(json, e.getValue());
        }
        json.writeEndObject();
      }
      case Iterable<?> all -> {
        json.writeStartArray();
        for (Object each : all) {
          write(json, each);
        }
        json.writeEndArray();
      }
      default -> json.writeString(value.toString());
    }
  }

  /** The components of a record, in their order. */
  static Map<String, @Nullable Object> components(Record r) {
    Map<String, @Nullable Object> map = new LinkedHashMap<>();
    for (RecordComponent c : r.getClass().getRecordComponents()) {
      try {
        map.put(c.getName(), c.getAccessor().invoke(r));
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException("Can't read " + r.getClass() + "." + c.getName() + ".", e);
      }
    }
    return map;
  }
}
