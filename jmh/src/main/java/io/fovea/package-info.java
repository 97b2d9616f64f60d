/** What benchmarks need of the inside of the API: hints that are made wrong on purpose. */
package io.fovea;
