/**
 * The encoding of keys and row fields.
 *
 * <p>Purpose: converts values to byte strings whose order is the order of the values ({@link
 * io.fovea.encoding.Tuple}), text to UTF-8 and back ({@link io.fovea.encoding.Utf8}), and encoded
 * keys to text for messages ({@link io.fovea.encoding.KeyText}).
 *
 * <p>May import: error, schema, memory. Threading: static methods only, on the caller's memory.
 */
@NullMarked
package io.fovea.encoding;

import org.jspecify.annotations.NullMarked;
