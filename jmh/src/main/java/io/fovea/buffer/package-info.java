/** What benchmarks need of the inside of the buffer pool. */
package io.fovea.buffer;
