package io.fovea.memory;

import io.fovea.bindings.Availability;
import io.fovea.bindings.Libc;
import io.fovea.bindings.MemoryCalls;
import java.lang.invoke.VarHandle;

/**
 * A fence between a store and a later load of two threads that each store one variable and read the
 * other's, of which one thread does so all the time and the other one rarely. The rare one pays for
 * both.
 *
 * <pre>
 *   frequent                              rare
 *     (F1) x := 1              opaque       (R1) y := 1              volatile
 *          light()                               heavy()
 *     (F2) read x              acquire      (R2) read x              acquire
 *     (F3) read y              opaque
 * </pre>
 *
 * <p><b>Claim.</b> F3 reads what R1 has stored, or R2 what F1 has stored. <i>Forbidden</i>: both
 * threads miss each other's store.
 *
 * <p><b>Where the kernel has no membarrier</b>, or the JVM may not call it, both calls are {@link
 * VarHandle#fullFence}, and the claim is that of the Java memory model.
 *
 * <p><b>Where it has</b>, {@code heavy} is {@code membarrier(2)}, {@code light} is empty, and the
 * claim follows in two steps:
 *
 * <ol>
 *   <li><i>F1 comes before F3 in the instructions that are executed.</i> The Java memory model has
 *       no fence that orders a store before a load of another variable for the compiler alone. It
 *       does keep F1 before F2, which are accesses of one variable in a mode that is coherent, and
 *       F2 before F3, since F2 acquires. So F3 can't be moved before F1. What is left is that the
 *       processor holds F1 back in its store buffer, and answers F2 from there.
 *   <li><i>The kernel.</i> Between the call and the return of {@code membarrier} each thread of the
 *       process passes through a state P in which its accesses match its program order; a thread
 *       that does not run has passed through one when it lost its processor. If F1 is before P, its
 *       store is visible at P, and R2 comes later. Otherwise F3 comes after P, and P after R1.
 * </ol>
 *
 * <p>F2 is therefore a part of the protocol, and its result has to be used: a load whose value
 * nobody needs may be left out. A virtual thread that changes its carrier between F1 and F3 takes
 * F1 along, as all it has done.
 *
 * <p><b>Alternatives considered.</b>
 *
 * <ul>
 *   <li>A full fence in every operation. On two cores of a shared x86-64 machine, three rounds of
 *       alternating slices, a cached point read takes 1.03, 1.03 and 1.09 of what it takes with
 *       membarrier (211 to 242 ns), and a transaction of one read 1.01, 1.05 and 1.03. With 100,000
 *       records, which do not fit into the processor's caches, the difference is lost in the noise.
 *       F2 is not free either: a step of a cursor over cached records takes 52 to 54 ns at best
 *       where it took 46 without F2, and 51 with F2 and a full fence, the best of five JVMs each.
 *   <li>A pause of the rare side that is longer than any store takes to become visible, which was
 *       here before: no memory model promises such a time.
 *   <li>A read-write lock or a shared counter: a line that all threads write.
 * </ul>
 *
 * <p>Any thread.
 *
 * @since 0.1.0
 */
public final class AsymmetricFence {
  private static final boolean EXPEDITED = register();

  private AsymmetricFence() {}

  private static boolean register() {
    return Libc.probe() instanceof Availability.Available && MemoryCalls.registerMembarrier() == 0;
  }

  /** The frequent side's: between its store and its acquiring read of the same variable. */
  public static void light() {
    if (!EXPEDITED) {
      VarHandle.fullFence();
    }
  }

  /**
   * The rare side's: between its store and its read. Microseconds.
   *
   * @return whether there was a fence; false only where the kernel refuses now what it has granted
   *     before, as under a seccomp filter that the program has installed since
   */
  public static boolean heavy() {
    VarHandle.fullFence();
    return !EXPEDITED || MemoryCalls.membarrier() == 0;
  }
}
