package io.fovea.index;

import io.fovea.encoding.Times;
import io.fovea.error.KeyTooLargeException;
import io.fovea.memory.Mem;
import io.fovea.object.ObjectEntries;
import io.fovea.object.ObjectReader;
import io.fovea.object.ObjectWriter;
import java.lang.foreign.MemorySegment;

/**
 * Builds the key of an entry from an object of a table, as {@link EntryPlan} does from a row, with
 * scratch memory per context.
 *
 * <pre>
 *   entry of a unique index without null   key: the parts                       value: primary key
 *   any other entry                        key: the parts, the primary key      value: primary key
 * </pre>
 *
 * <p>So null never equals null: a unique index contains a separate entry for each object with a
 * null part.
 *
 * <p>Safe for use by any thread. {@link #extend} precedes the first object of a new version: a
 * handle that writes the version is published by the thread that called it.
 */
public final class ObjectPlan {
  private static final class Scratch {
    final ObjectReader in = new ObjectReader();
    final ObjectWriter out = new ObjectWriter();
    int[] paths = new int[0];
  }

  private volatile ObjectEntries entries;
  private final SlotLocal<Scratch> scratches = new SlotLocal<>();

  public ObjectPlan(ObjectEntries entries) {
    this.entries = entries;
  }

  public ObjectEntries entries() {
    return entries;
  }

  public void extend(ObjectEntries more) {
    entries = more;
  }

  /**
   * Returns the maximum length of an entry's key, given the limits of a primary key and of the
   * tree.
   */
  int maxBytes(int keyBytesMax, int treeKeyMax) {
    int parts = entries.maxBytes();
    return parts < 0 ? treeKeyMax : Math.min(treeKeyMax, parts + keyBytesMax);
  }

  /**
   * Builds the key of an object's entry in {@code out}; returns its length.
   *
   * @throws KeyTooLargeException if the key exceeds the maximum length of an entry
   * @throws IllegalArgumentException if the bytes are not an object
   * @throws IndexOutOfBoundsException likewise
   */
  int build(
      StatementContext context,
      IndexCore index,
      MemorySegment pk,
      long pkOff,
      int pkLen,
      MemorySegment object,
      long objectOff,
      int objectLen,
      MemorySegment out,
      long outOff) {
    Scratch s = load(context, object, objectOff, objectLen);
    boolean whole = entries.write(s.in, s.out, s.paths);
    int len = s.out.length();
    boolean alone = index.unique && whole;
    long total = alone ? len : (long) len + pkLen;
    if (total > index.entryBytesMax()) {
      throw index.keyTooLong(total);
    }
    Mem.putBytes(out, outOff, s.out.array(), 0, len);
    if (!alone) {
      Mem.copy(pk, pkOff, out, outOff + len, pkLen);
    }
    return (int) total;
  }

  /** Copies an object into scratch memory that has space for its parts. */
  private Scratch load(
      StatementContext context, MemorySegment object, long objectOff, int objectLen) {
    Scratch s = scratches.get(context);
    if (s == null) {
      s = new Scratch();
      scratches.set(context, s);
    }
    int parts = entries.parts().size();
    if (s.paths.length < parts) {
      s.paths = new int[parts];
    }
    byte[] bytes = s.in.buffer();
    if (bytes.length < objectLen) {
      bytes = s.in.buffer(objectLen);
    }
    Mem.getBytes(object, objectOff, bytes, 0, objectLen);
    s.in.load(objectLen);
    s.out.clear();
    return s;
  }

  /**
   * Returns the time in the first part of an object, an INSTANT or an INT64, in milliseconds since
   * 1970. Returns 0 if the part is null or the bytes are not an object.
   */
  long millis(
      StatementContext context,
      boolean instants,
      MemorySegment object,
      long objectOff,
      int objectLen) {
    Scratch s = load(context, object, objectOff, objectLen);
    try {
      if (!entries.write(s.in, s.out, s.paths)) {
        return 0;
      }
      byte[] time = s.out.array();
      long number = ObjectEntries.number(time);
      return instants ? Times.millis(number, ObjectEntries.nanos(time)) : number;
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      return 0; // the reader of the object reports the damage
    }
  }
}
