/**
 * Descriptions of tables, keys, rows and indexes: values that a user writes down, and that the
 * engine keeps in its catalog.
 *
 * <p>Depends on nothing but the JDK. Everything here is immutable and for any thread, but {@link
 * io.fovea.schema.KeyReader}, {@link io.fovea.schema.RowReader} and {@link
 * io.fovea.schema.KeyWriter}: those are what an {@link io.fovea.schema.IndexSpec.Extractor} sees of
 * a record, and belong to one thread at a time.
 */
@NullMarked
package io.fovea.schema;

import org.jspecify.annotations.NullMarked;
