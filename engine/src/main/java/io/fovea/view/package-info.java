/**
 * JDK collection views over data that is read in batches.
 *
 * <p>Contract: the views are stateless and weakly consistent: each step of an iterator is atomic,
 * but the whole iteration is not.
 *
 * <p>May import: the JDK. Threading: thread-safe, except that an iterator is confined to one
 * thread.
 */
@NullMarked
package io.fovea.view;

import org.jspecify.annotations.NullMarked;
