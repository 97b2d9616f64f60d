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
 * The description of a table: its name, its key, its rows and its secondary indexes.
 *
 * <p>Names of tables and indexes have 1 to 255 characters of any kind ({@code char}s, as {@link
 * String#length} counts them), except halves of surrogate pairs. They are compared as they are:
 * case counts, and nothing is normalized.
 *
 * <p>The rows of a table change by {@linkplain Step steps}: a specification of version 2 says what
 * becomes of rows of version 1. Opening a table of an older version takes the steps that are
 * missing, in one change of the catalog; rows stay as they are in the file, are read as new ones,
 * and are rewritten when they are written next.
 *
 * <p>A value; any thread. {@link #with} gives a new one.
 *
 * @since 0.1.0
 */
public final class TableSpec {
  /** The highest version that a table can have. */
  public static final int VERSION_MAX = 255;

  private final String name;
  private final KeySpec key;
  private final @Nullable Layout layout;
  private final List<IndexSpec> indexes;
  private final @Nullable Expiry expiry;
  private final @Nullable ObjectShapes objects;

  /** By the version that they lead to: without gaps, up to the newest. */
  private final TreeMap<Integer, List<Step>> steps;

  /** Says nothing of the table, and is not in the file. */
  private final boolean cacheLocations;

  private TableSpec(
      String name,
      KeySpec key,
      @Nullable Layout layout,
      List<IndexSpec> indexes,
      @Nullable Expiry expiry,
      @Nullable ObjectShapes objects,
      TreeMap<Integer, List<Step>> steps,
      boolean remembered) {
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
    this.cacheLocations = remembered;
  }

  /**
   * A table of rows.
   *
   * @param name its name, 1 to 255 characters of any kind
   * @param key the parts of its key
   * @param layout the fields of its rows
   * @return the specification
   * @throws IllegalArgumentException for another name, or if a part of the key may be null
   */
  public static TableSpec of(String name, KeySpec key, Layout layout) {
    return builder(name, key, layout).build();
  }

  /**
   * Begins the specification of a table of rows that has had other versions.
   *
   * @param name its name, 1 to 255 characters of any kind
   * @param key the parts of its key, the same in all versions
   * @param layout the fields of its rows, of the newest version
   * @return a builder
   */
  public static Builder builder(String name, KeySpec key, Layout layout) {
    return new Builder(name, key, layout);
  }

  /**
   * A table whose keys and values are byte strings of any length. It gets secondary indexes by
   * {@link #with} and {@link IndexSpec#bytes}.
   *
   * @param name its name, 1 to 255 characters of any kind
   * @param keyBytesMax the longest key, in bytes
   * @return the specification; see {@link io.fovea.RowTable#bytes()}
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
    return new TableSpec(
        name, KeySpec.ofBytes(keyBytesMax), null, List.of(), null, null, new TreeMap<>(), false);
  }

  /**
   * A table of objects. Programs get one from {@link io.fovea.ObjectSpec}.
   *
   * @param name its name, 1 to 255 characters of any kind
   * @param keyBytesMax the most bytes that a key may have as it is stored, 1 to 65,535
   * @param objects what they are made of
   * @return the specification
   * @throws IllegalArgumentException for another name or size
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
   * @param index the index; its fields must be those of this table's key and layout, its components
   *     those of this table's objects, and of a table of byte strings it is {@link IndexSpec#bytes}
   * @return a new specification
   * @throws IllegalArgumentException if there is an index of that name, a field or component is not
   *     this table's, or the index is one for another kind of table: {@link IndexSpec#bytes} is for
   *     byte strings, and nothing else is
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
        throw new IllegalArgumentException("There is an index \"" + i.name() + "\" already.");
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
              + " is not by a key that is computed from them, as IndexSpec.bytes makes one.");
    }
  }

  private void requireComponents(IndexSpec index) {
    if (index.components().isEmpty()) {
      throw new IllegalArgumentException(
          "Table " + name + " holds objects: " + index + " is not by components of them.");
    }
    for (String path : index.components()) {
      if (shape(Objects.requireNonNull(objects), path) == null) {
        throw new IllegalArgumentException(
            "Component " + path + " of " + index + " is not one of table " + name + ".");
      }
    }
  }

  /** What a component is; null if there is none of that path. */
  private static @Nullable Shape shape(ObjectShapes objects, String path) {
    @Nullable Shape at = objects.value();
    for (String part : path.split("\\.", -1)) {
      Shape in = at instanceof Shape.Maybe m ? m.of() : at;
      at = in instanceof Shape.Composite c ? c.component(part) : null;
    }
    return at;
  }

  /**
   * Lets rows expire: a row whose time lies {@code after} back, or further, is hidden from who
   * reads, at once, and removed in the background. An insert over it behaves as if it were not
   * there.
   *
   * <p>The table needs an index that begins with the field, by which what has expired is found. If
   * the specification has none, this adds one, {@code "expires"}, which can be used like any other.
   *
   * <p>A table that is there already gets the option when it is opened with it, or another field or
   * duration: rows that have expired by then are hidden from then on. No row is written for that;
   * it waits until no transaction is active, or is a part of the {@linkplain Step steps} to a newer
   * version, whose rows expire as that says. {@link io.fovea.Database#dropExpiry} takes the option
   * away, and nothing else does: no specification of a table whose rows expire may leave it out,
   * nor drop the field.
   *
   * @param field an INSTANT field of the layout; or an INT64 one: milliseconds since
   *     1970-01-01T00:00Z, as {@link System#currentTimeMillis} counts them. A row in which it is
   *     null, or no later than 1970-01-01T00:00Z, never expires
   * @param after how long after that moment a row expires, in whole milliseconds; zero where the
   *     field says the end itself
   * @return a new specification
   * @throws IllegalArgumentException if the field is not one of the layout, or neither an INSTANT
   *     nor an INT64, if the duration is negative, if this is no table of rows, or if there is
   *     another index {@code "expires"}
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
   * Lets objects expire, as {@link #expireAfter(Field, Duration)} does with rows. Programs use
   * {@link io.fovea.ObjectSpec#expireAfter}.
   *
   * @param component an {@link java.time.Instant}, or a {@code long}: milliseconds since
   *     1970-01-01T00:00Z; its name, behind those of the records in which it lies, with dots
   *     between
   * @param after how long after that moment an object expires, in whole milliseconds
   * @return a new specification
   * @throws IllegalArgumentException if there is no such component, or it is something else, if the
   *     duration is negative, if this is no table of objects, or if there is another index {@code
   *     "expires"}
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
   * Lets byte strings expire, as {@link #expireAfter(Field, Duration)} does with rows. Each value
   * has its time in 8 bytes, the most significant one first: milliseconds since 1970-01-01T00:00Z.
   * A value that is too short for them is refused when it is written.
   *
   * <p>This adds an index {@code "expires"} by that time, of one part of type INT64. It belongs to
   * the option: {@link io.fovea.Database#dropExpiry} drops it, too. A table that is there already
   * gets the option when it is opened with it, if no value is too short, or another duration; for
   * another offset, drop the option before.
   *
   * @param offset where in a value the time begins, 0 to {@link Expiry.OfBytes#OFFSET_MAX}
   * @param after how long after that moment a value expires, in whole milliseconds; zero where it
   *     says the end itself
   * @return a new specification
   * @throws IllegalArgumentException for another offset, if the duration is negative, if this is no
   *     table of byte strings, or if there is another index {@code "expires"}
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

  /**
   * What its objects are made of.
   *
   * @return the shapes, or null for a table of rows, or of byte strings that only programs know
   */
  public @Nullable ObjectShapes objects() {
    return objects;
  }

  /**
   * When records expire.
   *
   * @return what {@link #expireAfter(Field, Duration) expireAfter} said, or null if they don't
   */
  public @Nullable Expiry expiry() {
    return expiry;
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
   * The same, of a table whose point reads begin where a key was seen last, by whatever
   * transaction: two waits for memory instead of one at every level of the tree. For tables that
   * are read by their keys again and again, in no order. Reads of ranges are as they were.
   *
   * <p>Places are kept in a table of their own beside the buffer, of {@code
   * MemoryOptions.locationCacheBytes} at most, which all remembered tables and indexes of a
   * database share: 8 bytes for a record. They are hints: each is checked, one that is wrong costs
   * time, and nothing of them is in the file. A database remembers a table from the first time that
   * it is opened so until the database is closed.
   *
   * @return another specification
   */
  public TableSpec cacheLocations() {
    return new TableSpec(name, key, layout, indexes, expiry, objects, steps, true);
  }

  /**
   * Whether point reads begin where keys were seen last.
   *
   * @return false by default
   */
  public boolean cachesLocations() {
    return cacheLocations;
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
   * Its version.
   *
   * @return 1 for a table that was never another one
   */
  public int version() {
    return steps.isEmpty() ? 1 : steps.lastKey();
  }

  /**
   * The steps that lead to a version from the one before.
   *
   * @param version the version
   * @return an immutable list, empty where nothing changes; null where this specification does not
   *     say
   */
  public @Nullable List<Step> steps(int version) {
    return steps.get(version);
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
        + (version() == 1 ? " " : " version " + version() + ' ')
        + key
        + ' '
        + (layout != null ? layout : objects != null ? "objects " + objects : "bytes")
        + (indexes.isEmpty() ? "" : " " + indexes)
        + (expiry == null ? "" : ", " + expiry);
  }

  /**
   * Collects versions and indexes. One thread at a time.
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
     * Says how a version came from the one before. Versions are given one after the other. The
     * first one that is given says which files can be opened: those of the version before it and
     * newer ones.
     *
     * @param version 2 to {@link #VERSION_MAX}
     * @param taken what became of fields, in this order; nothing where only the order of the fields
     *     changed
     * @return this
     * @throws IllegalArgumentException for another version, or one that does not follow the last
     */
    public Builder version(int version, Step... taken) {
      if (version < 2 || version > VERSION_MAX) {
        throw new IllegalArgumentException(
            "Steps of table "
                + name
                + " lead to version 2 to "
                + VERSION_MAX
                + ", not "
                + version
                + ".");
      }
      if (!steps.isEmpty() && version != steps.lastKey() + 1) {
        throw new IllegalArgumentException(
            "Version " + version + " of table " + name + " comes after " + steps.lastKey() + ".");
      }
      steps.put(version, List.of(taken));
      return this;
    }

    /**
     * Adds a secondary index, of the newest version.
     *
     * @param index as {@link TableSpec#with}
     * @return this
     */
    public Builder index(IndexSpec index) {
      indexes.add(Objects.requireNonNull(index, "index"));
      return this;
    }

    /**
     * As {@link TableSpec#cacheLocations}.
     *
     * @return this
     */
    public Builder cacheLocations() {
      cacheLocations = true;
      return this;
    }

    /**
     * Makes the specification.
     *
     * @return the specification
     * @throws IllegalArgumentException if the steps don't lead to the layout: a field that was
     *     added or renamed is not in it, or one that was dropped is; if the default of a field does
     *     not fit it; or as {@link TableSpec#with}
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
     * Takes the steps back, from the layout on: so a mistake is found without a file of an older
     * version. What a field was before it was dropped is not known here; its name is.
     */
    private void checkSteps() {
      // What the fields of a version are now; null for those that are no more.
      Map<String, @Nullable Field> fields = new HashMap<>();
      layout.fields().forEach(f -> fields.put(f.name(), f));
      for (int version : steps.descendingKeySet()) {
        for (Step step : Objects.requireNonNull(steps.get(version)).reversed()) {
          boolean dropped = step.kind() == Step.Kind.DROP;
          if (fields.containsKey(step.to()) == dropped) {
            throw wrong(
                version,
                step,
                dropped ? "a field of that name is there afterwards" : "there is none afterwards");
          }
          Field now = fields.remove(step.to());
          if (step.kind() != Step.Kind.ADD) {
            if (fields.containsKey(step.field())) {
              throw wrong(version, step, "field " + step.field() + " is there afterwards");
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
