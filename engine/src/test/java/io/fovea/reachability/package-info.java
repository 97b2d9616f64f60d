/**
 * Derives the reachability metadata of GraalVM's native-image on a plain JVM, and compares it with
 * what the jars contain.
 *
 * <p>{@link io.fovea.reachability.DynamicCalls} finds every call in the class files that reaches
 * classes, members or resources by name, defines classes, or links native functions. {@link
 * io.fovea.reachability.TracingLoader} loads bindings and engine again and records the arguments of
 * these calls. {@link io.fovea.reachability.Workload} runs them all.
 *
 * <p>Threading: any thread may record calls; everything else is confined to one thread.
 */
@NullMarked
package io.fovea.reachability;

import org.jspecify.annotations.NullMarked;
