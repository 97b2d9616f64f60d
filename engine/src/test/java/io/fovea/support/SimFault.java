package io.fovea.support;

import io.fovea.bindings.Errno;
import io.fovea.io.IoOp;
import org.jspecify.annotations.Nullable;

/**
 * Something that is to go wrong.
 *
 * <p>Operations are counted from the moment that the fault is given to a {@link SimDisk}: a fault
 * with {@code nth} 1 hits the next one that it matches.
 *
 * @param op which kind of operation it hits; null for any
 * @param nth which of them, counted from 1
 * @param forever whether it hits all that come after as well
 * @param effect what goes wrong
 * @param errno the error number of {@link Effect#ERROR}
 */
public record SimFault(@Nullable IoOp op, long nth, boolean forever, Effect effect, int errno) {
  /** What goes wrong. */
  public enum Effect {
    /**
     * The operation fails. A write that fails may have changed any of its sectors; a sync that
     * fails leaves the writes before it in doubt for ever.
     */
    ERROR,
    /** A resize that would make a file shorter fails; one that makes it longer does not. */
    REFUSE_CUT,
    /** A write is acknowledged and never happens. */
    LOSE,
    /** A write is acknowledged and lands one block further on, or one block before. */
    MISDIRECT,
    /** One random bit of what is read, or written, is another. */
    FLIP,
    /** One of its first {@value SimDisk#HEAD} bytes, where headers are. */
    FLIP_HEAD;

    boolean failsResize() {
      return this == ERROR || this == REFUSE_CUT;
    }
  }

  /** The n-th operation of any kind fails with EIO, once. */
  public static SimFault once(long nth) {
    return new SimFault(null, nth, false, Effect.ERROR, Errno.EIO);
  }

  /** The n-th operation of any kind and all after it fail with EIO. */
  public static SimFault from(long nth) {
    return new SimFault(null, nth, true, Effect.ERROR, Errno.EIO);
  }

  /** The same, for one kind of operation. */
  public SimFault of(IoOp only) {
    return new SimFault(only, nth, forever, effect, errno);
  }

  /** The same, with another error. */
  public SimFault errno(int other) {
    return new SimFault(op, nth, forever, effect, other);
  }

  /** The same, with another effect. */
  public SimFault effect(Effect other) {
    return new SimFault(op, nth, forever, other, errno);
  }

  boolean hits(IoOp what, long count) {
    return (op == null || op == what) && (forever ? count >= nth : count == nth);
  }
}
