/** Benchmarks that use internals of the API. */
package io.fovea;
