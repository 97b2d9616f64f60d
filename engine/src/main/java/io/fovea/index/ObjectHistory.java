package io.fovea.index;

import io.fovea.object.ObjectEntries;
import io.fovea.object.Shapes;
import io.fovea.schema.ObjectShapes;
import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Component;
import io.fovea.schema.Shape.Composite;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The shapes that the objects of a table have had. The first byte of each object is its version,
 * counted from 1.
 *
 * <p>A version is the shape of a class, or a <em>merged</em> shape: the components of an older
 * class, followed by those of a newer version that the older class does not know. An older class
 * writes a merged shape over an object of the newer version, and so keeps the values that it can't
 * read.
 *
 * <pre>
 *   1  class A        record(name, fax)
 *   2  class B        record(title, mail)         title was name; fax was dropped
 *   3  A merged on 2  record(name, fax, mail)     by A, over an object of version 2
 * </pre>
 *
 * @param key the shape of the keys, which never changes
 * @param versions the shapes of the values, oldest first; from {@code floor} on with the earlier
 *     names of their components
 * @param origins how each version came about
 * @param floor the oldest version whose class may open the table
 * @param vacant the versions that no object has any more, because all have been rewritten
 */
public record ObjectHistory(
    Shape key, List<Composite> versions, List<Origin> origins, int floor, Set<Integer> vacant) {
  public static final int VERSION_MAX = 255;

  /**
   * How a version came about.
   *
   * @param writer the version of the older class of a merged version; 0 for the version of a class
   * @param base the version on which it was merged, likewise
   */
  public record Origin(int writer, int base) {
    static final Origin CLASS = new Origin(0, 0);

    boolean isClass() {
      return writer == 0;
    }
  }

  public ObjectHistory {
    versions = List.copyOf(versions);
    origins = List.copyOf(origins);
    vacant = Set.copyOf(vacant);
    int n = versions.size();
    if (n < 1 || n > VERSION_MAX || origins.size() != n) {
      throw new IllegalArgumentException(
          "A table of objects must have 1 to 255 versions, not " + n + ".");
    }
    for (int v = 1; v <= n; v++) {
      Origin o = origins.get(v - 1);
      boolean merged = o.writer > 0 && o.base > 0 && o.writer < v && o.base < v;
      if (o.isClass()
          ? o.base != 0
          : !merged || !origins.get(o.writer - 1).isClass() || !isMerged(versions, v, o)) {
        throw new IllegalArgumentException("Version " + v + " has no origin " + o + ".");
      }
    }
    if (floor < 1 || floor > n || !origins.get(floor - 1).isClass()) {
      throw new IllegalArgumentException("Version " + floor + " is not that of a class.");
    }
    for (int v : vacant) {
      if (v < 1 || v > n || v == floor) {
        throw new IllegalArgumentException("Objects have version " + v + ".");
      }
    }
  }

  private static boolean isMerged(List<Composite> versions, int version, Origin o) {
    List<Component> all = versions.get(version - 1).components();
    List<Component> first = versions.get(o.writer - 1).components();
    int n = first.size();
    return n < all.size()
        && all.subList(0, n).equals(first)
        && versions.get(o.base - 1).components().containsAll(all.subList(n, all.size()));
  }

  /** Creates the history of classes of which only the last may open the table. */
  public ObjectHistory(Shape key, List<Composite> versions) {
    this(
        key,
        versions,
        Collections.nCopies(versions.size(), Origin.CLASS),
        versions.size(),
        Set.of());
  }

  /** Returns the history of a new table; null unless the table contains objects. */
  public static @Nullable ObjectHistory first(@Nullable ObjectShapes shapes) {
    return shapes == null ? null : new ObjectHistory(shapes.key(), List.of(shapes.value()));
  }

  /** Returns the number of versions. */
  public int version() {
    return versions.size();
  }

  /** Returns the version of the newest class. */
  public int current() {
    int v = versions.size();
    while (!origins.get(v - 1).isClass()) {
      v--;
    }
    return v;
  }

  public Composite shape(int version) {
    return versions.get(version - 1);
  }

  /**
   * Returns the latest version of a class with a shape, if it is not vacant; 0 if there is none.
   */
  public int version(Shape value) {
    for (int v = versions.size(); v > 0; v--) {
      if (origins.get(v - 1).isClass() && !isVacant(v) && shape(v).equals(value)) {
        return v;
      }
    }
    return 0;
  }

  /**
   * Returns whether only the newest class may open the table, and all versions are those of
   * classes.
   */
  public boolean isPlain() {
    return floor == versions.size();
  }

  /** Returns this history with the version of a newer class. */
  public ObjectHistory next(Composite value) {
    return with(value, Origin.CLASS);
  }

  private ObjectHistory with(Composite value, Origin origin) {
    List<Composite> more = new ArrayList<>(versions);
    more.add(value);
    List<Origin> others = new ArrayList<>(origins);
    others.add(origin);
    return new ObjectHistory(key, more, others, floor, vacant);
  }

  /** Returns this history without the right of older classes to open the table. */
  public ObjectHistory finished() {
    return new ObjectHistory(key, versions, origins, current(), vacant);
  }

  /** Returns this history after all objects of other versions than the newest were rewritten. */
  public ObjectHistory rewritten() {
    int current = current();
    Set<Integer> others = new HashSet<>();
    for (int v = 1; v <= versions.size(); v++) {
      if (v != current) {
        others.add(v);
      }
    }
    return new ObjectHistory(key, versions, origins, current, others);
  }

  /** Whether no object has a version any more. */
  public boolean isVacant(int version) {
    return vacant.contains(version);
  }

  /**
   * Returns, for each possible first byte of an object, whether an object with it may be written.
   *
   * @param firstWriter the oldest version whose class may write objects
   */
  boolean[] storable(int firstWriter) {
    boolean[] all = new boolean[VERSION_MAX + 1];
    for (int v = 1; v <= versions.size(); v++) {
      Origin o = origins.get(v - 1);
      all[v] = !isVacant(v) && (o.isClass() ? v : o.writer) >= firstWriter;
    }
    return all;
  }

  public ObjectShapes shapes() {
    return new ObjectShapes(key, shape(current()));
  }

  // --------------------------------------------------------------------------------- older classes

  /**
   * Returns whether a version is, or is merged on, that of a newer class than the given version.
   */
  public boolean isNewer(int version, int than) {
    Origin o = origins.get(version - 1);
    return o.isClass() ? version > than : isNewer(o.writer, than) || isNewer(o.base, than);
  }

  /** Returns whether a version is newer than a class; none is, if the class has no version yet. */
  public boolean isNewer(int version, Composite here) {
    int own = version(here);
    return own > 0 && isNewer(version, own);
  }

  /**
   * Returns the shape of a version as a class sees it: in newer versions, components have the names
   * of the class, and unknown ones have names that {@link Shapes#isUnknown} identifies.
   */
  public Composite seenBy(Composite here, int version) {
    int own = version(here);
    return seenBy(here, own == 0 ? versions.size() + 1 : own, version);
  }

  /**
   * Like {@link #seenBy(Composite, int)}.
   *
   * @param own the version of the class; for a class without a version, more than that of any
   *     object
   */
  public Composite seenBy(Composite here, int own, int version) {
    Origin o = origins.get(version - 1);
    if (o.isClass()) {
      return version <= own ? shape(version) : Shapes.renamed(shape(version), here);
    }
    List<Component> all = new ArrayList<>(seenBy(here, own, o.writer).components());
    List<Component> base = shape(o.base).components();
    List<Component> seen = seenBy(here, own, o.base).components();
    List<Component> stored = shape(version).components();
    for (Component kept : stored.subList(all.size(), stored.size())) {
      all.add(seen.get(base.indexOf(kept)));
    }
    return new Composite(all, Set.of());
  }

  /** Returns the entries of an index that a class defines by components. */
  public ObjectEntries entries(Composite here, List<String> paths) {
    List<Composite> seen = new ArrayList<>();
    for (int v = 1; v <= versions.size(); v++) {
      seen.add(seenBy(here, v));
    }
    return ObjectEntries.of(seen, here, paths, v -> isNewer(v, here), this::isVacant);
  }

  /**
   * Returns the version to write over an object.
   *
   * @param own the version of the writer's class
   * @param over the version of the object
   * @return {@code own} if the object has no component that the class does not know; 0 if the
   *     merged version is not in this history
   */
  public int merged(int own, int over) {
    Composite merged = mergedShape(own, over);
    if (merged.components().size() == shape(own).components().size()) {
      return own;
    }
    for (int v = versions.size(); v > 0; v--) {
      if (!isVacant(v) && shape(v).equals(merged)) {
        return v;
      }
    }
    return 0;
  }

  /** Returns which components of a version a class does not know, but must keep. */
  public boolean[] unknown(int own, int version) {
    List<Component> seen = seenBy(shape(own), own, version).components();
    boolean[] unknown = new boolean[seen.size()];
    for (int i = 0; i < unknown.length; i++) {
      unknown[i] = Shapes.isUnknown(seen.get(i));
    }
    return unknown;
  }

  private Composite mergedShape(int own, int over) {
    List<Component> all = new ArrayList<>(shape(own).components());
    boolean[] unknown = unknown(own, over);
    for (int i = 0; i < unknown.length; i++) {
      if (unknown[i]) {
        all.add(shape(over).components().get(i));
      }
    }
    return new Composite(all, Set.of());
  }

  /**
   * Returns whether the versions that a class needs to write over those of others are not too many.
   */
  public boolean canMerge(int own) {
    int needed = 0;
    for (int v = 1; v <= versions.size(); v++) {
      needed +=
          !isVacant(v) && merged(own, v) == 0 ? 1 : 0; // at most: several may have the same shape
    }
    return needed == 0 || versions.size() + needed <= VERSION_MAX;
  }

  /** Returns this history with all versions that a class needs to write over those of others. */
  public ObjectHistory withMerged(int own) {
    ObjectHistory all = this;
    for (int v = 1; v <= versions.size(); v++) {
      if (!isVacant(v) && all.merged(own, v) == 0) {
        all = all.with(mergedShape(own, v), new Origin(own, v));
      }
    }
    return all;
  }
}
