/**
 * Which tables, indexes and sequences there are, and how they change.
 *
 * <pre>
 *   Schema          the tables of an open database             SpecCheck      tables as specified
 *   SchemaChanges   trees are made and published               CatalogChange  one change, with the log
 *   IndexChanges    indexes come and go beside transactions    IndexBuild     fills one
 *   IndexFill       builds one from below                      BackgroundThrottle  of a long work
 *   TableLoad       records come by the million                FreshTrees     pages without images
 *   DeferredDrops   pages of dropped trees, freed in pieces    OrphanPages    of long values
 *   CatalogEntry    what the catalog keeps of a table          CatalogCallbacks  the rooms above
 *   CatalogTransaction   tables come, go and change names as a part of a transaction
 *   Sequences       and what they give: SequenceCore, SequenceRecord
 *   Compaction      nodes of trees move towards the front of the file
 * </pre>
 *
 * <p>Contract: a change of the schema is done when it returns, durably, or has not happened. Work
 * that needs separate transactions is run by the {@link io.fovea.catalog.CatalogCallbacks} above.
 *
 * <p>May import: everything below it, with the exported rooms {@code schema}, {@code config} and
 * {@code error}. Threading: any thread; changes exclude one another.
 */
@NullMarked
package io.fovea.catalog;

import org.jspecify.annotations.NullMarked;
