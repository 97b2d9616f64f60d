/** Benchmarks, one class per question. */
package io.fovea.jmh;
