package io.fovea.object;

import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Component;
import io.fovea.schema.Shape.Composite;
import io.fovea.schema.Shape.Maybe;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Builds the keys of index entries from stored objects, bytes to bytes, by the shapes in the file
 * and without the class. So any program that opens a file can change the table, and verify and
 * build its indexes.
 *
 * <pre>
 *   stored object   version (1) · components           entry   {@link EntryParts} of the components
 *                      │                                       that the index is declared by
 *                      └─► of that version: where each part is, or its value in all objects
 * </pre>
 *
 * <p>The position of a part in older versions is determined when a class is first used with the
 * table, by names and by {@link io.fovea.schema.Formerly} and {@link io.fovea.schema.Initial}. The
 * result is stored in the catalog. A class that describes an older version differently is refused,
 * since its program would read values that differ from those in the index.
 *
 * <p>Immutable.
 */
public final class ObjectEntries {
  /**
   * The source of a part in the objects of a version.
   *
   * @param path the path of component positions, from the outermost record inward; empty if objects
   *     of the version lack the component
   * @param fixed the value of the part in all objects of the version, if they lack the component;
   *     without bytes if no object has the version any more
   */
  public record Source(List<Integer> path, @Nullable ByteBuffer fixed) {
    static final Source VACANT = new Source(List.of(), ByteBuffer.allocate(0));

    public Source {
      path = List.copyOf(path);
      if (path.isEmpty() == (fixed == null)) {
        throw new IllegalArgumentException("A part of an index has either a path or a value.");
      }
    }

    boolean isVacant() {
      return fixed != null && !fixed.hasRemaining();
    }
  }

  /**
   * A part of the key.
   *
   * @param type the type of its values, widened
   * @param sources its source, by version
   */
  public record Part(Shape type, List<Source> sources) {
    public Part {
      sources = List.copyOf(sources);
    }
  }

  private static final int PARTS_MAX = 255;

  private final List<Part> parts;
  private final List<String> paths;
  private final Version[] versions;
  private final int maxBytes;

  /**
   * Creates entries from the catalog; throws if the parts are not in the shapes.
   *
   * @param current the version by which components are named, if it has them
   */
  public ObjectEntries(List<Composite> shapes, List<Part> parts, int current) {
    this(shapes, parts, parts.stream().map(p -> path(shapes, p, current)).toList());
  }

  private ObjectEntries(List<Composite> shapes, List<Part> parts, List<String> paths) {
    this.paths = List.copyOf(paths);
    this.parts = List.copyOf(parts);
    if (parts.isEmpty() || parts.size() > PARTS_MAX) {
      throw new IllegalArgumentException(
          "An index must have 1 to " + PARTS_MAX + " components, not " + parts.size() + ".");
    }
    this.versions = new Version[shapes.size()];
    for (int v = 0; v < versions.length; v++) {
      versions[v] = new Version(shapes.get(v), this.parts, v);
    }
    int n = 0;
    for (Part p : this.parts) {
      int bytes = EntryParts.maxBytes(p.type);
      n = n < 0 || bytes < 0 ? -1 : n + bytes;
    }
    this.maxBytes = n;
  }

  /**
   * Creates the entries that a class defines.
   *
   * @param shapes the shapes of the versions that the objects have had
   * @param here the shape of the class, with its annotations for older versions, accepted by {@link
   *     Shapes}
   * @param paths the components, as {@link #components} returns them
   * @param newer whether a version is that of a newer class, and so may lack any component
   * @param vacant whether no object has a version any more
   * @throws IllegalArgumentException if a component does not exist, or its byte order is undefined
   * @throws ConvertedException if it has another type in some version
   */
  public static ObjectEntries of(
      List<Composite> shapes,
      Composite here,
      List<String> paths,
      IntPredicate newer,
      IntPredicate vacant) {
    List<Part> parts = new ArrayList<>();
    for (String path : paths) {
      List<Component> steps = steps(here, path);
      Component last = steps.getLast();
      Shape type = EntryParts.type(last.shape());
      if (type == null) {
        throw unordered(path, last.shape());
      }
      List<Source> sources = new ArrayList<>();
      for (int v = 0; v < shapes.size(); v++) {
        Source source =
            vacant.test(v + 1)
                ? Source.VACANT
                : source(shapes.get(v), steps, path, v + 1, newer.test(v + 1));
        sources.add(source);
        if (newer.test(v + 1) && !source.path.isEmpty()) {
          Shape other = EntryParts.type(shape(shapes.get(v), source.path));
          type = other != null && EntryKey.isBeginning(type, other) ? other : type;
        }
      }
      parts.add(new Part(type, sources));
    }
    return new ObjectEntries(shapes, parts, paths);
  }

