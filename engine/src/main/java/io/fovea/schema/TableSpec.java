package io.fovea.schema;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The description of a table: its name, its key, its rows and its secondary indexes.
 *
 * <p>Names of tables and indexes have 1 to 255 characters of any kind ({@code char}s, as {@link
 * String#length} counts them), except halves of surrogate pairs. They are compared as they are:
 * case counts, and nothing is normalized.
 *
 * <p>A value; any thread. {@link #with} gives a new one.
 *
 * @since 0.1.0
 */
public final class TableSpec {
  private final String name;
  private final KeySpec key;
  private final @Nullable Layout layout;
  private final List<IndexSpec> indexes;

  private TableSpec(String name, KeySpec key, @Nullable Layout layout, List<IndexSpec> indexes) {
    checkName(name);
    this.name = name;
    this.key = Objects.requireNonNull(key, "key");
    this.layout = layout;
    this.indexes = indexes;
  }

  /**
   * A table of rows.
   *
   * @param name its name, 1 to 255 characters of any kind
   * @param key the parts of its key
   * @param layout the fields of its rows
   * @return the specification
   * @throws IllegalArgumentException for another name
   */
  public static TableSpec of(String name, KeySpec key, Layout layout) {
    return new TableSpec(name, key, Objects.requireNonNull(layout, "layout"), List.of());
  }

  /**
   * A table whose keys and values are byte strings of any length.
   *
   * @param name its name, 1 to 255 characters of any kind
   * @param keyBytesMax the longest key, in bytes
   * @return the specification; see {@link io.fovea.Table#bytes()}
   * @throws IllegalArgumentException for another name, or for a limit that is not positive
   */
  public static TableSpec bytes(String name, int keyBytesMax) {
    if (keyBytesMax < 1 || keyBytesMax > Field.WIDTH_MAX) {
      throw new IllegalArgumentException(
          "Keys of table "
              + name
              + " have 1 to "
              + Field.WIDTH_MAX
              + " bytes at most: keyBytesMax can't be "
              + keyBytesMax
              + ".");
    }
    return new TableSpec(name, KeySpec.ofBytes(keyBytesMax), null, List.of());
  }

  /**
   * Adds a secondary index.
   *
   * @param index the index; its fields must be those of this table's key and layout
   * @return a new specification
   * @throws IllegalArgumentException if there is an index of that name, or a field is not this
   *     table's, or this is a table of byte strings
   */
  public TableSpec with(IndexSpec index) {
    Objects.requireNonNull(index, "index");
    if (layout == null) {
      throw new IllegalArgumentException("A table of byte strings has no secondary indexes.");
    }
    for (Field f : index.fields()) {
      if (!(f.key() ? key.contains(f) : layout.contains(f))) {
        throw new IllegalArgumentException(
            "Field " + f.name() + " of " + index + " is not one of table " + name + ".");
      }
    }
    for (IndexSpec i : indexes) {
      if (i.name().equals(index.name())) {
        throw new IllegalArgumentException("There is an index \"" + i.name() + "\" already.");
      }
    }
    List<IndexSpec> more = new ArrayList<>(indexes);
    more.add(index);
    return new TableSpec(name, key, layout, List.copyOf(more));
  }

  /**
   * The table's name.
   *
   * @return the name, unique in a database
   */
  public String name() {
    return name;
  }

  /**
   * The parts of its key.
   *
   * @return the specification of the key
   */
  public KeySpec key() {
    return key;
  }

  /**
   * The fields of its rows.
   *
   * @return the layout
   * @throws IllegalStateException if this is a table of byte strings
   */
  public Layout layout() {
    if (layout == null) {
      throw new IllegalStateException("Table " + name + " holds byte strings, it has no layout.");
    }
    return layout;
  }

  /**
   * Whether keys and values are byte strings of any length.
   *
   * @return true for what {@link #bytes} made
   */
  public boolean isBytes() {
    return layout == null;
  }

  /**
   * Its secondary indexes.
   *
   * @return an immutable list
   */
  public List<IndexSpec> indexes() {
    return indexes;
  }

  /**
   * Checks a name of a table or of an index.
   *
   * @param name the name
   * @throws IllegalArgumentException if it has no characters or more than 255, or half a surrogate
   *     pair
   */
  public static void requireName(String name) {
    checkName(name);
  }

  /** Counts UTF-16 units, as {@link String#length}. Half a surrogate pair is no character. */
  static void checkName(String name) {
    Objects.requireNonNull(name, "name");
    boolean good = !name.isEmpty() && name.length() <= 255;
    if (!good || name.codePoints().anyMatch(c -> c >= 0xD800 && c <= 0xDFFF)) {
      throw new IllegalArgumentException(
          "A name has 1 to 255 characters, and no half surrogate pairs: \""
              + name
              + "\", which has "
              + name.length()
              + ".");
    }
  }

  @Override
  public String toString() {
    return "table "
        + name
        + ' '
        + key
        + ' '
        + (layout == null ? "bytes" : layout)
        + (indexes.isEmpty() ? "" : " " + indexes);
  }
}
