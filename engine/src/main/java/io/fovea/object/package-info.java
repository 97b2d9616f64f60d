/**
 * Java records as bytes, and back.
 *
 * <p>Purpose: finds out how the components of a record class are stored ({@link
 * io.fovea.object.ObjectCodec}), writes and reads them by method handles that the JIT sees through
 * ({@link io.fovea.object.PlanTemplate}), and reads objects whose class was another one when they
 * were written.
 *
 * <pre>
 *   ObjectCodec      keys and records of a table
 *   Binding          how values of one Java type are stored: scalars, enums, optionals, collections, records
 *   KeyBinding       keys, whose bytes are ordered
 *   Decoder, Skip    objects of older shapes
 *   Shapes           reads shapes, and compares them
 *   ObjectEntries    entries of indexes by components, from the bytes of objects
 *   EntryKey         what is looked for in them
 * </pre>
 *
 * <p>May import: error, schema. Threading: codecs and plans are of any thread, writers and readers
 * of one at a time.
 */
@NullMarked
package io.fovea.object;

import org.jspecify.annotations.NullMarked;
