package io.fovea;

import io.fovea.encoding.Tuple;
import io.fovea.index.IndexCore;
import io.fovea.object.EntryKey;
import io.fovea.object.ObjectWriter;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** How keys of an index are turned into the bytes with which its entries begin. */
abstract sealed class IndexKeys<I> {
  /**
   * The bytes of a key.
   *
   * @param exact whether they are all of an entry, as those of a unique index may be
   */
  record Encoded(byte[] bytes, boolean exact) {
    /**
     * The first bytes behind all that begin with these; null where there are none, as all begin
     * with 0xFF, or with nothing.
     */
    byte @Nullable [] behind() {
      byte[] next = bytes.clone();
      int length = Tuple.successorOfPrefix(MemorySegment.ofArray(next), 0, next.length);
      return length == 0 ? null : Arrays.copyOf(next, length);
    }
  }

  abstract Encoded encode(I key);

  /** Keys of an index of byte strings, which are made of parts. */
  static final class OfParts extends IndexKeys<Key> {
    private final IndexCore index;

    OfParts(IndexCore index) {
      this.index = index;
    }

    @Override
    Encoded encode(Key key) {
      RowIndex.requireOwn(Objects.requireNonNull(key, "key"), index);
      byte[] bytes = EntryScan.copy(key.segment(), key.base(), key.length());
      return new Encoded(bytes, index.unique && key.isComplete());
    }
  }

  /** Keys of an index of objects, which are objects. */
  static final class OfObjects<I> extends IndexKeys<I> {
    private final EntryKey keys;

    /** Whether keys have all components, and one object at most has the same. */
    private final boolean unique;

    OfObjects(IndexCore index, EntryKey keys) {
      this.keys = keys;
      int parts = Objects.requireNonNull(index.objects).entries().parts().size();
      this.unique = index.unique && keys.parts() == parts;
    }

    @Override
    Encoded encode(I key) {
      ObjectWriter out = new ObjectWriter();
      boolean whole = keys.write(out, Objects.requireNonNull(key, "key"));
      return new Encoded(out.toArray(), unique && whole);
    }
  }
}
