package io.fovea;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** A table of byte strings, accessed through keys and values that are converted to them. */
abstract sealed class EncodedTable<K, V> extends Table<K, V> permits CodedTable, ObjectTable {
  final ByteTable bytes;

  EncodedTable(ByteTable bytes) {
    this.bytes = bytes;
  }

  /** Returns the stored form of a key. */
  public abstract byte[] encode(K key);

  /** Returns the bytes with which the keys of a prefix begin. */
  abstract byte[] prefix(K prefix);

  /** Returns the receiver of a load's records, which adds their stored form. */
  abstract BiConsumer<K, V> receiver(StoredLoad stored);

  @Override
  public final RowTable table() {
    return bytes.table();
  }

  @Override
  final int compare(K a, K b) {
    return Arrays.compareUnsigned(encode(a), encode(b));
  }

  private byte @Nullable [] bound(@Nullable K end) {
    return end == null ? null : encode(end);
  }

  private Interval<byte[]> encoded(Interval<K> i) {
    return new Interval<>(bound(i.lo()), i.loInclusive(), bound(i.hi()), i.hiInclusive());
  }

  // ------------------------------------------------------------------------------------- reading

  @Override
  public final long get(Transaction tx, MemorySegment key, MemorySegment out) {
    return bytes.get(tx, key, out);
  }

  @Override
  public final boolean exists(Transaction tx, K key) {
    return bytes.exists(tx, encode(key));
  }

  @Override
  public final List<@Nullable V> getAll(Transaction tx, Collection<? extends K> wanted) {
    List<K> keys = new ArrayList<>(wanted);
    List<byte[]> stored = new ArrayList<>(keys.size());
    for (K key : keys) {
      stored.add(encode(Objects.requireNonNull(key, "key")));
    }
    List<byte @Nullable []> values = bytes.getAll(tx, stored);
    List<@Nullable V> found = new ArrayList<>(keys.size());
    Coding<K, V> coding = coding();
    for (int i = 0; i < keys.size(); i++) {
      byte[] value = values.get(i);
      found.add(value == null ? null : coding.value(keys.get(i), value));
    }
    return found;
  }

  @Override
  public final Estimate estimate(Transaction tx, @Nullable K from, @Nullable K to) {
    return bytes.estimate(tx, bound(from), bound(to));
  }

  @Override
  public final Estimate estimatePrefix(Transaction tx, K prefix) {
    return bytes.estimatePrefix(tx, prefix(prefix));
  }

  @Override
  final Cursor<K, V> open(Transaction tx, Interval<K> interval, ScanOrder order) {
    return bytes.open(tx, encoded(interval), false, order, coding());
  }

  @Override
  public final Cursor<K, V> scanPrefix(Transaction tx, K prefix, ScanOrder order) {
    return bytes.openPrefix(tx, prefix(prefix), order, coding());
  }

  // ------------------------------------------------------------------------------------- writing

  @Override
  public final void insert(Transaction tx, MemorySegment key, MemorySegment value) {
    bytes.insert(tx, key, value);
  }

  @Override
  public final void put(Transaction tx, MemorySegment key, MemorySegment value) {
    bytes.put(tx, key, value);
  }

  @Override
  public final boolean delete(Transaction tx, MemorySegment key) {
    return bytes.delete(tx, key);
  }

  @Override
  final long deleteRange(Transaction tx, Interval<K> interval, long max) {
    return bytes.deleteRange(tx, encoded(interval), max);
  }

  @Override
  public final long deletePrefix(Transaction tx, K prefix) {
    return bytes.deletePrefix(tx, prefix(prefix));
  }

  @Override
  public final <X extends Exception> LoadReport load(
      LoadOptions options, LoadSource<? super TableLoad<K, V>, X> source) throws X {
    return bytes.<K, V, X>load(
        options, source, stored -> new TableLoad<>(receiver(stored), stored));
  }
}
