package io.fovea.schema;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The description of a table: its name, key, rows and secondary indexes.
 *
 * <p>Names of tables and indexes have 1 to 255 {@code char}s ({@link String#length}) of any kind,
 * except unpaired surrogates. They are compared exactly: case matters, and there is no
 * normalization.
 *
 * <p>The rows of a table change by {@linkplain Step steps}: a specification of version 2 describes
 * what happens to rows of version 1. Opening a table of an older version applies the missing steps
 * in one catalog change. Stored rows are converted when read, and rewritten when next written.
 *
 * <p>Immutable and thread-safe.
 *
 * @since 0.1.0
 */
public final class TableSpec {
  /** The highest possible version of a table. */
  public static final int VERSION_MAX = 255;

  private final String name;
  private final KeySpec key;
  private final @Nullable Layout layout;
  private final List<IndexSpec> indexes;
  private final @Nullable Expiry expiry;
  private final @Nullable ObjectShapes objects;

  /** By target version, contiguous up to the newest. */
  private final TreeMap<Integer, List<Step>> steps;

  /** Not stored in the file. */
  private final boolean cacheLocations;

  private TableSpec(
      String name,
      KeySpec key,
      @Nullable Layout layout,
      List<IndexSpec> indexes,
      @Nullable Expiry expiry,
      @Nullable ObjectShapes objects,
      TreeMap<Integer, List<Step>> steps,
      boolean cacheLocations) {
    checkName(name);
    if (Objects.requireNonNull(key, "key").hasNullable()) {
      throw new IllegalArgumentException(
          "The key of table " + name + " has a part that may be null: " + key + ".");
    }
    this.name = name;
    this.key = key;
    this.layout = layout;
    this.indexes = indexes;
    this.expiry = expiry;
    this.objects = objects;
    this.steps = steps;
    this.cacheLocations = cacheLocations;
  }

  /**
   * Returns the specification of a table of rows.
   *
   * @param name 1 to 255 characters of any kind
   * @param key the parts of the key
   * @param layout the fields of the rows
   * @return the specification
   * @throws IllegalArgumentException if the name is invalid or a part of the key is nullable
   */
  public static TableSpec of(String name, KeySpec key, Layout layout) {
    return builder(name, key, layout).build();
  }

  /**
   * Returns a builder for a table of rows that has had other versions.
   *
   * @param name 1 to 255 characters of any kind
   * @param key the parts of the key, the same in all versions
   * @param layout the fields of the rows, in the newest version
   * @return a builder
   */
  public static Builder builder(String name, KeySpec key, Layout layout) {
    return new Builder(name, key, layout);
  }

  /**
   * Returns the specification of a table whose keys and values are byte strings of any length. Add
   * secondary indexes with {@link #with} and {@link IndexSpec#bytes}.
   *
   * @param name 1 to 255 characters of any kind
   * @param keyBytesMax the maximum length of a key, in bytes
   * @return the specification; see {@link io.fovea.RowTable#bytes()}
   * @throws IllegalArgumentException if the name is invalid or the limit is not positive
   */
  public static TableSpec bytes(String name, int keyBytesMax) {
    if (keyBytesMax < 1 || keyBytesMax > Field.WIDTH_MAX) {
      throw new IllegalArgumentException(
          "Keys of table "
              + name
              + " can have 1 to "
              + Field.WIDTH_MAX
              + " bytes at most: keyBytesMax can't be "
              + keyBytesMax
              + ".");
    }
    return new TableSpec(
        name, KeySpec.ofBytes(keyBytesMax), null, List.of(), null, null, new TreeMap<>(), false);
  }

  /**
   * Returns the specification of a table of objects. Programs use {@link io.fovea.ObjectSpec}
   * instead.
   *
   * @param name 1 to 255 characters of any kind
   * @param keyBytesMax the longest stored key, 1 to 65,535 bytes
   * @param objects the shapes of keys and values
   * @return the specification
   * @throws IllegalArgumentException if the name or size is invalid
   */
  public static TableSpec objects(String name, int keyBytesMax, ObjectShapes objects) {
    TableSpec bytes = bytes(name, keyBytesMax);
    return new TableSpec(
        name,
        bytes.key,
        null,
        List.of(),
        null,
        Objects.requireNonNull(objects, "objects"),
        bytes.steps,
        false);
  }

  /**
   * Adds a secondary index.
   *
   * @param index over fields of this table's key and layout, or components of its objects; indexes
   *     from {@link IndexSpec#bytes} are for tables of byte strings, which accept no others
   * @return a new specification
   * @throws IllegalArgumentException if there is an index of that name, a field or component is not
   *     this table's, or the index is for another kind of table
   */
  public TableSpec with(IndexSpec index) {
    Objects.requireNonNull(index, "index");
    if (objects != null) {
      requireComponents(index);
    } else if (layout == null) {
      requireBytes(index);
    } else if (index.byteExtractor() != null) {
      throw new IllegalArgumentException(
          index + " is one of byte strings, and table " + name + " holds rows.");
    } else if (!index.components().isEmpty()) {
      throw new IllegalArgumentException(
          index + " is by components of objects, and table " + name + " holds rows.");
    }
    for (Field f : index.fields()) {
      if (layout == null || !(f.key() ? key.contains(f) : layout.contains(f))) {
        throw new IllegalArgumentException(
            "Field " + f.name() + " of " + index + " is not one of table " + name + ".");
      }
    }
    for (IndexSpec i : indexes) {
      if (i.name().equals(index.name())) {
        throw new IllegalArgumentException("There is already an index \"" + i.name() + "\".");
      }
    }
    List<IndexSpec> more = new ArrayList<>(indexes);
    more.add(index);
    return new TableSpec(
        name, key, layout, List.copyOf(more), expiry, objects, steps, cacheLocations);
  }

  private void requireBytes(IndexSpec index) {
    if (index.extractedKey() == null || index.extractor() != null) {
      throw new IllegalArgumentException(
          "Table "
              + name
              + " holds byte strings, which have no fields: "
              + index
              + " must have a key that is computed from them; see IndexSpec.bytes.");
    }
  }

  private void requireComponents(IndexSpec index) {
    if (index.components().isEmpty()) {
      throw new IllegalArgumentException(
          "Table " + name + " holds objects: " + index + " must be by components of them.");
    }
    for (String path : index.components()) {
      if (shape(Objects.requireNonNull(objects), path) == null) {
        throw new IllegalArgumentException(
            "Component " + path + " of " + index + " is not one of table " + name + ".");
      }
    }
  }

  /** Returns the shape of a component; null if no component has that path. */
  private static @Nullable Shape shape(ObjectShapes objects, String path) {
    @Nullable Shape at = objects.value();
    for (String part : path.split("\\.", -1)) {
      Shape in = at instanceof Shape.Maybe m ? m.of() : at;
      at = in instanceof Shape.Composite c ? c.component(part) : null;
    }
    return at;
  }

  /**
   * Makes rows expire: a row is hidden from readers {@code after} its time has passed, and deleted
   * later in the background. An insert over it behaves as if it did not exist.
   *
   * <p>Expired rows are found through an index that begins with the field. If the specification has
   * no such index, this method adds {@code "expires"}, which can be used like any other index.
   *
   * <p>Opening an existing table with another expiry changes the table's expiry without rewriting
   * rows; rows that have expired are then hidden. The change waits until no transaction is active,
   * or is part of the {@linkplain Step steps} to a newer version. Only {@link
   * io.fovea.Database#dropExpiry} removes the expiry; until then every specification of the table
   * must have one, and the field cannot be dropped.
   *
   * @param field an INSTANT field of the layout, or an INT64 field in milliseconds since
   *     1970-01-01T00:00Z, as in {@link System#currentTimeMillis}. Null and values up to
   *     1970-01-01T00:00Z never expire
   * @param after the time from the field's value to the expiry, in whole milliseconds; may be zero
   * @return a new specification
   * @throws IllegalArgumentException if the field is not one of the layout or has another type, if
   *     the duration is negative, if this is not a table of rows, or if another index is called
   *     {@code "expires"}
   */
  public TableSpec expireAfter(Field field, Duration after) {
    Expiry made = new Expiry.OfRows(field, after);
    if (layout == null || !layout.contains(field)) {
      throw new IllegalArgumentException(
          "Field " + field.name() + " is not one of table " + name + ".");
    }
    return expiring(
        indexes.stream().anyMatch(i -> beginsWith(i, field))
            ? this
            : with(IndexSpec.on(Expiry.INDEX, field)),
        made);
  }

  /**
   * Makes objects expire, as {@link #expireAfter(Field, Duration)} does with rows. Programs use
   * {@link io.fovea.ObjectSpec#expireAfter}.
   *
   * @param component the path, with dots, of an {@link java.time.Instant}, or of a {@code long} in
   *     milliseconds since 1970-01-01T00:00Z
   * @param after the time from the component's value to the expiry, in whole milliseconds
   * @return a new specification
   * @throws IllegalArgumentException if there is no such component or it has another type, if the
   *     duration is negative, if this is not a table of objects, or if another index is called
   *     {@code "expires"}
   */
  public TableSpec expireAfter(String component, Duration after) {
    Expiry made = new Expiry.OfObjects(component, after);
    Shape shape = objects == null ? null : shape(objects, component);
    if (shape == null) {
      throw new IllegalArgumentException(
          "Component " + component + " is not one of table " + name + ".");
    }
    Shape time = shape instanceof Shape.Maybe m ? m.of() : shape;
    if (time != Shape.Scalar.INT64 && time != Shape.Scalar.INSTANT) {
      throw new IllegalArgumentException(
          "Objects expire by an Instant, or a long with milliseconds since 1970-01-01T00:00Z;"
              + " component "
              + component
              + " is "
              + shape
              + ".");
    }
    return expiring(
        indexes.stream().anyMatch(i -> i.components().getFirst().equals(component))
            ? this
            : with(IndexSpec.components(Expiry.INDEX, false, List.of(component))),
        made);
  }

  /**
   * Makes byte strings expire, as {@link #expireAfter(Field, Duration)} does with rows. Each value
   * contains its time in 8 bytes, big-endian: milliseconds since 1970-01-01T00:00Z. A write of a
   * value that is too short for them is refused.
   *
   * <p>This adds an index {@code "expires"} on that time, with one part of type INT64. It belongs
   * to the expiry: {@link io.fovea.Database#dropExpiry} drops both. Opening an existing table with
   * this specification adds the expiry, if no value is too short, or changes the duration; to
   * change the offset, drop the expiry first.
   *
   * @param offset the offset of the time in a value, 0 to {@link Expiry.OfBytes#OFFSET_MAX}
   * @param after the time from the value's time to the expiry, in whole milliseconds; may be zero
   * @return a new specification
   * @throws IllegalArgumentException if the offset is out of range, if the duration is negative, if
   *     this is not a table of byte strings, or if another index is called {@code "expires"}
   */
  public TableSpec expireAfter(int offset, Duration after) {
    Expiry made = new Expiry.OfBytes(offset, after);
    if (layout != null || objects != null) {
      throw new IllegalArgumentException(
          "Table "
              + name
              + " holds "
              + (layout != null
                  ? "rows, which expire by a field."
                  : "objects, which expire by a component."));
    }
    return expiring(
        expiry != null ? this : with(IndexSpec.described(Expiry.INDEX, Expiry.OfBytes.KEY, false)),
        made);
  }

  private TableSpec expiring(TableSpec indexed, Expiry by) {
    return new TableSpec(name, key, layout, indexed.indexes, by, objects, steps, cacheLocations);
  }

  private static boolean beginsWith(IndexSpec index, Field field) {
    return index.extractedKey() == null && index.fields().getFirst().equals(field);
  }

  /** {@return the shapes of the objects; null for a table of rows or byte strings} */
  public @Nullable ObjectShapes objects() {
    return objects;
  }

  /** {@return the expiry of records, or null if they do not expire} */
  public @Nullable Expiry expiry() {
    return expiry;
  }

  /** {@return the name, unique in a database} */
  public String name() {
    return name;
  }

  /** {@return the specification of the key} */
  public KeySpec key() {
    return key;
  }

  /**
   * {@return the fields of the rows}
   *
   * @throws IllegalStateException if this is a table of byte strings
   */
  public Layout layout() {
    if (layout == null) {
      throw new IllegalStateException(
          "Table " + name + " holds byte strings, so it has no layout.");
    }
    return layout;
  }

  /** {@return whether keys and values are byte strings of any length, as from {@link #bytes}} */
  public boolean isBytes() {
    return layout == null;
  }

  /**
   * Caches the locations of keys: a point read begins where its key was last seen, by any
   * transaction. It then waits for memory twice, not once for each level of the tree. Use it for
   * tables with frequent point reads in random order; range reads do not change.
   *
   * <p>The locations are kept in a cache outside the buffer, limited to {@code
   * MemoryOptions.locationCacheBytes} and shared by all such tables and indexes of a database. A
   * record takes 8 bytes. Locations are hints: each is checked before use, a stale one only costs
   * time, and none is stored in the file. Caching begins when the table is first opened this way
   * and lasts until the database is closed.
   *
   * @return a new specification
   */
  public TableSpec cacheLocations() {
    return new TableSpec(name, key, layout, indexes, expiry, objects, steps, true);
  }

  /** {@return whether point reads begin where keys were last seen; false by default} */
  public boolean cachesLocations() {
    return cacheLocations;
  }

  /** {@return the secondary indexes, an immutable list} */
  public List<IndexSpec> indexes() {
    return indexes;
  }

  /** {@return the version; 1 for a table that has never changed} */
  public int version() {
    return steps.isEmpty() ? 1 : steps.lastKey();
  }

  /**
   * Returns the steps from the previous version to the given one.
   *
   * @param version the version
   * @return an immutable list, empty if nothing changes; null if not specified
   */
  public @Nullable List<Step> steps(int version) {
    return steps.get(version);
  }

  /**
   * Checks a name of a table or index.
   *
   * @param name the name
   * @throws IllegalArgumentException if it does not have 1 to 255 characters, or contains an
   *     unpaired surrogate
   */
  public static void requireName(String name) {
    checkName(name);
  }

  static void checkName(String name) {
    Objects.requireNonNull(name, "name");
    boolean good = !name.isEmpty() && name.length() <= 255;
    if (!good || name.codePoints().anyMatch(c -> c >= 0xD800 && c <= 0xDFFF)) {
      throw new IllegalArgumentException(
          "A name must have 1 to 255 characters and no unpaired surrogates: \""
              + name
              + "\" has "
              + name.length()
              + " characters.");
    }
  }

  @Override
  public String toString() {
    return "table "
        + name
        + (version() == 1 ? " " : " version " + version() + ' ')
        + key
        + ' '
        + (layout != null ? layout : objects != null ? "objects " + objects : "bytes")
        + (indexes.isEmpty() ? "" : " " + indexes)
        + (expiry == null ? "" : ", " + expiry);
  }

  /**
   * Collects versions and indexes. Not thread-safe.
   *
   * @since 0.1.0
   */
  public static final class Builder {
    private final String name;
    private final KeySpec key;
    private final Layout layout;
    private final List<IndexSpec> indexes = new ArrayList<>();
    private final TreeMap<Integer, List<Step>> steps = new TreeMap<>();
    private boolean cacheLocations;

    private Builder(String name, KeySpec key, Layout layout) {
      checkName(name);
      this.name = name;
      this.key = Objects.requireNonNull(key, "key");
      this.layout = Objects.requireNonNull(layout, "layout");
    }

    /**
     * Specifies the steps to a version from the previous one. Versions are specified in ascending
     * order. The version before the first one specified is the oldest that files may have.
     *
     * @param version 2 to {@link #VERSION_MAX}
     * @param taken the steps, in this order; none if only the order of the fields changed
     * @return this
     * @throws IllegalArgumentException if the version is invalid or does not follow the last
     */
    public Builder version(int version, Step... taken) {
      if (version < 2 || version > VERSION_MAX) {
        throw new IllegalArgumentException(
            "Steps of table "
                + name
                + " must lead to version 2 to "
                + VERSION_MAX
                + ", not "
                + version
                + ".");
      }
      if (!steps.isEmpty() && version != steps.lastKey() + 1) {
        throw new IllegalArgumentException(
            "Versions of table "
                + name
                + " must follow one another: "
                + version
                + " was given after "
                + steps.lastKey()
                + ".");
      }
      steps.put(version, List.of(taken));
      return this;
    }

    /**
     * Adds a secondary index of the newest version.
     *
     * @param index as in {@link TableSpec#with}
     * @return this
     */
    public Builder index(IndexSpec index) {
      indexes.add(Objects.requireNonNull(index, "index"));
      return this;
    }

    /**
     * Caches the locations of keys: see {@link TableSpec#cacheLocations}.
     *
     * @return this
     */
    public Builder cacheLocations() {
      cacheLocations = true;
      return this;
    }

    /**
     * Returns the specification.
     *
     * @return the specification
     * @throws IllegalArgumentException if the steps do not lead to the layout: an added or renamed
     *     field is missing, a dropped one present, or a default does not fit; or as in {@link
     *     TableSpec#with}
     */
    public TableSpec build() {
      checkSteps();
      TableSpec spec =
          new TableSpec(
              name, key, layout, List.of(), null, null, new TreeMap<>(steps), cacheLocations);
      for (IndexSpec index : indexes) {
        spec = spec.with(index);
      }
      return spec;
    }

    /**
     * Applies the steps backwards from the layout, to find mistakes without an older file. The type
     * of a dropped field is unknown.
     */
    private void checkSteps() {
      // Maps each field of a version to its present form; null if it was dropped.
      Map<String, @Nullable Field> fields = new HashMap<>();
      layout.fields().forEach(f -> fields.put(f.name(), f));
      for (int version : steps.descendingKeySet()) {
        for (Step step : Objects.requireNonNull(steps.get(version)).reversed()) {
          boolean dropped = step.kind() == Step.Kind.DROP;
          if (fields.containsKey(step.to()) == dropped) {
            throw wrong(
                version,
                step,
                dropped
                    ? "a field of that name exists afterwards"
                    : "no field of that name exists afterwards");
          }
          Field now = fields.remove(step.to());
          if (step.kind() != Step.Kind.ADD) {
            if (fields.containsKey(step.field())) {
              throw wrong(version, step, "field " + step.field() + " still exists afterwards");
            }
            fields.put(step.field(), now);
          } else if (now != null && step.unfit(now) != null) {
            throw wrong(version, step, "field " + now.name() + ' ' + step.unfit(now));
          }
        }
      }
    }

    private IllegalArgumentException wrong(int version, Step step, String why) {
      return new IllegalArgumentException(
          "Step \"" + step + "\" to version " + version + " of table " + name + ": " + why + ".");
    }
  }
}
