/**
 * Weaves faults into the engine as its classes are loaded. {@link io.fovea.faults.FaultAgent} loads
 * a Java agent, {@link io.fovea.faults.FaultPoints} lists all points. The called code is in the
 * package that it disturbs: {@link io.fovea.txn.FaultInjection}, {@link io.fovea.faults.Failpoint}.
 *
 * <p>The engine's sources do not refer to it, and its jar contains none of these classes.
 */
@NullMarked
package io.fovea.faults;

import org.jspecify.annotations.NullMarked;
