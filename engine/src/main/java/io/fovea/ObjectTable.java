package io.fovea;

import io.fovea.catalog.Schema;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.index.ObjectHistory;
import io.fovea.index.Scratch;
import io.fovea.index.SlotLocal;
import io.fovea.object.ConversionFailedException;
import io.fovea.object.EntryKey;
import io.fovea.object.ObjectCodec;
import io.fovea.object.ObjectReader;
import io.fovea.object.ObjectWriter;
import io.fovea.object.Shapes;
import io.fovea.schema.Shape.Composite;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A table of Java records that Fovea encodes itself. */
final class ObjectTable<K, V> extends EncodedTable<K, V> {
  private final ObjectCodec codec;

  /** The version of new objects; 0 if only older ones can be read. */
  private final int version;

  /** Readers by version, each created when the first object of its version is read. */
  private final ObjectCodec.@Nullable Reading[] older =
      new ObjectCodec.Reading[ObjectHistory.VERSION_MAX + 1];

  /** What to keep of objects that are overwritten, by their version. */
  private final @Nullable Kept[] kept = new Kept[ObjectHistory.VERSION_MAX + 1];

  /** The version to write, and the components to copy. */
  private record Kept(int merged, ObjectCodec.Copying copy) {}

  private final SlotLocal<Buffers> buffers = new SlotLocal<>();

  ObjectTable(ByteTable bytes, ObjectCodec codec) {
    super(bytes);
    this.codec = codec;
    this.version = history().version(codec.shape());
  }

  private ObjectHistory history() {
    return Objects.requireNonNull(bytes.table().core().objects());
  }

  /** Memory for keys and objects, reused by the next transaction of the statement context. */
  private static final class Buffers extends Scratch {
    final ObjectWriter key = new ObjectWriter();
    final ObjectWriter object = new ObjectWriter();
    final ObjectReader in = new ObjectReader();

    MemorySegment keySegment() {
      return MemorySegment.ofArray(key.array()).asSlice(0, key.length());
    }

    MemorySegment objectSegment() {
      return MemorySegment.ofArray(object.array()).asSlice(0, object.length());
    }
  }

  private Buffers take(Transaction tx) {
    return Scratch.take(buffers, tx.requireContext(), Buffers::new);
  }

  @SuppressWarnings("unchecked") // the codec creates keys of this class only
  private K key(Object key) {
    return (K) key;
  }

  @SuppressWarnings("unchecked") // the codec creates values of this class only
  private V value(Object value) {
    return (V) value;
  }

  @Override
  public byte[] encode(K key) {
    ObjectWriter out = new ObjectWriter();
    codec.writeKey(out, key);
    return out.toArray();
  }

  @Override
  public @Nullable V get(Transaction tx, K key) {
    Buffers s = take(tx);
    try {
      s.key.clear();
      codec.writeKey(s.key, key);
      byte[] buffer = s.in.buffer();
      long n = bytes.get(tx, s.keySegment(), MemorySegment.ofArray(buffer));
      if (n > buffer.length) {
        n = bytes.get(tx, s.keySegment(), MemorySegment.ofArray(s.in.buffer((int) n)));
      }
      if (n < 0) {
        return null;
      }
      s.in.load((int) n);
      return decode(s.in, key);
    } finally {
      s.releaseBorrowed();
    }
  }

  @Override
  void lockForUpdate(Transaction tx, K key) {
    Buffers s = take(tx);
    try {
      s.key.clear();
      codec.writeKey(s.key, key);
      bytes.lockForUpdate(tx, s.keySegment());
    } finally {
      s.releaseBorrowed();
    }
  }

  private V decode(ObjectReader in, Object key) {
    in.key(key);
    int stored = Byte.toUnsignedInt(in.getByte());
    Object object = stored == version ? codec.read(in) : readOther(stored, in, key);
    if (!in.isAtEnd()) {
      throw bytes.table().core().damaged("end of an object of version " + stored, -1, 0, 1);
    }
    return value(object);
  }