  private static List<Component> steps(Composite shape, String path) {
    List<Component> steps = new ArrayList<>();
    Shape at = shape;
    for (String name : path.split("\\.", -1)) {
      Component found = at instanceof Composite c ? component(c, name) : null;
      if (found == null) {
        throw new IllegalArgumentException("There is no component " + path + " in " + shape + ".");
      }
      steps.add(found);
      at = Binding.inner(found.shape());
    }
    return steps;
  }

  private static @Nullable Component component(Composite shape, String name) {
    for (Component c : shape.components()) {
      if (c.name().equals(name)) {
        return c;
      }
    }
    return null;
  }

  private static Source source(
      Composite file, List<Component> steps, String path, int version, boolean newer) {
    List<Integer> ordinals = new ArrayList<>();
    Shape at = file;
    for (Component step : steps) {
      int ordinal = at instanceof Composite c ? Composite.find(step, c) : -1;
      if (ordinal < 0) {
        // All parts of a missing record are null, since the record can only be null.
        boolean last = step == steps.getLast();
        String text = step.initial();
        if (text == null && newer) {
          Shape shape = step.shape();
          boolean zero = last && Binding.lacksPresenceByte(shape);
          byte[] none = zero ? EntryParts.initial(shape, "") : new byte[] {EntryParts.NULL};
          return new Source(List.of(), ByteBuffer.wrap(none));
        }
        if (text == null) {
          throw new IllegalArgumentException(
              "Component "
                  + path
                  + " is not in objects of version "
                  + version
                  + ", and its value in them is unknown: open the table with its class, in which"
                  + " the component has @Formerly or @Initial.");
        }
        byte[] value = last ? EntryParts.initial(step.shape(), text) : new byte[] {EntryParts.NULL};
        return new Source(List.of(), ByteBuffer.wrap(value));
      }
      Shape stored = ((Composite) at).components().get(ordinal).shape();
      if (Shapes.converter(step, stored) >= 0) {
        throw new ConvertedException(path, stored, version);
      }
      ordinals.add(ordinal);
      at = Binding.inner(stored);
    }
    return new Source(ordinals, null);
  }

