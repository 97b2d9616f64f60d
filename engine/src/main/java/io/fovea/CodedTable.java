package io.fovea;

import io.fovea.catalog.LoadFeed;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A table of byte strings, accessed through the application's codecs. */
final class CodedTable<K, V> extends Table<K, V> implements Coding<K, V> {
  private final ByteTable bytes;
  private final ByteCodec<K> keys;
  private final ByteCodec<V> values;

  CodedTable(ByteTable bytes, ByteCodec<K> keys, ByteCodec<V> values) {
    this.bytes = bytes;
    this.keys = keys;
    this.values = values;
  }

  @Override
  public RowTable table() {
    return bytes.table();
  }

  @Override
  int compare(K a, K b) {
    return Arrays.compareUnsigned(keys.encode(a), keys.encode(b));
  }

  // ------------------------------------------------------------------------------------- coding

  @Override
  Coding<K, V> coding() {
    return this;
  }

  @Override
  public byte[] encode(K key) {
    return keys.encode(Objects.requireNonNull(key, "key"));
  }

  @Override
  public K key(byte[] stored) {
    return keys.decode(stored);
  }

  @Override
  public V value(byte[] stored) {
    return values.decode(stored);
  }

  private byte[] encodedValue(V value) {
    return values.encode(Objects.requireNonNull(value, "value"));
  }

  private byte @Nullable [] bound(@Nullable K end) {
    return end == null ? null : keys.encode(end);
  }

  private Interval<byte[]> encoded(Interval<K> i) {
    return new Interval<>(bound(i.lo()), i.loInclusive(), bound(i.hi()), i.hiInclusive());
  }

  // ------------------------------------------------------------------------------------- reading

  @Override
  public @Nullable V get(Transaction tx, K key) {
    byte[] value = bytes.get(tx, encode(key));
    return value == null ? null : values.decode(value);
  }

  @Override
  public long get(Transaction tx, MemorySegment key, MemorySegment out) {
    return bytes.get(tx, key, out);
  }

  @Override
  void lockForUpdate(Transaction tx, K key) {
    bytes.lockForUpdate(tx, encode(key));
  }

  @Override
  public boolean exists(Transaction tx, K key) {
    return bytes.exists(tx, encode(key));
  }

  @Override
  public List<@Nullable V> getAll(Transaction tx, Collection<? extends K> wanted) {
    List<byte[]> encoded = new ArrayList<>(wanted.size());
    for (K key : wanted) {
      encoded.add(encode(key));
    }
    List<@Nullable V> found = new ArrayList<>(encoded.size());
    for (byte[] value : bytes.getAll(tx, encoded)) {
      found.add(value == null ? null : values.decode(value));
    }
    return found;
  }

  @Override
  public Estimate estimate(Transaction tx, @Nullable K from, @Nullable K to) {
    return bytes.estimate(tx, bound(from), bound(to));
  }

  @Override
  public Estimate estimatePrefix(Transaction tx, K prefix) {
    return bytes.estimatePrefix(tx, encode(prefix));
  }

  // ------------------------------------------------------------------------------------- writing

  @Override
  public void insert(Transaction tx, K key, V value) {
    bytes.insert(tx, encode(key), encodedValue(value));
  }

  @Override
  public void insert(Transaction tx, MemorySegment key, MemorySegment value) {
    bytes.insert(tx, key, value);
  }

  @Override
  public void put(Transaction tx, K key, V value) {
    bytes.put(tx, encode(key), encodedValue(value));
  }

  @Override
  public void put(Transaction tx, MemorySegment key, MemorySegment value) {
    bytes.put(tx, key, value);
  }

  @Override
  public boolean delete(Transaction tx, K key) {
    return bytes.delete(tx, encode(key));
  }

  @Override
  public boolean delete(Transaction tx, MemorySegment key) {
    return bytes.delete(tx, key);
  }

  @Override
  long deleteRange(Transaction tx, Interval<K> interval, long max) {
    return bytes.deleteRange(tx, encoded(interval), max);
  }

  @Override
  public long deletePrefix(Transaction tx, K prefix) {
    return bytes.deletePrefix(tx, encode(prefix));
  }

  @Override
  <X extends Exception> void feed(LoadFeed.Sink sink, LoadSource<? super TableLoad<K, V>, X> source)
      throws X {
    try (StoredLoad stored = new StoredLoad(bytes.table().core(), sink)) {
      source.run(
          new TableLoad<>(
              (key, value) ->
                  stored.add(
                      MemorySegment.ofArray(encode(key)),
                      MemorySegment.ofArray(encodedValue(value))),
              stored));
    }
  }

  // ------------------------------------------------------------------------------------- scanning

  @Override
  Cursor<K, V> open(Transaction tx, Interval<K> interval, ScanOrder order) {
    return bytes.open(tx, encoded(interval), false, order, this);
  }

  @Override
  public Cursor<K, V> scanPrefix(Transaction tx, K prefix, ScanOrder order) {
    return bytes.openPrefix(tx, encode(prefix), order, this);
  }
}
