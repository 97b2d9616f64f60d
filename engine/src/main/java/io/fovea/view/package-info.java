/**
 * Collections of the JDK over something that is read in batches.
 *
 * <p>Contract: what a map's sets and collections are is said by the map; these have no state. They
 * are weakly consistent: each step of an iterator belongs to one moment, all of them do not.
 *
 * <p>May import: the JDK. Threading: any thread, but an iterator belongs to one.
 */
@NullMarked
package io.fovea.view;

import org.jspecify.annotations.NullMarked;
