package io.fovea.index;

import java.util.function.Supplier;

/**
 * Objects for one operation of a transaction, reused by the next operation of the same context.
 * User code that runs meanwhile (a codec, an accessor, a constructor) may start another operation,
 * which then gets new objects.
 *
 * <pre>{@code
 * S s = Scratch.take(scratches, context, made);
 * try {
 *   ...
 * } finally {
 *   s.releaseBorrowed();
 * }
 * }</pre>
 *
 * <p>Confined to the thread whose transaction owns the context.
 */
public abstract class Scratch {
  private boolean used;

  /** Returns the objects of a context, or new ones if there are none or they are in use. */
  public static <S extends Scratch> S take(
      SlotLocal<S> kept, StatementContext context, Supplier<S> made) {
    S s = kept.get(context);
    if (s == null) {
      s = made.get();
      kept.set(context, s);
    } else if (((Scratch) s).used) {
      s = made.get();
    }
    ((Scratch) s).used = true;
    return s;
  }

  /** Returns the objects at the end of the operation. */
  public final void releaseBorrowed() {
    used = false;
  }
}
