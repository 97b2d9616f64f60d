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
import java.io.Writer;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVPrinter;
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
        private List<String> columns = List.of();

        @Override
        public @Nullable String @Nullable [] next() throws IOException, WrongInput {
          String text = lines.readLine();
          while (text != null && text.isBlank()) {
            line++;
            text = lines.readLine();
          }
          if (text == null) {
            return null;
          }
          line++;
          List<String> names = new ArrayList<>(columns.size());
          List<@Nullable String> values = new ArrayList<>(columns.size());
          object(text, nested, columns, names, values);
          if (!names.equals(columns)) {
            columns = List.copyOf(names);
          }
          return values.toArray(String[]::new);
        }

        @Override
        public List<String> columns() {
          return columns;
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
      CsvReader csv = new CsvReader(in);
      @Nullable String[] header = csv.next();
      List<String> names = header == null ? List.of() : names(header);
      return new Source() {
        @Override
        public @Nullable String @Nullable [] next() throws IOException, WrongInput {
          @Nullable String[] values = csv.next();
          while (values != null && values.length != names.size()) {
            if (!isBlank(values)) {
              throw new WrongInput(values.length + " values for " + names.size() + " columns");
            }
            values = csv.next(); // a line of spaces, which editors leave at the end
          }
          return values;
        }

        private static boolean isBlank(@Nullable String[] values) {
          String only = values[0];
          return values.length == 1 && only != null && only.isBlank();
        }

        @Override
        public List<String> columns() {
          return names;
        }

        @Override
        public long line() {
          return csv.line();
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
    /** Returns the values of the next record, in the order of the columns; null at the end. */
    @Nullable String @Nullable [] next() throws IOException, WrongInput;

    /** The names of the values of the last record; the same list as long as they do not change. */
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

  /** The names in the header of a CSV. */
  private static List<String> names(@Nullable String[] header) throws WrongInput {
    List<String> names = new ArrayList<>();
    for (String name : header) {
      if (name == null || name.isBlank()) {
        throw new WrongInput("column " + (names.size() + 1) + " of the header has no name");
      }
      if (names.contains(name)) {
        throw new WrongInput("the header names the column '" + name + "' twice");
      }
      names.add(name);
    }
    return List.copyOf(names);
  }

  /**
   * Parses a JSON object.
   *
   * @param before the names of the record before, which usually are those of this one
   * @param names receives the names
   * @param values receives their values
   */
  private static void object(
      String line,
      boolean nested,
      List<String> before,
      List<String> names,
      List<@Nullable String> values)
      throws IOException, WrongInput {
    JsonReader json = new JsonReader(new StringReader(line));
    json.setStrictness(Strictness.STRICT);
    boolean same = true;
    try {
      if (json.peek() != JsonToken.BEGIN_OBJECT) {
        throw new WrongInput("expected a JSON object: {\"column\": value, ...}");
      }
      json.beginObject();
      while (json.hasNext()) {
        String name = json.nextName();
        int i = names.size();
        same = same && i < before.size() && before.get(i).equals(name);
        boolean twice = !same && names.contains(name);
        names.add(name);
        values.add(value(json, name, nested));
        if (twice) {
          throw new WrongInput("'" + name + "' occurs twice");
        }
      }
      json.endObject();
      json.peek(); // fails unless this is the end
    } catch (MalformedJsonException | EOFException e) {
      throw new WrongInput("it is not one JSON object");
    }
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
