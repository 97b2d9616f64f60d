package io.fovea.index;

import io.fovea.encoding.Times;
import io.fovea.error.KeyTooLargeException;
import io.fovea.memory.Mem;
import io.fovea.object.ObjectEntries;
import io.fovea.object.ObjectReader;
import io.fovea.object.ObjectWriter;
import java.lang.foreign.MemorySegment;

/**
 * How the key of an entry is made from an object of a table: as {@link EntryPlan} for rows, with
 * memory for each slot.
 *
 * <pre>
 *   entry of a unique index without null   key: the parts                       value: primary key
 *   any other entry                        key: the parts, the primary key      value: primary key
 * </pre>
 *
 * So null is never the same as null: a unique index has as many entries with it as there are
 * objects.
 *
 * <p>Any thread. {@link #extend} comes before the first object of a new version: who has a handle
 * that writes one has got it from the thread that called this.
 */
public final class ObjectPlan {
  /** What a slot needs to make one. */
  private static final class Scratch {
    final ObjectReader in = new ObjectReader();
    final ObjectWriter out = new ObjectWriter();
    int[] places = new int[0];
  }

  private volatile ObjectEntries entries;
  private final SlotLocal<Scratch> scratches = new SlotLocal<>();

  /** A plan of what a file, or a class, says. */
  public ObjectPlan(ObjectEntries entries) {
    this.entries = entries;
  }

  /** How entries are made. */
  public ObjectEntries entries() {
    return entries;
  }

  /** The objects have got a version more. */
  public void extend(ObjectEntries more) {
    entries = more;
  }

  /**
   * The most bytes of an entry's key.
   *
   * @param keyBytesMax of a primary key
   * @param treeKeyMax of a key of a tree
   */
  int maxBytes(int keyBytesMax, int treeKeyMax) {
    int parts = entries.maxBytes();
    return parts < 0 ? treeKeyMax : Math.min(treeKeyMax, parts + keyBytesMax);
  }

  /**
   * Makes the key of an object's entry.
   *
   * @param index whose plan this is
   * @param out where to; {@link IndexCore#entryBytesMax} at most
   * @return its length
   * @throws KeyTooLargeException if it has more bytes than an entry may have
   * @throws IllegalArgumentException if the bytes are no object
   * @throws IndexOutOfBoundsException likewise
   */
  int build(
      StatementContext statementContext,
      IndexCore index,
      MemorySegment pk,
      long pkOff,
      int pkLen,
      MemorySegment object,
      long objectOff,
      int objectLen,
      MemorySegment out,
      long outOff) {
    Scratch s = load(statementContext, object, objectOff, objectLen);
    boolean whole = entries.write(s.in, s.out, s.places);
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

  /** Has an object in scratch memory, and room for its parts. */
  private Scratch load(
      StatementContext statementContext, MemorySegment object, long objectOff, int objectLen) {
    Scratch s = scratches.get(statementContext);
    if (s == null) {
      s = new Scratch();
      scratches.set(statementContext, s);
    }
    int parts = entries.parts().size();
    if (s.places.length < parts) {
      s.places = new int[parts];
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
   * The time that an object has in the first part.
   *
   * @param instants whether that is an INSTANT; else it is an INT64
   * @return milliseconds since 1970; 0 for null, and where the bytes are no object
   */
  long millis(
      StatementContext statementContext,
      boolean instants,
      MemorySegment object,
      long objectOff,
      int objectLen) {
    Scratch s = load(statementContext, object, objectOff, objectLen);
    try {
      if (!entries.write(s.in, s.out, s.places)) {
        return 0;
      }
      byte[] time = s.out.array();
      long number = ObjectEntries.number(time);
      return instants ? Times.millis(number, ObjectEntries.nanos(time)) : number;
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      return 0; // whoever reads it finds out
    }
  }
}
