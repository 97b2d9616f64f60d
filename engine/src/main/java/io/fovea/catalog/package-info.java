/**
 * The catalog: tables, indexes and sequences, and how they change.
 *
 * <pre>
 *   Schema          the tables of an open database             SpecCheck      tables as specified
 *   SchemaChanges   creates and publishes trees                CatalogChange  one change, with the log
 *   IndexChanges    indexes created and dropped while in use   IndexBuild     builds by transactions
 *   IndexFill       bulk-builds an index                       BackgroundThrottle  of long work
 *   TableLoad       bulk loads                                 FreshTrees     pages without images
 *   DeferredDrops   frees dropped trees in pieces              OrphanPages    of long values
 *   CatalogEntry    the catalog entry of a table               CatalogCallbacks  into higher layers
 *   CatalogTransaction   schema changes within a transaction
 *   Sequences       with SequenceCore, SequenceRecord
 *   Compaction      moves pages towards the front of the file
 * </pre>
 *
 * <p>Contract: when a schema change returns, it is durable; when it throws, it had no effect.
 * {@link io.fovea.catalog.CatalogCallbacks} runs work that needs transactions.
 *
 * <p>May import: every package below it, and the exported packages {@code schema}, {@code config}
 * and {@code error}. Thread-safe; changes exclude one another.
 */
@NullMarked
package io.fovea.catalog;

import org.jspecify.annotations.NullMarked;
