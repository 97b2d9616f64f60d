/** Checks the order of locks and waits while tests run: docs/internals/concurrency.md has it. */
@NullMarked
package io.fovea.order;

import org.jspecify.annotations.NullMarked;
