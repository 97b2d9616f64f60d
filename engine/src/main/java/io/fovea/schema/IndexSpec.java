package io.fovea.schema;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A secondary index: another order of a table's records, maintained by the transactions that change
 * them.
 *
 * <p>An update that changes none of the fields of an index does not touch the index. An extractor
 * reads the whole record and runs on every update.
 *
 * <p>Immutable and thread-safe.
 *
 * @since 0.1.0
 */
public final class IndexSpec {
  /**
   * Computes the index entry of a record.
   *
   * <p>It must depend only on its arguments, give the same entry for the same record in every run
   * of the program, and be thread-safe. It may read records of transactions that will be aborted.
   *
   * @since 0.1.0
   */
  @FunctionalInterface
  public interface Extractor {
    /**
     * Computes an entry.
     *
     * @param primaryKey the record's key
     * @param record the record
     * @param entry receives the entry's key; empty at first
     * @return false if the record has no entry in the index
     */
    boolean extract(KeyReader primaryKey, RowReader record, KeyWriter entry);
  }

  /**
   * Computes the index entry of a record in a table of byte strings.
   *
   * <p>It must depend only on its arguments, give the same entry for the same record in every run
   * of the program, and be thread-safe. It may read records of transactions that will be aborted.
   * Its exceptions are thrown by the statement that changes the record, which then changes nothing,
   * or by {@link io.fovea.Database#table} while the index is built.
   *
   * @since 0.1.0
   */
  @FunctionalInterface
  public interface ByteExtractor {
    /**
     * Computes an entry.
     *
     * @param key the record's key, in a new array
     * @param value its value, in a new array
     * @param entry receives the entry's key; empty at first
     * @return false if the record has no entry in the index
     */
    boolean extract(byte[] key, byte[] value, KeyWriter entry);
  }

  private final String name;
  private final boolean unique;
  private final List<Field> fields;
  private final @Nullable KeySpec extractedKey;
  private final @Nullable Extractor extractor;
  private final @Nullable ByteExtractor byteExtractor;
  private final @Nullable EntryHints hints;

  /** The component paths in a table of objects; otherwise empty. */
  private final List<String> components;

  /** Whether only the stored form is known. */
  private final boolean described;

  /** Not stored in the file. */
  private final boolean cacheLocations;

  private IndexSpec(
      String name,
      boolean unique,
      List<Field> fields,
      List<String> components,
      boolean described,
      @Nullable KeySpec extractedKey,
      @Nullable Extractor extractor,
      @Nullable ByteExtractor byteExtractor) {
    TableSpec.checkName(name);
    this.name = name;
    this.unique = unique;
    this.fields = fields;
    this.components = components;
    this.described = described;
    this.extractedKey = extractedKey;
    this.extractor = extractor;
    this.byteExtractor = byteExtractor;
    this.hints = null;
    this.cacheLocations = false;
  }

  private IndexSpec(IndexSpec of, @Nullable EntryHints hints, boolean cacheLocations) {
    this.name = of.name;
    this.unique = of.unique;
    this.fields = of.fields;
    this.components = of.components;
    this.described = of.described;
    this.extractedKey = of.extractedKey;
    this.extractor = of.extractor;
    this.byteExtractor = of.byteExtractor;
    this.hints = hints;
    this.cacheLocations = cacheLocations;
  }

  /**
   * Returns an index on fields of the row and parts of the key. Records with equal values are
   * ordered by their keys. Null is below all values.
   *
   * @param name unique in its table
   * @param fields in the order of comparison, at least one
   * @return the specification
   * @throws IllegalArgumentException if there are no fields, or one appears twice
   */
  public static IndexSpec on(String name, Field... fields) {
    return new IndexSpec(name, false, checked(fields), List.of(), false, null, null, null);
  }

  /**
   * Returns a unique index on fields of the row and parts of the key. A record in which one of the
   * fields is null has no entry, because null equals nothing, as in SQL.
   *
   * @param name unique in its table
   * @param fields in the order of comparison, at least one
   * @return the specification
   * @throws IllegalArgumentException if there are no fields, or one appears twice
   */
  public static IndexSpec unique(String name, Field... fields) {
    return new IndexSpec(name, true, checked(fields), List.of(), false, null, null, null);
  }

  /**
   * Returns an index on a computed key.
   *
   * @param name unique in its table; it identifies the extractor in the file, so a changed
   *     extractor needs a new name
   * @param key the parts of the computed key
   * @param unique whether a key belongs to at most one record
   * @param extractor computes the key
   * @return the specification
   */
  public static IndexSpec extracted(String name, KeySpec key, boolean unique, Extractor extractor) {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(extractor, "extractor");
    return new IndexSpec(name, unique, List.of(), List.of(), false, key, extractor, null);
  }

  /**
   * Returns an index of a table of byte strings, on a key computed from the record's key and value.
   *
   * @param name unique in its table; it identifies the extractor in the file, so a changed
   *     extractor needs a new name
   * @param key the parts of the computed key; for a byte string, one part of that type
   * @param unique whether a key belongs to at most one record
   * @param extractor computes the key
   * @return the specification, for a table from {@link TableSpec#bytes}
   * @throws IllegalArgumentException for a key from {@link KeySpec#ofBytes}: a byte string without
   *     an end mark cannot precede a primary key
   */
  public static IndexSpec bytes(String name, KeySpec key, boolean unique, ByteExtractor extractor) {
    if (Objects.requireNonNull(key, "key").isRaw()) {
      throw new IllegalArgumentException(
          "The key of index "
              + name
              + " is a byte string whose length is not stored, so no primary "
              + "key can follow it: use a part of type BYTES instead, with "
              + "KeySpec.builder().");
    }
    Objects.requireNonNull(extractor, "extractor");
    return new IndexSpec(name, unique, List.of(), List.of(), false, key, null, extractor);
  }

