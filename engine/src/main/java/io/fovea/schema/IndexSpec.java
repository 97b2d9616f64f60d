package io.fovea.schema;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A secondary index: another order of a table's records, kept up to date in the transactions that
 * change them.
 *
 * <p>An index over named fields knows which fields it depends on: an update that touches none of
 * them costs it nothing. An extractor sees the whole record and is asked about every update.
 *
 * <p>A value; any thread.
 *
 * @since 0.1.0
 */
public final class IndexSpec {
  /**
   * Computes the entry of a record in an index.
   *
   * <p>Must depend on nothing but its arguments, give the same entry for the same record in every
   * run of the program, and be safe for every thread. It may see records of transactions that will
   * be aborted.
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
     * @param entry where to put the entry's key; empty when it is passed
     * @return false where the index is to have no entry for this record
     */
    boolean extract(KeyReader primaryKey, RowReader record, KeyWriter entry);
  }

  /**
   * Computes the entry of a record in an index of a table of byte strings.
   *
   * <p>Must depend on nothing but its arguments, give the same entry for the same record in every
   * run of the program, and be safe for every thread. It may see records of transactions that will
   * be aborted. What it throws comes out of the statement that changes the record, and nothing is
   * changed then; out of {@link io.fovea.Database#table}, where it is met while the index is built.
   *
   * @since 0.1.0
   */
  @FunctionalInterface
  public interface ByteExtractor {
    /**
     * Computes an entry.
     *
     * @param key the record's key: a new array
     * @param value its value: a new array
     * @param entry where to put the entry's key; empty when it is passed
     * @return false where the index is to have no entry for this record
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

  /** Of a table of objects; else empty. */
  private final List<String> components;

  /** Whether only the file is known, and not how objects of older versions are read. */
  private final boolean described;

  /** Says nothing of the index, and is not in the file. */
  private final boolean cacheLocations;

  private IndexSpec(
      String name,
      boolean unique,
      List<Field> fields,
      List<String> components,
      boolean described,
      @Nullable KeySpec extractedKey,
      @Nullable Extractor extractor,
      @Nullable ByteExtractor byteExtractor,
      @Nullable EntryHints hints,
      boolean remembered) {
    TableSpec.checkName(name);
    this.name = name;
    this.unique = unique;
    this.fields = fields;
    this.components = components;
    this.described = described;
    this.extractedKey = extractedKey;
    this.extractor = extractor;
    this.byteExtractor = byteExtractor;
    this.hints = hints;
    this.cacheLocations = remembered;
  }

  /**
   * An index by fields of the row and parts of the key. Several records may have the same values;
   * they follow one another in the order of their keys. Null is below all values.
   *
   * @param name its name, unique in its table
   * @param fields the fields in the order of comparison, at least one
   * @return the specification
   * @throws IllegalArgumentException if there are no fields, or one appears twice
   */
  public static IndexSpec on(String name, Field... fields) {
    return new IndexSpec(
        name, false, checked(fields), List.of(), false, null, null, null, null, false);
  }

  /**
   * An index by fields of the row and parts of the key, whose values together belong to one record
   * at most. A record in which one of the fields is null is not in the index: null equals nothing,
   * as in SQL, and such a record is found by another index, or by its key.
   *
   * @param name its name, unique in its table
   * @param fields the fields in the order of comparison, at least one
   * @return the specification
   * @throws IllegalArgumentException if there are no fields, or one appears twice
   */
  public static IndexSpec unique(String name, Field... fields) {
    return new IndexSpec(
        name, true, checked(fields), List.of(), false, null, null, null, null, false);
  }

  /**
   * An index by a computed key.
   *
   * @param name its name, unique in its table; it stands for the extractor in the file, so give a
   *     changed extractor another name
   * @param key the parts of the computed key
   * @param unique whether a key belongs to one record at most
   * @param extractor computes it
   * @return the specification
   */
  public static IndexSpec extracted(String name, KeySpec key, boolean unique, Extractor extractor) {
    return new IndexSpec(
        name,
        unique,
        List.of(),
        List.of(),
        false,
        Objects.requireNonNull(key, "key"),
        Objects.requireNonNull(extractor, "extractor"),
        null,
        null,
        false);
  }

  /**
   * An index of a table of byte strings, by a key that is computed from key and value.
   *
   * @param name its name, unique in its table; it stands for the extractor in the file, so give a
   *     changed extractor another name
   * @param key the parts of the computed key; for a byte string, one part of that type
   * @param unique whether a key belongs to one record at most
   * @param extractor computes it
   * @return the specification, for {@link TableSpec#with} of what {@link TableSpec#bytes} made
   * @throws IllegalArgumentException for a key that {@link KeySpec#ofBytes} made: bytes without an
   *     end can't stand before a primary key
   */
  public static IndexSpec bytes(String name, KeySpec key, boolean unique, ByteExtractor extractor) {
    if (Objects.requireNonNull(key, "key").isRaw()) {
      throw new IllegalArgumentException(
          "The key of index "
              + name
              + " is a byte string without an end, behind which no primary key can stand: give it"
              + " a part of type BYTES instead, by KeySpec.builder().");
    }
    return new IndexSpec(
        name,
        unique,
        List.of(),
        List.of(),
        false,
        key,
        null,
        Objects.requireNonNull(extractor, "extractor"),
        null,
        false);
  }

  /**
   * An index by a computed key, of which only the file is known: as {@link
   * io.fovea.Database#describe} gives it. With it a table can be opened where nothing is changed (a
   * database that was opened for reading only, a snapshot), and where its extractor is known
   * already.
   *
   * @param name its name, unique in its table
   * @param key the parts of the computed key
   * @param unique whether a key belongs to one record at most
   * @return the specification
   */
  public static IndexSpec described(String name, KeySpec key, boolean unique) {
    return new IndexSpec(
        name,
        unique,
        List.of(),
        List.of(),
        true,
        Objects.requireNonNull(key, "key"),
        null,
        null,
        null,
        false);
  }

  /**
   * An index by components of the objects of a table. Programs get one from {@link
   * io.fovea.ObjectSpec#index(String, String...)}.
   *
   * @param name its name, unique in its table
   * @param unique whether values without null belong to one object at most
   * @param paths components without parts in the order of comparison, at least one: each its name,
   *     behind those of the records in which it lies, with dots between
   * @return the specification
   * @throws IllegalArgumentException if there are no components, or one appears twice
   */
  public static IndexSpec components(String name, boolean unique, List<String> paths) {
    return by(name, unique, paths, false);
  }

  /**
   * An index by components of the objects of a table, of which only the file is known: as {@link
   * io.fovea.Database#describe} gives it. With it a table can be opened whose class has had older
   * versions, which the file knows how to read. The index can't be built with it then.
   *
   * @param name its name, unique in its table
   * @param unique as {@link #components(String, boolean, List)}
   * @param paths as {@link #components(String, boolean, List)}
   * @return the specification
   * @throws IllegalArgumentException as {@link #components(String, boolean, List)}
   */
  public static IndexSpec described(String name, boolean unique, List<String> paths) {
    return by(name, unique, paths, true);
  }

  private static IndexSpec by(String name, boolean unique, List<String> paths, boolean described) {
    List<String> all = List.copyOf(paths);
    if (all.isEmpty()) {
      throw new IllegalArgumentException("An index has at least one component.");
    }
    if (all.stream().distinct().count() != all.size()) {
      throw new IllegalArgumentException("A component appears twice in an index: " + all + ".");
    }
    return new IndexSpec(name, unique, List.of(), all, described, null, null, null, null, false);
  }

  /**
   * The same index with hints of choice in its entries. It counts when the index is created, and
   * stays with it: later specifications of an index that exists may say anything, or nothing.
   * Without this an index gets what {@link io.fovea.ExperimentOptions#hints} say: {@link
   * EntryHints#PAGE_FRAME_SLOT} with frames and pages, {@link EntryHints#PAGE_SLOT} with pages
   * alone, else {@link EntryHints#NONE}.
   *
   * <p>What the entries have is used as far as the options of the database that is open say so.
   *
   * @param entryHints what entries remember
   * @return another specification
   */
  public IndexSpec hints(EntryHints entryHints) {
    return new IndexSpec(
        name,
        unique,
        fields,
        components,
        described,
        extractedKey,
        extractor,
        byteExtractor,
        Objects.requireNonNull(entryHints, "entryHints"),
        cacheLocations);
  }

  /**
   * The same, of an index whose searches for one entry begin where it was seen last, as those of
   * {@link TableSpec#cacheLocations}: of a unique index, by its whole key.
   *
   * @return another specification
   */
  public IndexSpec cacheLocations() {
    return new IndexSpec(
        name,
        unique,
        fields,
        components,
        described,
        extractedKey,
        extractor,
        byteExtractor,
        hints,
        true);
  }

  /**
   * Whether searches for one entry begin where it was seen last.
   *
   * @return false by default
   */
  public boolean cachesLocations() {
    return cacheLocations;
  }

  private static List<Field> checked(Field[] fields) {
    List<Field> list = List.of(fields);
    if (list.isEmpty()) {
      throw new IllegalArgumentException("An index has at least one field.");
    }
    if (list.stream().distinct().count() != list.size()) {
      throw new IllegalArgumentException("A field appears twice in an index.");
    }
    return list;
  }

  /**
   * Its name.
   *
   * @return the name, unique in its table
   */
  public String name() {
    return name;
  }

  /**
   * Whether an entry's values belong to one record at most.
   *
   * @return true for a unique index
   */
  public boolean isUnique() {
    return unique;
  }

  /**
   * The fields that it is declared by.
   *
   * @return an immutable list, empty for an extracted index
   */
  public List<Field> fields() {
    return fields;
  }

  /**
   * Whether only the file is known.
   *
   * @return true for what {@code described} made
   */
  public boolean isDescribed() {
    return described;
  }

  /**
   * The components that it is declared by.
   *
   * @return an immutable list of paths, as in {@code address.city}; empty for an index of another
   *     table than one of objects
   */
  public List<String> components() {
    return components;
  }

  /**
   * The hints in the entries of the index.
   *
   * @return what was chosen, or null: what the options say
   */
  public @Nullable EntryHints hints() {
    return hints;
  }

  /**
   * The key that its extractor computes.
   *
   * @return the parts, or null for an index by fields
   */
  public @Nullable KeySpec extractedKey() {
    return extractedKey;
  }

  /**
   * The extractor that computes the entries.
   *
   * @return the extractor; null for an index by fields, for one of byte strings, and for one that
   *     is {@link #described}
   */
  public @Nullable Extractor extractor() {
    return extractor;
  }

  /**
   * The extractor that computes the entries of an index of byte strings.
   *
   * @return the extractor; null for another index, and for one that is {@link #described}
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
