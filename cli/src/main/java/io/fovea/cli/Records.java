package io.fovea.cli;

import io.fovea.Change;
import io.fovea.Key;
import io.fovea.Range;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Transaction;
import io.fovea.error.InvalidUseException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.NameText;
import java.time.DateTimeException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The records of a table, of whatever kind, as maps from the names of {@link #columns} to what
 * {@link FieldText} has of values; in their place, what is written may be text that says the same.
 *
 * <p>Mistakes of the user (a key of too many parts, a text that is no number) are {@linkplain
 * FileCommand#mistake mistakes} of the command. One thread.
 */
abstract sealed class Records permits RowRecords, ByteRecords, ObjectRecords {
  final FileCommand command;
  final RowTable table;

  Records(FileCommand command, RowTable table) {
    this.command = command;
    this.table = table;
  }

  /**
   * The records of a table.
   *
   * @param bytes whether objects are the bytes that they are
   */
  static Records of(FileCommand command, RowTable table, boolean bytes) {
    return !table.spec().isBytes()
        ? new RowRecords(command, table)
        : bytes || table.spec().objects() == null
            ? new ByteRecords(command, table)
            : new ObjectRecords(command, table);
  }

  /** The names of what a record has: first the parts of its key. */
  abstract List<String> columns();

  /** How many parts a whole key has. */
  abstract int keyParts();

  /**
   * Shows records whose key lies between some bounds, in the order of an index or of their keys,
   * until it has shown all or the sink answers that it is full. A part of an index may be null.
   */
  abstract void scan(
      Transaction tx,
      Bounds bounds,
      @Nullable String index,
      ScanOrder order,
      Predicate<Map<String, @Nullable Object>> sink);

  /** One record, null if there is none. */
  abstract @Nullable Map<String, @Nullable Object> get(Transaction tx, List<String> key);

  /** Sets one. What the map does not name stays as it is, in a new record null, 0 or empty. */
  abstract void put(Transaction tx, List<String> key, Map<String, @Nullable String> values);

  /** Deletes one, and says whether it was there. */
  abstract boolean delete(Transaction tx, List<String> key);

  /**
   * The parts of the key of a record that a commit has changed.
   *
   * @throws RuntimeException if it is none of the table as it is known here
   */
  abstract Map<String, @Nullable Object> key(Change of);

  /**
   * What a commit has put into a record, beside its key.
   *
   * @throws RuntimeException if it is none of the table as it is known here
   */
  abstract Map<String, @Nullable Object> value(Change of);

  /** Whether records may have no value there. */
  boolean mayBeNull(String column) {
    return false;
  }

  /** What says on a command line what an export says of a column. */
  String word(String exported) {
    return exported;
  }

  final void requireWholeKey(List<String> key) {
    if (key.size() != keyParts()) {
      throw command.mistake(
          "the key has "
              + keyParts()
              + (keyParts() == 1 ? " part" : " parts")
              + ", not "
              + key.size()
              + ": "
              + String.join(", ", columns().subList(0, keyParts())));
    }
  }

  /** Looks whether the table has an index of a name. */
  final void requireIndex(String name) {
    List<String> names = table.spec().indexes().stream().map(IndexSpec::name).toList();
    if (!names.contains(name)) {
      throw command.mistake(
          "there is no index "
              + NameText.of(name)
              + (names.isEmpty()
                  ? ": the table has none"
                  : ": there is " + String.join(", ", names.stream().map(NameText::of).toList())));
    }
  }

  /** Parts of which none may be null. */
  final List<String> whole(List<@Nullable String> parts) {
    List<String> all = new ArrayList<>();
    for (String part : parts) {
      if (part == null) {
        throw command.mistake("no part of a table's key is null: --index goes with that");
      }
      all.add(part);
    }
    return all;
  }

  final byte[] hex(String digits) {
    try {
      return HexFormat.of().parseHex(digits);
    } catch (IllegalArgumentException e) {
      throw command.mistake("'" + digits + "' has no pairs of hexadecimal digits");
    }
  }

  /** What the key of an index has. */
  static List<Field> fields(IndexSpec spec) {
    return spec.extractedKey() == null ? spec.fields() : spec.extractedKey().parts();
  }

  /**
   * The range of some bounds.
   *
   * @param empty makes a key without parts, of the table or of an index
   * @param of the parts that it may have
   */
  final Range range(Supplier<Key> empty, List<Field> of, Bounds bounds) {
    List<@Nullable String> low = bounds.low();
    List<@Nullable String> high = bounds.high();
    if (low.isEmpty() && high.isEmpty()) {
      return Range.all();
    }
    Key lo = key(empty, of, low);
    Key hi = key(empty, of, high);
    boolean from = bounds.isLowIncluded();
    if (high.isEmpty()) {
      return from ? Range.atLeast(lo) : Range.greaterThan(lo);
    }
    boolean to = bounds.isHighIncluded();
    return low.isEmpty() ? to ? Range.atMost(hi) : Range.lessThan(hi) : Range.of(lo, from, hi, to);
  }

  private Key key(Supplier<Key> empty, List<Field> of, List<@Nullable String> parts) {
    if (parts.size() > of.size()) {
      throw command.mistake("the key has " + of.size() + " parts at most, not " + parts.size());
    }
    Key to = empty.get();
    set(to, of, parts);
    return to;
  }

  /** Sets the first parts of a key. */
  final void set(Key to, List<Field> of, List<? extends @Nullable String> parts) {
    to.clear();
    for (int i = 0; i < parts.size(); i++) {
      Field part = of.get(i);
      String text = parts.get(i);
      try {
        if (text == null) {
          to.nullValue();
        } else {
          FieldText.append(to, part, text);
        }
      } catch (IllegalArgumentException
          | DateTimeException
          | InvalidUseException
          | ValueTooLargeException e) {
        throw noValue(text, part);
      }
    }
  }

  final RuntimeException noValue(@Nullable String text, Field of) {
    return command.mistake((text == null ? "null" : "'" + text + "'") + " is no value of " + of);
  }
}
