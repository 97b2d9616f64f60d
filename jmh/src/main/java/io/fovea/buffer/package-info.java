/** Benchmarks that use internals of the buffer pool. */
package io.fovea.buffer;
