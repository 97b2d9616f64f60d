package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.index.Tuple;
import io.fovea.memory.Mem;
import io.fovea.txn.Tx;
import io.fovea.txn.TxScan;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A range of keys and prefixes as an interval of byte strings.
 *
 * <pre>
 *                    exact key k        prefix p
 *   from, included   [k                 [p
 *   from, excluded   (k                 [p+            p+ = the smallest string above all
 *   to, included     k]                 p+)                 that begin with p
 *   to, excluded     k)                 p)
 * </pre>
 *
 * <p>A key is exact if no other key of the tree begins with it: a complete key of a table or of a
 * unique index. If there is no p+, as there is none above the empty prefix, the interval is
 * unbounded above, or empty where it was to begin there.
 */
final class Bounds {
  private Bounds() {}

  /**
   * Opens the scan of a range.
   *
   * @param owner whose keys the range must have
   * @param exact whether complete keys are exact
   * @param stage room for two keys of {@code stride} bytes
   * @return the scan, or null if the range is empty
   */
  static @Nullable TxScan open(
      Tx t,
      io.fovea.btree.BTree tree,
      Object owner,
      boolean exact,
      Range range,
      Order order,
      MemorySegment stage,
      int stride) {
    int loLen = -1;
    boolean loInclusive = true;
    Key lo = range.lo();
    if (lo != null) {
      loLen = load(lo, owner, stage, 0, stride);
      loInclusive = range.loInclusive();
      if (!loInclusive && !(exact && lo.isComplete())) {
        loLen = Tuple.successorOfPrefix(stage, 0, loLen);
        loInclusive = true;
        if (loLen == 0) {
          return null;
        }
      }
      loLen = loLen == 0 ? -1 : loLen;
    }
    int hiLen = -1;
    boolean hiInclusive = true;
    Key hi = range.hi();
    if (hi != null) {
      hiLen = load(hi, owner, stage, stride, stride);
      hiInclusive = range.hiInclusive();
      if (!(exact && hi.isComplete())) {
        if (hiInclusive) {
          hiLen = Tuple.successorOfPrefix(stage, stride, hiLen);
          hiLen = hiLen == 0 ? -1 : hiLen;
        } else if (hiLen == 0) {
          return null;
        }
        hiInclusive = false;
      }
    }
    return t.scan(
        tree,
        stage,
        0,
        loLen,
        loInclusive,
        stage,
        stride,
        hiLen,
        hiInclusive,
        order == Order.DESCENDING);
  }

  private static int load(Key key, Object owner, MemorySegment stage, int at, int stride) {
    if (key.owner() != owner) {
      throw new InvalidUseException(
          "A key of the range belongs to another table or index: it is one of " + key.spec() + ".");
    }
    if (key.length() > stride) {
      throw new io.fovea.error.KeyTooLargeException(key.length(), stride);
    }
    Mem.copy(key.segment(), key.base(), stage, at, key.length());
    return key.length();
  }
}
