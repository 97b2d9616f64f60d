/**
 * Specifications of tables, keys, rows and indexes, which programs write and the catalog stores.
 *
 * <p>Depends only on the JDK. Everything is immutable and thread-safe except the builders, and
 * except {@link io.fovea.schema.KeyReader}, {@link io.fovea.schema.RowReader} and {@link
 * io.fovea.schema.KeyWriter}, which an {@link io.fovea.schema.IndexSpec.Extractor} uses on one
 * thread at a time.
 */
@NullMarked
package io.fovea.schema;

import org.jspecify.annotations.NullMarked;
