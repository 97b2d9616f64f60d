package io.fovea;

import io.fovea.catalog.LoadFeed;
import io.fovea.index.Scratch;
import io.fovea.index.SlotLocal;
import io.fovea.memory.Mem;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A table of rows, accessed through the application's codecs. */
final class CodedRows<K, V> extends Table<K, V> {
  private final RowTable table;
  private final KeyCodec<K> keys;
  private final Codec<V> values;
  private final SlotLocal<Buffers> buffers = new SlotLocal<>();
  private final Supplier<Buffers> made;

  CodedRows(RowTable table, KeyCodec<K> keys, Codec<V> values) {
    this.table = table;
    this.keys = keys;
    this.values = values;
    this.made = () -> new Buffers(table);
  }

  /** A key and a row, reused by later operations in the statement context. */
  private static final class Buffers extends Scratch {
    static final int BATCH = 64;

    final Key key;
    final Row row;

    private @Nullable Batch batch;

    Buffers(RowTable table) {
      key = table.key();
      row = table.row();
    }

    Batch batch(RowTable table) {
      Batch b = batch;
      if (b == null) {
        b = table.batch(BATCH);
        batch = b;
      }
      return b.clear();
    }
  }

  @Override
  public RowTable table() {
    return table;
  }

  private Buffers take(Transaction tx) {
    return Scratch.take(buffers, tx.requireContext(), made);
  }

  private Key encoded(Buffers b, K key) {
    b.key.clear();
    keys.encode(Objects.requireNonNull(key, "key"), b.key);
    return b.key;
  }

  private Row encodedValue(Buffers b, V value) {
    b.row.clear();
    values.encode(Objects.requireNonNull(value, "value"), b.row);
    return b.row;
  }

  /** Encodes a key that outlives the operation. */
  private Key encoded(K key) {
    Key k = table.key();
    keys.encode(key, k);
    return k;
  }

  @Override
  public @Nullable V get(Transaction tx, K key) {
    Buffers b = take(tx);
    try {
      return table.get(tx, encoded(b, key), b.row) ? values.decode(b.row) : null;
    } finally {
      b.releaseBorrowed();
    }
  }

  @Override
  void lockForUpdate(Transaction tx, K key) {
    Buffers b = take(tx);
    try {
      table.lockForUpdate(tx, encoded(b, key));
    } finally {
      b.releaseBorrowed();
    }
  }

  @Override
  public boolean exists(Transaction tx, K key) {
    Buffers b = take(tx);
    try {
      return table.exists(tx, encoded(b, key));
    } finally {
      b.releaseBorrowed();
    }
  }

  @Override
  public List<@Nullable V> getAll(Transaction tx, Collection<? extends K> wanted) {
    List<@Nullable V> found = new ArrayList<>(wanted.size());
    Iterator<? extends K> rest = wanted.iterator();
    Buffers b = take(tx);
    try {
      do {
        Batch batch = b.batch(table);
        while (rest.hasNext() && batch.size() < batch.capacity()) {
          keys.encode(Objects.requireNonNull(rest.next(), "key"), batch.add());
        }
        table.getAll(tx, batch);
        for (int i = 0; i < batch.size(); i++) {
          found.add(batch.found(i) ? values.decode(batch.row(i)) : null);
        }
      } while (rest.hasNext());
    } finally {
      b.releaseBorrowed();
    }
    return found;
  }

  @Override
  public void insert(Transaction tx, K key, V value) {
    Buffers b = take(tx);
    try {
      table.insert(tx, encoded(b, key), encodedValue(b, value));
    } finally {
      b.releaseBorrowed();
    }
  }

  @Override
  public void put(Transaction tx, K key, V value) {
    Buffers b = take(tx);
    try {
      table.put(tx, encoded(b, key), encodedValue(b, value));
    } finally {
      b.releaseBorrowed();
    }
  }

  @Override
  public boolean delete(Transaction tx, K key) {
    Buffers b = take(tx);
    try {
      return table.delete(tx, encoded(b, key));
    } finally {
      b.releaseBorrowed();
    }
  }

  @Override
  long deleteRange(Transaction tx, Interval<K> interval, long max) {
    return table.deleteRange(tx, range(interval), max);
  }

  @Override
  <X extends Exception> void feed(LoadFeed.Sink sink, LoadSource<? super TableLoad<K, V>, X> source)
      throws X {
    Key k = table.key();
    Row r = table.row();
    RowLoad into = new RowLoad(table, sink);
    source.run(
        new TableLoad<>(
            (key, value) -> {
              k.clear();
              keys.encode(Objects.requireNonNull(key, "key"), k);
              r.clear();
              values.encode(Objects.requireNonNull(value, "value"), r);
              into.add(k, r);
            },
            null));
  }

  /** A missing bound becomes the empty key, a prefix of all keys. */
  private Range range(Interval<K> i) {
    K lo = i.lo();
    K hi = i.hi();
    return Range.of(
        lo == null ? table.key() : encoded(lo),
        lo == null || i.loInclusive(),
        hi == null ? table.key() : encoded(hi),
        hi == null || i.hiInclusive());
  }

  @Override
  int compare(K a, K b) {
    return encoded(a).compareTo(encoded(b));
  }

  @Override
  public Estimate estimate(Transaction tx, @Nullable K from, @Nullable K to) {
    return table.estimate(tx, range(Interval.of(from, to)));
  }

  @Override
  public Estimate estimatePrefix(Transaction tx, K prefix) {
    return table.estimate(tx, prefixed(prefix));
  }

  @Override
  public long deletePrefix(Transaction tx, K prefix) {
    return table.deleteRange(tx, prefixed(prefix));
  }

  private Range prefixed(K prefix) {
    return Range.prefix(encoded(Objects.requireNonNull(prefix, "prefix")).reopened());
  }

  @Override
  Cursor<K, V> open(Transaction tx, Interval<K> interval, ScanOrder order) {
    return new Scan<>(table.scan(tx, range(interval), order), this);
  }

  @Override
  public Cursor<K, V> scanPrefix(Transaction tx, K prefix, ScanOrder order) {
    return new Scan<>(table.scan(tx, prefixed(prefix), order), this);
  }

  @Override
  Coding<K, V> coding() {
    return new Coding<>() {
      @Override
      public byte[] encode(K key) {
        Key k = encoded(key);
        return Mem.bytes(k.segment(), k.base(), k.length());
      }

      @Override
      public K key(byte[] stored) {
        return keys.decode(Change.key(table, stored));
      }

      @Override
      public V value(byte[] stored) {
        return values.decode(Change.row(table, stored));
      }
    };
  }

  static final class Scan<K, V> extends Cursor<K, V> {
    private final RowCursor cursor;
    private final CodedRows<K, V> of;

    Scan(RowCursor cursor, CodedRows<K, V> of) {
      this.cursor = cursor;
      this.of = of;
    }

    @Override
    public boolean next() {
      return cursor.next();
    }

    @Override
    public boolean previous() {
      return cursor.previous();
    }

    @Override
    public boolean first() {
      return cursor.first();
    }

    @Override
    public boolean last() {
      return cursor.last();
    }

    @Override
    public boolean seek(K to) {
      return cursor.seek(of.encoded(Objects.requireNonNull(to, "to")));
    }

    @Override
    boolean seekAfter(byte[] position) {
      return cursor.seekAfter(position);
    }

    @Override
    byte[] position() {
      return cursor.position();
    }

    @Override
    public K key() {
      return of.keys.decode(cursor.key());
    }

    @Override
    public V value() {
      return of.values.decode(cursor.row());
    }

    @Override
    public void close() {
      cursor.close();
    }
  }
}
