package io.fovea.index;

import java.util.function.Supplier;

/**
 * Objects that an operation of a transaction needs for as long as it lasts, and that the next one
 * of the same slot uses again. What calls the program's own code while it has them (a codec, an
 * accessor, a constructor) may be called by that again: then the inner operation gets fresh ones.
 *
 * <pre>{@code
 * S s = Scratch.take(scratches, slot, made);
 * try {
 *   ...
 * } finally {
 *   s.giveBack();
 * }
 * }</pre>
 *
 * <p>One thread at a time: the one whose transaction has the slot.
 */
public abstract class Scratch {
  private boolean used;

  /** What the slot has, or new ones where it has none or they are in use. */
  public static <S extends Scratch> S take(
      SlotLocal<S> kept, StatementContext statementContext, Supplier<S> made) {
    S s = kept.get(statementContext);
    if (s == null) {
      s = made.get();
      kept.set(statementContext, s);
    } else if (((Scratch) s).used) {
      s = made.get();
    }
    ((Scratch) s).used = true;
    return s;
  }

  /** The operation is over. */
  public final void giveBack() {
    used = false;
  }
}