  /**
   * Returns an index on a computed key without its extractor, as in {@link
   * io.fovea.Database#describe}. It can open a table in a read-only database or a snapshot, or once
   * the extractor is known.
   *
   * @param name unique in its table
   * @param key the parts of the computed key
   * @param unique whether a key belongs to at most one record
   * @return the specification
   */
  public static IndexSpec described(String name, KeySpec key, boolean unique) {
    Objects.requireNonNull(key, "key");
    return new IndexSpec(name, unique, List.of(), List.of(), true, key, null, null);
  }

  /**
   * Returns an index on components of the objects of a table. Programs use {@link
   * io.fovea.ObjectSpec#index(String, String...)} instead.
   *
   * @param name unique in its table
   * @param unique whether values without null belong to at most one object
   * @param paths components without parts in the order of comparison, at least one, each as a path
   *     of names separated by dots
   * @return the specification
   * @throws IllegalArgumentException if there are no components, or one appears twice
   */
  public static IndexSpec components(String name, boolean unique, List<String> paths) {
    return by(name, unique, paths, false);
  }

  /**
   * Returns an index on components as stored in the file, as in {@link io.fovea.Database#describe}.
   * It can open a table with objects of older versions, but not build the index.
   *
   * @param name unique in its table
   * @param unique as in {@link #components(String, boolean, List)}
   * @param paths as in {@link #components(String, boolean, List)}
   * @return the specification
   * @throws IllegalArgumentException as in {@link #components(String, boolean, List)}
   */
  public static IndexSpec described(String name, boolean unique, List<String> paths) {
    return by(name, unique, paths, true);
  }

  private static IndexSpec by(String name, boolean unique, List<String> paths, boolean described) {
    List<String> all = List.copyOf(paths);
    if (all.isEmpty()) {
      throw new IllegalArgumentException("An index must have at least one component.");
    }
    if (all.stream().distinct().count() != all.size()) {
      throw new IllegalArgumentException("A component appears twice in an index: " + all + ".");
    }
    return new IndexSpec(name, unique, List.of(), all, described, null, null, null);
  }

  /**
   * Chooses the hints in the entries of a new index. An existing index keeps its hints, whatever
   * later specifications say. By default {@link io.fovea.ExperimentOptions#hints} decides: {@link
   * EntryHints#PAGE_FRAME_SLOT} with frames and pages, {@link EntryHints#PAGE_SLOT} with pages
   * only, otherwise {@link EntryHints#NONE}.
   *
   * <p>The options of the open database limit which hints are used.
   *
   * @param entryHints the hints
   * @return a new specification
   */
  public IndexSpec hints(EntryHints entryHints) {
    return new IndexSpec(this, Objects.requireNonNull(entryHints, "entryHints"), cacheLocations);
  }

  /**
   * Caches the locations of entries, like {@link TableSpec#cacheLocations}: searches of a unique
   * index by its whole key begin where the entry was last seen.
   *
   * @return a new specification
   */
  public IndexSpec cacheLocations() {
    return new IndexSpec(this, hints, true);
  }

  /** {@return whether searches for one entry begin where it was last seen; false by default} */
  public boolean cachesLocations() {
    return cacheLocations;
  }

  private static List<Field> checked(Field[] fields) {
    List<Field> list = List.of(fields);
    if (list.isEmpty()) {
      throw new IllegalArgumentException("An index must have at least one field.");
    }
    if (list.stream().distinct().count() != list.size()) {
      throw new IllegalArgumentException("A field appears twice in an index.");
    }
    return list;
  }

  /** {@return the name, unique in its table} */
  public String name() {
    return name;
  }

  /** {@return whether the values of an entry belong to at most one record} */
  public boolean isUnique() {
    return unique;
  }

  /** {@return the fields, an immutable list; empty for an extracted index} */
  public List<Field> fields() {
    return fields;
  }

  /** {@return whether only the stored form is known, as from {@code described}} */
  public boolean isDescribed() {
    return described;
  }

  /**
   * {@return the paths of components, as in {@code address.city}, an immutable list; empty unless
   * the table contains objects}
   */
  public List<String> components() {
    return components;
  }

  /** {@return the chosen hints; null for the default} */
  public @Nullable EntryHints hints() {
    return hints;
  }

  /** {@return the parts of the computed key; null for an index on fields} */
  public @Nullable KeySpec extractedKey() {
    return extractedKey;
  }

  /**
   * {@return the extractor of rows; null for other indexes, and for one that is {@link #described}}
   */
  public @Nullable Extractor extractor() {
    return extractor;
  }

  /**
   * {@return the extractor of byte strings; null for other indexes, and for one that is {@link
   * #described}}
   */
  public @Nullable ByteExtractor byteExtractor() {
    return byteExtractor;
  }

  @Override
  public String toString() {
    return (unique ? "unique index " : "index ")
        + name
        + (!components.isEmpty()
            ? components.toString()
            : extractedKey == null ? Layout.describe(fields) : " extracted " + extractedKey);
  }
}
