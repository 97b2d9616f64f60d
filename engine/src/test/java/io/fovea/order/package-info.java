/** Checks the lock order of docs/internals/concurrency.md while tests run. */
@NullMarked
package io.fovea.order;

import org.jspecify.annotations.NullMarked;
