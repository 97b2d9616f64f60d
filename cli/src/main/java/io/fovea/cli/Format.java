package io.fovea.cli;

import com.google.gson.JsonParser;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import com.google.gson.stream.JsonWriter;
import com.google.gson.stream.MalformedJsonException;
import java.io.BufferedReader;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.Reader;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.math.BigDecimal;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.commons.csv.CSVException;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVParser;
import org.apache.commons.csv.CSVPrinter;
import org.apache.commons.csv.CSVRecord;
import org.apache.commons.csv.DuplicateHeaderMode;
import org.apache.commons.csv.QuoteMode;
import org.jspecify.annotations.Nullable;

/**
 * The formats of exports and imports.
 *
 * <pre>
 *   JSON   {"shop":1,"code":"c1","bits":"10ff"}     one object per line
 *   CSV    shop,code,bits                           RFC 4180, with a header
 *          1,c1,10ff
 * </pre>
 *
 * <p>Byte strings are hexadecimal. A null is {@code null} in JSON. In CSV it is an empty field, and
 * an empty text is two quotes, so all other values of a table with nullable fields are quoted.
 */
enum Format {
  /** JSON lines. */
  JSON {
    @Override
    Sink sink(Writer out, List<String> columns, boolean nulls) {
      return new Sink() {
        @Override
        public void add(Map<String, @Nullable Object> record) throws IOException {
          Json.write(new JsonWriter(out), record);
          out.write('\n');
        }

        @Override
        public void end() {}
      };
    }

    @Override
    Source source(Reader in, boolean nested) {
      BufferedReader lines = new BufferedReader(in);
      return new Source() {
        private long line;

        @Override
        public @Nullable Map<String, @Nullable String> next() throws IOException, WrongInput {
          String text = lines.readLine();
          while (text != null && text.isBlank()) {
            line++;
            text = lines.readLine();
          }
          if (text == null) {
            return null;
          }
          line++;
          return object(text, nested);
        }

        @Override
        public List<String> columns() {
          return List.of();
        }

        @Override
        public long line() {
          return line;
        }

        @Override
        public void close() throws IOException {
          lines.close();
        }
      };
    }
  },

  /** Comma-separated values. */
  CSV {
    @Override
    Sink sink(Writer out, List<String> columns, boolean nulls) throws IOException {
      CSVFormat quoted = CSVFormat.RFC4180.builder().setQuoteMode(QuoteMode.ALL_NON_NULL).get();
      CSVPrinter csv = new CSVPrinter(out, nulls ? quoted : CSVFormat.RFC4180);
      csv.printRecord(columns);
      return new Sink() {
        @Override
        public void add(Map<String, @Nullable Object> record) throws IOException {
          for (Object value : record.values()) {
            csv.print(
                switch (value) {
                  case byte[] b -> HexFormat.of().formatHex(b);
                  case BigDecimal d -> d.toPlainString();
                  case null, default -> value;
                });
          }
          csv.println();
        }

        @Override
        public void end() throws IOException {
          csv.flush();
        }
      };
    }

    @Override
    Source source(Reader in, boolean nested) throws IOException, WrongInput {
      CSVFormat named =
          CSVFormat.RFC4180
              .builder()
              .setHeader()
              .setSkipHeaderRecord(true)
              .setIgnoreEmptyLines(true)
              .setQuoteMode(QuoteMode.ALL_NON_NULL) // of a parser: distinguishes ,, from ,"",
              .setDuplicateHeaderMode(DuplicateHeaderMode.DISALLOW)
              .get();
      CSVParser csv;
      try {
        csv = named.parse(in);
      } catch (IllegalArgumentException e) {
        throw new WrongInput(String.valueOf(e.getMessage()));
      }
      Iterator<CSVRecord> records = csv.iterator();
      return new Source() {
        @Override
        public @Nullable Map<String, @Nullable String> next() throws IOException, WrongInput {
          CSVRecord record;
          try {
            record = records.hasNext() ? records.next() : null;
          } catch (UncheckedIOException e) {
            if (e.getCause() instanceof CSVException wrong) {
              throw new WrongInput(String.valueOf(wrong.getMessage()));
            }
            throw e.getCause();
          }
          if (record == null) {
            return null;
          }
          List<String> names = csv.getHeaderNames();
          if (isBlank(record)) {
            return next(); // a line of spaces, which editors leave at the end
          }
          if (record.size() != names.size()) {
            throw new WrongInput(record.size() + " values for " + names.size() + " columns");
          }
          Map<String, @Nullable String> m = new LinkedHashMap<>();
          for (int i = 0; i < names.size(); i++) {
            m.put(names.get(i), record.get(i));
          }
          return m;
        }

        private boolean isBlank(CSVRecord record) {
          String only = record.get(0);
          return record.size() == 1 && columns().size() > 1 && only != null && only.isBlank();
        }

        @Override
        public List<String> columns() {
          return csv.getHeaderNames();
        }

        @Override
        public long line() {
          return csv.getCurrentLineNumber();
        }

        @Override
        public void close() throws IOException {
          csv.close();
        }
      };
    }
  };

