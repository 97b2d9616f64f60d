package io.fovea.support;

import io.fovea.bindings.Errno;
import io.fovea.io.IoOp;
import org.jspecify.annotations.Nullable;

/**
 * A fault of a {@link SimDisk}. Operations are counted from the time the fault is added: {@code
 * nth} 1 hits the next one that matches.
 *
 * @param op the kind of operation; null: any
 * @param nth the number of the first affected operation, from 1
 * @param forever whether it hits all later ones as well
 * @param errno the error number of {@link Effect#ERROR}
 */
public record SimFault(@Nullable IoOp op, long nth, boolean forever, Effect effect, int errno) {
  /** The effect of a fault. */
  public enum Effect {
    /**
     * The operation fails. A failed write may have changed any of its sectors; a failed sync leaves
     * the writes before it in doubt permanently.
     */
    ERROR,
    /** A resize that shortens a file fails. */
    REFUSE_CUT,
    /** A write is acknowledged but never happens. */
    LOSE,
    /** A write is acknowledged but lands one block after or before its offset. */
    MISDIRECT,
    /** One random bit of the data is flipped. */
    FLIP,
    /** A random bit of the first {@value SimDisk#HEAD} bytes is flipped, where headers are. */
    FLIP_HEAD;

    boolean failsResize() {
      return this == ERROR || this == REFUSE_CUT;
    }
  }

  /** Fails the n-th operation of any kind with EIO, once. */
  public static SimFault once(long nth) {
    return new SimFault(null, nth, false, Effect.ERROR, Errno.EIO);
  }

  /** Fails the n-th operation of any kind and all after it with EIO. */
  public static SimFault from(long nth) {
    return new SimFault(null, nth, true, Effect.ERROR, Errno.EIO);
  }

  /** Restricts the fault to one kind of operation. */
  public SimFault of(IoOp only) {
    return new SimFault(only, nth, forever, effect, errno);
  }

  public SimFault errno(int other) {
    return new SimFault(op, nth, forever, effect, other);
  }

  public SimFault effect(Effect other) {
    return new SimFault(op, nth, forever, other, errno);
  }

  boolean hits(IoOp what, long count) {
    return (op == null || op == what) && (forever ? count >= nth : count == nth);
  }
}