  private Object readOther(int stored, ObjectReader in, Object key) {
    try {
      return reading(stored).read(in);
    } catch (ConversionFailedException e) {
      throw new InvalidUseException(
          "The object with key "
              + key
              + " of table "
              + bytes.table().core().displayName()
              + " has version "
              + stored
              + " and can't be read. "
              + e.getMessage()
              + " Use a converter that accepts the value.",
          e.getCause());
    }
  }

  private ObjectCodec.Reading reading(int stored) {
    ObjectCodec.Reading known = older[stored];
    if (known != null) {
      return known;
    }
    ObjectHistory history = history();
    if (stored == 0 || stored > history.version()) {
      throw bytes.table().core().damaged("version of an object", -1, history.version(), stored);
    }
    int own = version == 0 ? history.version() + 1 : version;
    Composite seen = history.seenBy(codec.shape(), own, stored);
    String difference = Shapes.difference(seen, codec.shape(), true);
    if (difference != null) {
      throw history.isNewer(stored, own) ? newer(stored) : unreadable(stored, difference);
    }
    ObjectCodec.Reading made = codec.reading(seen);
    older[stored] = made;
    return made;
  }

  private InvalidUseException newer(int stored) {
    return new InvalidUseException(
        "The object is of version "
            + stored
            + " of table "
            + bytes.table().core().displayName()
            + ", but this handle is of version "
            + version
            + ": use the handle that Database.table returned for the new class, or open the table"
            + " with the older class again.");
  }

  private IncompatibleSchemaException unreadable(int stored, String difference) {
    return new IncompatibleSchemaException(
        "The object is of version "
            + stored
            + " of table "
            + bytes.table().core().displayName()
            + ", which the class of this handle can't read: "
            + difference
            + ".");
  }

  /**
   * Adds the components of a newer class that the stored object has, if this is the handle of an
   * older class. They are copied from the object, so writes over it read it first.
   */
  private void keepUnknown(Transaction tx, Buffers s) {
    ObjectHistory history = history();
    if (history.current() == version) {
      return;
    }
    byte[] buffer = s.in.buffer();
    long n = bytes.get(tx, s.keySegment(), MemorySegment.ofArray(buffer));
    if (n > buffer.length) {
      n = bytes.get(tx, s.keySegment(), MemorySegment.ofArray(s.in.buffer((int) n)));
    }
    if (n <= 0) {
      return;
    }
    s.in.load((int) n);
    int stored = Byte.toUnsignedInt(s.in.getByte());
    if (stored == 0 || stored > history.version()) {
      throw bytes.table().core().damaged("version of an object", -1, history.version(), stored);
    }
    Kept known = kept[stored];
    if (known == null) {
      int merged = history.merged(version, stored);
      if (merged == 0) {
        throw newer(stored);
      }
      known =
          new Kept(
              merged, ObjectCodec.copying(history.shape(stored), history.unknown(version, stored)));
      kept[stored] = known;
    }
    s.object.array()[0] = (byte) known.merged;
    known.copy.copy(s.in, s.object);
  }

  private InvalidUseException unwritable() {
    return new InvalidUseException(
        version == 0
            ? "Table "
                + bytes.table().core().displayName()
                + " was opened read-only with a class that is newer than its objects."
            : "This handle of table "
                + bytes.table().core().displayName()
                + " is of version "
                + version
                + ", and finishEvolution has rewritten the objects of older classes: use a handle"
                + " of the newest class.");
  }

  /**
   * Rewrites the objects of older versions, if this is the newest class.
   *
   * @see Database#finishEvolution(ObjectSpec, Consumer)
   */
  RewriteReport finishEvolution(Schema schema, Consumer<? super RewriteReport> progress) {
    long total = table().count();
    long[] done = new long[2];
    ObjectReader in = new ObjectReader();
    ObjectWriter out = new ObjectWriter();
    schema.finishEvolution(
        table().core(),
        codec.shape(),
        (key, object) -> {
          V value = decode(in.of(object), codec.readKey(new ObjectReader().of(key)));
          out.clear();
          out.putByte((byte) version);
          codec.write(out, value);
          return out.toArray();
        },
        (read, rewritten) -> {
          done[0] = read;
          done[1] = rewritten;
          progress.accept(new RewriteReport(rewritten, read, Math.max(total, read)));
        });
    return new RewriteReport(done[1], done[0], Math.max(total, done[0]));
  }

