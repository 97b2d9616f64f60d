package io.fovea;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** A table of byte strings, accessed through the application's codecs. */
final class CodedTable<K, V> extends EncodedTable<K, V> implements Coding<K, V> {
  private final ByteCodec<K> keys;
  private final ByteCodec<V> values;

  CodedTable(ByteTable bytes, ByteCodec<K> keys, ByteCodec<V> values) {
    super(bytes);
    this.keys = keys;
    this.values = values;
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

  @Override
  byte[] prefix(K prefix) {
    return encode(prefix);
  }

  @Override
  BiConsumer<K, V> receiver(StoredLoad stored) {
    return (key, value) ->
        stored.add(MemorySegment.ofArray(encode(key)), MemorySegment.ofArray(encodedValue(value)));
  }

  private byte[] encodedValue(V value) {
    return values.encode(Objects.requireNonNull(value, "value"));
  }

  // ------------------------------------------------------------------------------------- reading

  @Override
  public @Nullable V get(Transaction tx, K key) {
    byte[] value = bytes.get(tx, encode(key));
    return value == null ? null : values.decode(value);
  }

  @Override
  void lockForUpdate(Transaction tx, K key) {
    bytes.lockForUpdate(tx, encode(key));
  }

  // ------------------------------------------------------------------------------------- writing

  @Override
  public void insert(Transaction tx, K key, V value) {
    bytes.insert(tx, encode(key), encodedValue(value));
  }

  @Override
  public void put(Transaction tx, K key, V value) {
    bytes.put(tx, encode(key), encodedValue(value));
  }

  @Override
  public boolean delete(Transaction tx, K key) {
    return bytes.delete(tx, encode(key));
  }
}
