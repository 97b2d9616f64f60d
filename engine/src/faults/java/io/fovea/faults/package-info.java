/**
 * Weaves faults into the engine as its classes are loaded: {@link io.fovea.faults.FaultAgent} loads
 * a Java agent, {@link io.fovea.faults.FaultPoints} lists every place, and what is called there
 * stands beside what it disturbs: {@link io.fovea.txn.FaultInjection}, {@link
 * io.fovea.faults.Failpoint}.
 *
 * <p>The engine's sources have no trace of any of it, and its jar none of these classes.
 */
@NullMarked
package io.fovea.faults;

import org.jspecify.annotations.NullMarked;
