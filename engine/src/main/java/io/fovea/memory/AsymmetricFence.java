package io.fovea.memory;

import io.fovea.bindings.Availability;
import io.fovea.bindings.Libc;
import io.fovea.bindings.MemoryCalls;
import java.lang.invoke.VarHandle;

/**
 * A fence between a store and a later load, for two threads that each store one variable and read
 * the other's. One thread does so frequently, the other rarely; the rare side pays for both.
 *
 * <pre>
 *   frequent                              rare
 *     (F1) x := 1              opaque       (R1) y := 1              volatile
 *          light()                               heavy()
 *     (F2) read x              acquire      (R2) read x              acquire
 *     (F3) read y              opaque
 * </pre>
 *
 * <p><b>Claim.</b> F3 reads what R1 stored, or R2 reads what F1 stored. <i>Forbidden</i>: both
 * threads miss each other's store.
 *
 * <p><b>If the kernel has no membarrier</b>, or the JVM may not call it, both calls are {@link
 * VarHandle#fullFence}, and the claim is that of the Java memory model.
 *
 * <p><b>Otherwise</b> {@code heavy} is {@code membarrier(2)}, {@code light} is empty, and the claim
 * follows in two steps:
 *
 * <ol>
 *   <li><i>F1 comes before F3 in the instructions that are executed.</i> The Java memory model has
 *       no compiler-only fence that orders a store before a load of another variable. It does keep
 *       F1 before F2, since both access one variable in a coherent mode, and F2 before F3, since F2
 *       acquires. So F3 cannot be moved before F1. The processor may still hold F1 back in its
 *       store buffer and answer F2 from there.
 *   <li><i>The kernel.</i> Between the call and the return of {@code membarrier} each thread of the
 *       process passes through a state P in which its accesses match its program order; a thread
 *       that does not run passed through one when it was descheduled. If F1 is before P, its store
 *       is visible at P, and R2 comes later. Otherwise F3 comes after P, and P after R1.
 * </ol>
 *
 * <p>F2 is therefore part of the protocol, and its result must be used: a load whose value is
 * unused may be eliminated. A virtual thread that changes its carrier between F1 and F3 takes F1
 * along, like all its earlier actions.
 *
 * <p><b>Alternatives considered.</b>
 *
 * <ul>
 *   <li>A full fence in every operation: a cached point read takes up to 9 % longer, a transaction
 *       of one read up to 5 %.
 *   <li>A pause on the rare side that is longer than any store takes to become visible: no memory
 *       model guarantees such a bound.
 *   <li>A read-write lock or a shared counter: all threads would write one cache line.
 * </ul>
 *
 * <p>Safe for use by any thread.
 *
 * @since 0.1.0
 */
public final class AsymmetricFence {
  private static final boolean EXPEDITED = register();

  private AsymmetricFence() {}

  private static boolean register() {
    return Libc.probe() instanceof Availability.Available && MemoryCalls.registerMembarrier() == 0;
  }

  /** Orders the frequent side's store before its acquiring read of the same variable. */
  public static void light() {
    if (!EXPEDITED) {
      VarHandle.fullFence();
    }
  }

  /**
   * Orders the rare side's store before its read. Takes microseconds.
   *
   * @return whether there was a fence; false only if the kernel now refuses a call that it allowed
   *     before, for example because the program has since installed a seccomp filter
   */
  public static boolean heavy() {
    VarHandle.fullFence();
    return !EXPEDITED || MemoryCalls.membarrier() == 0;
  }
}