  /** Thrown if an index would contain a component whose stored values need a converter. */
  public static final class ConvertedException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    private ConvertedException(String path, Shape stored, int version) {
      super(
          "component "
              + path
              + " is converted from "
              + stored
              + " in objects of version "
              + version
              + ", and no index can contain it before these are rewritten");
    }
  }

  private static Shape shape(Composite file, List<Integer> ordinals) {
    Shape at = file;
    for (int ordinal : ordinals) {
      at = ((Composite) Binding.inner(at)).components().get(ordinal).shape();
    }
    return at;
  }

  private static String path(List<Composite> shapes, Part part, int current) {
    int v = current - 1;
    if (part.sources.get(v).path.isEmpty()) { // an older class has made the index
      v = shapes.size() - 1;
      while (v > 0 && part.sources.get(v).path.isEmpty()) {
        v--;
      }
    }
    return path(shapes.get(v), part.sources.get(v).path);
  }

  private static String path(Composite shape, List<Integer> ordinals) {
    if (ordinals.isEmpty()) {
      throw new IllegalArgumentException("An index has a part that its objects lack.");
    }
    List<String> names = new ArrayList<>();
    Shape at = shape;
    for (int ordinal : ordinals) {
      Component c = ((Composite) at).components().get(ordinal);
      names.add(c.name());
      at = Binding.inner(c.shape());
    }
    return String.join(".", names);
  }

  /**
   * Returns the indivisible components that a component consists of.
   *
   * @param path its name, after those of the enclosing records, separated by dots
   * @return paths: the given one, or those of the record's components
   * @throws IllegalArgumentException if the component does not exist or a byte order is undefined
   */
  public static List<String> components(Composite shape, String path) {
    List<String> all = new ArrayList<>();
    collect(path, steps(shape, path).getLast().shape(), all);
    return all;
  }

  private static void collect(String path, Shape shape, List<String> all) {
    if (Binding.inner(shape) instanceof Composite c) {
      if (c.components().isEmpty()) {
        throw new IllegalArgumentException(
            "Component " + path + " is a record without components.");
      }
      c.components().forEach(each -> collect(path + '.' + each.name(), each.shape(), all));
    } else if (EntryParts.type(shape) == null) {
      throw unordered(path, shape);
    } else {
      all.add(path);
    }
  }

  private static IllegalArgumentException unordered(String path, Shape shape) {
    return new IllegalArgumentException(
        "Component "
            + path
            + " is "
            + shape
            + ", which has no ordered encoding, so no index can contain it.");
  }

  // ----------------------------------------------------------------------------------- what it is

  public List<Part> parts() {
    return parts;
  }

  public List<Shape> types() {
    return parts.stream().map(Part::type).toList();
  }

  public List<String> paths() {
    return paths;
  }

  public ObjectEntries first() {
    List<Composite> shapes = Arrays.stream(versions).map(v -> v.shape).toList();
    return new ObjectEntries(shapes, List.of(parts.getFirst()), List.of(paths.getFirst()));
  }

  public int versions() {
    return versions.length;
  }

  /**
   * Returns these entries with one more version of objects: the components of an older class,
   * followed by those of a newer version that the class does not know.
   *
   * @param shape the shape of the new version
   * @param writer the version of the older class
   * @param base the newer version
   * @param unknown which components of the newer version follow
   */
  public ObjectEntries merged(Composite shape, int writer, int base, boolean[] unknown) {
    List<Composite> shapes = new ArrayList<>();
    for (Version v : versions) {
      shapes.add(v.shape);
    }
    shapes.add(shape);
    List<Part> more = new ArrayList<>();
    for (Part part : parts) {
      List<Source> sources = new ArrayList<>(part.sources);
      Source old = sources.get(writer - 1);
      Source other = sources.get(base - 1);
      sources.add(
          !other.path.isEmpty() && unknown[other.path.getFirst()]
              ? moved(other, shapes.get(writer - 1).components().size(), unknown)
              : old);
      more.add(new Part(part.type, sources));
    }
    return new ObjectEntries(shapes, more, paths);
  }

  private static Source moved(Source source, int before, boolean[] unknown) {
    List<Integer> path = new ArrayList<>(source.path);
    int at = before;
    for (int i = 0; i < path.getFirst(); i++) {
      at += unknown[i] ? 1 : 0;
    }
    path.set(0, at);
    return new Source(path, null);
  }

  /** Returns the maximum length of all parts; -1 if unlimited. */
  public int maxBytes() {
    return maxBytes;
  }

  /**
   * Explains how another definition differs.
   *
   * @param here the definition of a class; it may have one more version
   * @return null if it defines the same entries for the same objects
   */
  public @Nullable String difference(ObjectEntries here) {
    if (parts.size() != here.parts.size()) {
      return difference(here.paths);
    }
    for (int i = 0; i < parts.size(); i++) {
      Part file = parts.get(i);
      Part now = here.parts.get(i);
      for (int v = versions.length - 1; v >= 0; v--) {
        Source source = file.sources.get(v);
        Source wanted = now.sources.get(v);
        if (source.isVacant() || wanted.isVacant()) {
          continue;
        }
        boolean moved = !source.path.equals(wanted.path);
        if (moved && v == versions.length - 1) {
          return "its components in the file are " + paths + ", here they are " + here.paths;
        }
        if (moved || source.fixed != null && !source.fixed.equals(wanted.fixed)) {
          return "component "
              + here.paths.get(i)
              + " in objects of version "
              + (v + 1)
              + " is "
              + text(source, file.type, v)
              + " in the index, and "
              + here.text(wanted, now.type, v)
              + " by what the class says with @Formerly and @Initial";
        }
      }
      if (!now.type.equals(file.type)
          && !EntryKey.isBeginning(file.type, now.type)
          && !EntryKey.isBeginning(now.type, file.type)) { // of an older class
        return "component "
            + here.paths.get(i)
            + " is sorted as "
            + file.type
            + " in the file, and would be as "
            + now.type
            + " here";
      }
    }
    return null;
  }

  private String text(Source source, Shape type, int version) {
    ByteBuffer fixed = source.fixed;
    return fixed == null
        ? path(versions[version].shape, source.path)
        : EntryParts.text(new ObjectReader().of(fixed.array()), type);
  }

  /** Explains the difference if only the components of the newest version are known. */
  public @Nullable String difference(List<String> here) {
    return paths.equals(here)
        ? null
        : "its components in the file are " + paths + ", here they are " + here;
  }

  public String text(byte[] entry) {
    ObjectReader in = new ObjectReader().of(entry);
    return parts.stream()
        .map(p -> EntryParts.text(in, p.type))
        .collect(Collectors.joining(", ", "(", ")"));
  }

  @Override
  public String toString() {
    return paths.toString();
  }

  // --------------------------------------------------------------------------------------- making

  /**
   * Writes the parts of a stored object, which takes up all of {@code in}; returns whether no part
   * is null.
   *
   * @param offsets scratch memory, one element per part
   * @throws IllegalArgumentException if the bytes are not an object of a known version
   * @throws IndexOutOfBoundsException likewise
   */
  public boolean write(ObjectReader in, ObjectWriter out, int[] offsets) {
    int v = Byte.toUnsignedInt(in.getByte());
    if (v == 0 || v > versions.length) {
      throw new IllegalArgumentException(
          "An object of version " + v + "; there are " + versions.length + ".");
    }
    if (versions[v - 1].vacant) {
      throw new IllegalArgumentException(
          "An object of version " + v + ", which finishEvolution has replaced.");
    }
    return versions[v - 1].write(in, out, offsets);
  }

  /** Returns the first part, which is not null: an INT64, or the seconds of an INSTANT. */
  public static long number(byte[] parts) {
    return KeyParts.getLong(parts, 1);
  }

  /** Returns the nanoseconds of a first part that is an INSTANT and not null. */
  public static int nanos(byte[] parts) {
    return KeyParts.getInt(parts, 1 + Long.BYTES);
  }

  private static final class Version {
    final Composite shape;
    private final Level level;

    /** The conversion of each part; null if its value is the same in all objects. */
    private final EntryParts.@Nullable Leaf[] leaves;

    private final byte @Nullable [][] fixed;

    /** Whether no object has the version, so that parts may be unknown. */
    private boolean vacant;

    Version(Composite shape, List<Part> parts, int version) {
      this.shape = shape;
      int n = parts.size();
      this.leaves = new EntryParts.Leaf[n];
      this.fixed = new byte[n][];
      this.level = new Level(shape);
      for (int i = 0; i < n; i++) {
        Part part = parts.get(i);
        Source source = part.sources.get(version);
        ByteBuffer value = source.fixed;
        if (source.isVacant()) {
          vacant = true;
        } else if (value != null) {
          fixed[i] = checked(value.array(), part.type);
        } else {
          leaves[i] = new EntryParts.Leaf(level.request(source.path, 0, i), part.type);
        }
      }
      level.end();
    }

    private static byte[] checked(byte[] part, Shape type) {
      ObjectReader in = new ObjectReader().of(part);
      String text = EntryParts.text(in, type);
      if (!in.isAtEnd()) {
        throw new IllegalArgumentException("There are bytes after " + text + ".");
      }
      return part;
    }

    boolean write(ObjectReader in, ObjectWriter out, int[] offsets) {
      for (int i = 0; i < leaves.length; i++) {
        offsets[i] = -1;
      }
      level.walk(in, offsets);
      boolean complete = true;
      for (int i = 0; i < leaves.length; i++) {
        byte[] value = fixed[i];
        EntryParts.Leaf leaf = leaves[i];
        if (value != null) {
          out.put(value);
          complete &= value[0] != EntryParts.NULL;
        } else if (offsets[i] < 0 || leaf == null) {
          out.putByte(EntryParts.NULL);
          complete = false;
        } else {
          in.seek(offsets[i]);
          complete &= leaf.put(in, out);
        }
      }
      return complete;
    }
  }

  /** The components of an object or a nested record, each read or skipped. */
  private static final class Level {
    private final Composite shape;
    private final Decoder[] skips;
    private final int[] parts;
    private final @Nullable Level[] inside;
    private int end;

    Level(Composite shape) {
      this.shape = shape;
      int n = shape.components().size();
      this.skips = new Decoder[n];
      this.parts = new int[n];
      this.inside = new Level[n];
      this.end = n;
      for (int i = 0; i < n; i++) {
        skips[i] = Skip.over(shape.components().get(i).shape());
        parts[i] = -1;
      }
    }

    /** Marks a part as needed; returns its shape in the file. */
    Shape request(List<Integer> ordinals, int depth, int part) {
      int at = ordinals.get(depth);
      Shape found = shape.components().get(at).shape();
      if (depth == ordinals.size() - 1) {
        if (parts[at] >= 0) {
          throw new IllegalArgumentException(
              "A component appears twice in an index: " + ordinals + ".");
        }
        parts[at] = part;
        return found;
      }
      Level in = inside[at];
      if (in == null) {
        Shape record = found instanceof Maybe m ? m.of() : found;
        if (!(record instanceof Composite c)) {
          throw new IllegalArgumentException("A part of an index is inside " + found + ".");
        }
        in = new Level(c);
        inside[at] = in;
      }
      return in.request(ordinals, depth + 1, part);
    }

    /** Stops after the last needed part, so that the rest is not skipped one by one. */
    void end() {
      while (end > 0 && parts[end - 1] < 0 && inside[end - 1] == null) {
        end--;
      }
    }

    void walk(ObjectReader in, int[] offsets) {
      for (int i = 0; i < end; i++) {
        Level record = inside[i];
        if (record != null) {
          if (in.getBoolean()) {
            record.walk(in, offsets);
          }
        } else {
          if (parts[i] >= 0) {
            offsets[parts[i]] = in.take(0);
          }
          skips[i].read(in);
        }
      }
    }
  }
}
