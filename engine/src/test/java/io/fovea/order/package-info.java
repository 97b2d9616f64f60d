/** Checks the order of locks and waits while tests run: docs/CONCURRENCY.md has the order. */
@NullMarked
package io.fovea.order;

import org.jspecify.annotations.NullMarked;