  /** Receives records. */
  interface Sink {
    void add(Map<String, @Nullable Object> record) throws IOException;

    /** Called after the last one. The caller closes the writer. */
    void end() throws IOException;
  }

  /** Supplies records. */
  interface Source extends Closeable {
    /** Returns the next record; null at the end. */
    @Nullable Map<String, @Nullable String> next() throws IOException, WrongInput;

    /** The names in the header; empty if each record has its own. */
    List<String> columns();

    /** The line at which the last record ended, from 1. */
    long line();
  }

  /** The input does not have this format; the message says why. */
  static final class WrongInput extends Exception {
    private static final long serialVersionUID = 1;

    WrongInput(String message) {
      super(message);
    }
  }

  /**
   * Writes records with these columns.
   *
   * @param nulls whether a value may be null
   */
  abstract Sink sink(Writer out, List<String> columns, boolean nulls) throws IOException;

  /**
   * Reads records.
   *
   * @param nested whether a value may have parts, which are JSON in both formats
   */
  abstract Source source(Reader in, boolean nested) throws IOException, WrongInput;

  private static Map<String, @Nullable String> object(String line, boolean nested)
      throws IOException, WrongInput {
    JsonReader json = new JsonReader(new StringReader(line));
    json.setStrictness(Strictness.STRICT);
    Map<String, @Nullable String> m = new LinkedHashMap<>();
    try {
      if (json.peek() != JsonToken.BEGIN_OBJECT) {
        throw new WrongInput("expected a JSON object: {\"column\": value, ...}");
      }
      json.beginObject();
      while (json.hasNext()) {
        String name = json.nextName();
        boolean twice = m.containsKey(name);
        m.put(name, value(json, name, nested));
        if (twice) {
          throw new WrongInput("'" + name + "' occurs twice");
        }
      }
      json.endObject();
      json.peek(); // fails unless this is the end
    } catch (MalformedJsonException | EOFException e) {
      throw new WrongInput("it is not one JSON object");
    }
    return m;
  }

  private static @Nullable String value(JsonReader json, String name, boolean nested)
      throws IOException, WrongInput {
    JsonToken token = json.peek();
    if (nested && (token == JsonToken.BEGIN_ARRAY || token == JsonToken.BEGIN_OBJECT)) {
      return JsonParser.parseReader(json).toString();
    }
    return switch (token) {
      case STRING, NUMBER -> json.nextString();
      case BOOLEAN -> Boolean.toString(json.nextBoolean());
      case NULL -> {
        json.nextNull();
        yield null;
      }
      default -> throw new WrongInput("'" + name + "' is not a number, string, boolean or null");
    };
  }
}
