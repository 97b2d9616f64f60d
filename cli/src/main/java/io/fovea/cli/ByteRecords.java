package io.fovea.cli;

import io.fovea.ByteCursor;
import io.fovea.ByteTable;
import io.fovea.Order;
import io.fovea.Table;
import io.fovea.Transaction;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Of a table of bytes, and of one of objects: as the bytes that they are. */
final class ByteRecords extends Records {
  private static final String KEY = "key";
  private static final String VALUE = "value";

  /** What hexadecimal digits begin with, where text is understood as well. */
  private static final String HEX = "0x";

  private final ByteTable bytes;

  ByteRecords(FileCommand command, Table table) {
    super(command, table);
    this.bytes = table.bytes();
  }

  @Override
  List<String> columns() {
    return List.of(KEY, VALUE);
  }

  @Override
  int keyParts() {
    return 1;
  }

  @Override
  void scan(
      Transaction tx,
      List<@Nullable String> given,
      @Nullable String index,
      Order order,
      Predicate<Map<String, @Nullable Object>> sink) {
    if (index != null) {
      scanIndex(tx, given, index, order, sink);
      return;
    }
    List<String> parts = whole(given);
    if (parts.size() > 1) {
      throw command.mistake("a table of " + TableFile.kind(table.spec()) + " has keys of one part");
    }
    byte[] prefix = parts.isEmpty() ? new byte[0] : bytes(parts.getFirst());
    try (ByteCursor c =
        prefix.length == 0
            ? bytes.scan(tx, null, null, order)
            : bytes.scanPrefix(tx, prefix, order)) {
      boolean goesOn = true;
      while (goesOn && c.next()) {
        goesOn = sink.test(record(c.key(), c.value()));
      }
    }
  }

  private void scanIndex(
      Transaction tx,
      List<@Nullable String> parts,
      String index,
      Order order,
      Predicate<Map<String, @Nullable Object>> sink) {
    requireIndex(index);
    if (!parts.isEmpty()) {
      throw command.mistake(
          "an index of "
              + TableFile.kind(table.spec())
              + " as bytes is shown as a whole, and takes no key");
    }
    try (ByteCursor c = bytes.scanIndex(tx, index, order)) {
      boolean goesOn = true;
      while (goesOn && c.next()) {
        goesOn = sink.test(record(c.key(), c.value()));
      }
    }
  }

  private static Map<String, @Nullable Object> record(byte[] key, byte[] value) {
    Map<String, @Nullable Object> m = new LinkedHashMap<>();
    m.put(KEY, key);
    m.put(VALUE, value);
    return m;
  }

  @Override
  @Nullable Map<String, @Nullable Object> get(Transaction tx, List<String> key) {
    byte[] k = wholeKey(key);
    byte[] value = bytes.get(tx, k);
    return value == null ? null : record(k, value);
  }

  @Override
  void put(Transaction tx, List<String> key, Map<String, @Nullable String> values) {
    byte[] k = wholeKey(key);
    for (String name : values.keySet()) {
      if (!name.equals(VALUE)) {
        throw command.mistake("a record has a key and a value, and no " + name);
      }
    }
    String value = values.get(VALUE);
    if (value == null) {
      throw command.mistake("the value is missing");
    }
    bytes.put(tx, k, bytes(value));
  }

  @Override
  boolean delete(Transaction tx, List<String> key) {
    return bytes.delete(tx, wholeKey(key));
  }

  @Override
  String word(String exported) {
    return HEX + exported;
  }

  private byte[] wholeKey(List<String> key) {
    requireWholeKey(key);
    return bytes(key.getFirst());
  }

  private byte[] bytes(String text) {
    return text.startsWith(HEX)
        ? hex(text.substring(HEX.length()))
        : text.getBytes(StandardCharsets.UTF_8);
  }
}
