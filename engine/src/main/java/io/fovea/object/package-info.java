/**
 * Java records as bytes, and back.
 *
 * <p>Purpose: determines the stored form of a record class ({@link io.fovea.object.ObjectCodec}),
 * writes and reads records with method handles that the JIT can inline ({@link
 * io.fovea.object.PlanTemplate}), and reads objects that an older version of the class wrote.
 *
 * <pre>
 *   ObjectCodec      keys and records of a table
 *   Binding          the stored form of a type: scalars, enums, optionals, collections, records
 *   KeyBinding       keys, whose bytes are ordered
 *   Decoder, Skip    objects of older shapes
 *   Conversion       components that have changed their type
 *   Shapes           parses and compares shapes
 *   ObjectEntries    entries of indexes by components, from the bytes of objects
 *   EntryKey         keys for lookups in these indexes
 * </pre>
 *
 * <p>May import: error, schema. Threading: codecs and plans are safe for any thread; writers and
 * readers are used by one thread at a time.
 */
@NullMarked
package io.fovea.object;

import org.jspecify.annotations.NullMarked;