  /** Writes key and object; a null key is taken from the object. */
  private void encode(Buffers s, @Nullable K key, V value) {
    if (version < bytes.table().core().firstWriter()) {
      throw unwritable();
    }
    s.key.clear();
    if (key == null) {
      codec.writeKeyOf(s.key, value);
    } else {
      codec.writeKey(s.key, key);
      requireMatchingKey(s, key, value);
    }
    s.object.clear();
    s.object.putByte((byte) version);
    codec.write(s.object, value);
  }

  private void requireMatchingKey(Buffers s, K key, V value) {
    if (codec.hasId()) {
      s.object.clear();
      codec.writeKeyOf(s.object, value);
      if (!s.key.equalTo(s.object)) {
        throw new InvalidUseException(
            "The object contains a key other than the given one: " + key + ".");
      }
    }
  }

  private void write(Transaction tx, @Nullable K key, V value, boolean insert) {
    Buffers s = take(tx);
    try {
      encode(s, key, value);
      if (insert) {
        bytes.insert(tx, s.keySegment(), s.objectSegment());
      } else {
        keepUnknown(tx, s);
        bytes.put(tx, s.keySegment(), s.objectSegment());
      }
    } finally {
      s.releaseBorrowed();
    }
  }

  @Override
  public void insert(Transaction tx, K key, V value) {
    write(tx, Objects.requireNonNull(key, "key"), Objects.requireNonNull(value, "value"), true);
  }

  @Override
  public void insert(Transaction tx, V value) {
    write(tx, null, Objects.requireNonNull(value, "value"), true);
  }

  @Override
  public void put(Transaction tx, K key, V value) {
    write(tx, Objects.requireNonNull(key, "key"), Objects.requireNonNull(value, "value"), false);
  }

  @Override
  public void put(Transaction tx, V value) {
    write(tx, null, Objects.requireNonNull(value, "value"), false);
  }

  @Override
  public boolean delete(Transaction tx, K key) {
    Buffers s = take(tx);
    try {
      s.key.clear();
      codec.writeKey(s.key, key);
      return bytes.delete(tx, s.keySegment());
    } finally {
      s.releaseBorrowed();
    }
  }

  @Override
  byte[] prefix(K prefix) {
    return codec.prefixOfKeys(encode(Objects.requireNonNull(prefix, "prefix")));
  }

  @Override
  BiConsumer<K, V> receiver(StoredLoad stored) {
    Buffers s = new Buffers();
    return (key, value) -> {
      encode(s, Objects.requireNonNull(key, "key"), Objects.requireNonNull(value, "value"));
      stored.add(s.keySegment(), s.objectSegment());
    };
  }

  @Override
  public <I> Index<I, K, V> index(String name, Class<I> keys) {
    Objects.requireNonNull(keys, "keys");
    RowIndex index = table().index(Objects.requireNonNull(name, "name"));
    EntryKey by = codec.entryKey(keys);
    String difference = by.difference(Objects.requireNonNull(index.core().objects).entries());
    if (difference != null) {
      throw new IllegalArgumentException(
          "Keys of " + keys.getName() + " do not match " + index + ": " + difference + ".");
    }
    return new Index<>(index, new IndexKeys.OfObjects<>(index.core(), by), this::coding);
  }

  @Override
  Coding<K, V> coding() {
    ObjectReader in = new ObjectReader();
    return new Coding<>() {
      @Override
      public byte[] encode(K key) {
        return ObjectTable.this.encode(key);
      }

      @Override
      public K key(byte[] stored) {
        return ObjectTable.this.key(codec.readKey(in.of(stored)));
      }

      @Override
      public boolean needsKey() {
        return true;
      }

      @Override
      public V value(byte[] stored) {
        throw new AssertionError("an object is read with its key");
      }

      @Override
      public V value(K key, byte[] stored) {
        return decode(in.of(stored), key);
      }
    };
  }
}
