package io.fovea;

import io.fovea.encoding.Tuple;
import io.fovea.index.IndexCore;
import io.fovea.memory.Mem;
import io.fovea.object.EntryKey;
import io.fovea.object.ObjectWriter;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Encodes index keys as the bytes with which the index's entries begin. */
abstract sealed class IndexKeys<I> {
  /**
   * An encoded key.
   *
   * @param exact whether the bytes are the whole key of an entry, as is possible in a unique index
   */
  record Encoded(byte[] bytes, boolean exact) {
    /**
     * Returns the smallest byte string above all that begin with these bytes; null if there is none
     * because these bytes are empty or all 0xFF.
     */
    byte @Nullable [] after() {
      byte[] next = bytes.clone();
      int length = Tuple.successorOfPrefix(MemorySegment.ofArray(next), 0, next.length);
      return length == 0 ? null : Arrays.copyOf(next, length);
    }
  }

  abstract Encoded encode(I key);

  /** Keys of an index of a table of byte strings, made of parts. */
  static final class OfParts extends IndexKeys<Key> {
    private final IndexCore index;

    OfParts(IndexCore index) {
      this.index = index;
    }

    @Override
    Encoded encode(Key key) {
      RowIndex.requireOwn(Objects.requireNonNull(key, "key"), index);
      byte[] bytes = Mem.bytes(key.segment(), key.base(), key.length());
      return new Encoded(bytes, index.unique && key.isComplete());
    }
  }

  /** Keys of an index of objects. */
  static final class OfObjects<I> extends IndexKeys<I> {
    private final EntryKey keys;

    /** Whether keys are complete and each belongs to at most one object. */
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
