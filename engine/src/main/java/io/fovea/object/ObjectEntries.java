package io.fovea.object;

import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Component;
import io.fovea.schema.Shape.Composite;
import io.fovea.schema.Shape.Maybe;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * How the keys of an index's entries are made of stored objects: from bytes to bytes, by the shapes
 * that the file has, without the class. So whoever opens a file can change the table, check its
 * indexes and build one.
 *
 * <pre>
 *   stored object   version (1) · components           entry   {@link EntryParts} of the components
 *                      │                                       that the index is declared by
 *                      └─► of that version: where each part is, or what it is in all its objects
 * </pre>
 *
 * <p>Where a part is in the objects of an older version is found when a class comes to the table:
 * by names, and by what {@link io.fovea.schema.Formerly} and {@link io.fovea.schema.Initial} say.
 * What was found stays in the catalog; a class that says anything else of an older version is
 * refused, for its program would read other values than the index has.
 *
 * <p>Immutable; any thread.
 */
public final class ObjectEntries {
  /**
   * Where a part is in the objects of a version.
   *
   * @param places the place of its component in the object, or that of the record in which it lies,
   *     then the place in that, and so on; empty where objects of the version have none
   * @param fixed what the part is in all objects of the version, where they have no component
   */
  public record Source(List<Integer> places, @Nullable ByteBuffer fixed) {
    public Source {
      places = List.copyOf(places);
      if (places.isEmpty() == (fixed == null)) {
        throw new IllegalArgumentException("A part has a place or a value.");
      }
    }
  }

  /**
   * A part of the key.
   *
   * @param type what its values are, widened
   * @param sources where it is, by version
   */
  public record Part(Shape type, List<Source> sources) {
    public Part {
      sources = List.copyOf(sources);
    }
  }

  /** The most parts. */
  private static final int PARTS_MAX = 255;

  private final List<Part> parts;
  private final List<String> paths;
  private final Version[] versions;
  private final int maxBytes;

  /**
   * Entries of which all is known.
   *
   * @param shapes of the versions of the objects
   * @param parts of the key
   * @throws IllegalArgumentException if the parts are not in the shapes
   */
  public ObjectEntries(List<Composite> shapes, List<Part> parts) {
    this(
        shapes,
        parts,
        parts.stream().map(p -> path(shapes.getLast(), p.sources.getLast().places)).toList());
  }

  private ObjectEntries(List<Composite> shapes, List<Part> parts, List<String> paths) {
    this.paths = List.copyOf(paths);
    this.parts = List.copyOf(parts);
    if (parts.isEmpty() || parts.size() > PARTS_MAX) {
      throw new IllegalArgumentException(
          "An index has 1 to " + PARTS_MAX + " components, not " + parts.size() + ".");
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
   * Entries as a class says them.
   *
   * @param shapes of the versions that the objects have had
   * @param here the class, with what it says of older versions; {@link Shapes} finds no fault in it
   * @param paths the components, as {@link #components} gives them
   * @throws IllegalArgumentException if a component is not there, or has no order of bytes
   */
  public static ObjectEntries of(List<Composite> shapes, Composite here, List<String> paths) {
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
        sources.add(source(shapes.get(v), steps, path, v + 1));
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

  private static Source source(Composite file, List<Component> steps, String path, int version) {
    List<Integer> places = new ArrayList<>();
    Shape at = file;
    for (Component step : steps) {
      int place = at instanceof Composite c ? Composite.find(step, c) : -1;
      if (place < 0) {
        // Of a record that is missing, as it can only be null, all parts are.
        boolean last = step == steps.getLast();
        String text = step.initial();
        if (text == null) {
          throw new IllegalArgumentException(
              "Component "
                  + path
                  + " is not in objects of version "
                  + version
                  + ", and there is no word about what it is in them: open the table with its"
                  + " class, whose component has @Formerly or @Initial.");
        }
        byte[] value = last ? EntryParts.initial(step.shape(), text) : new byte[] {EntryParts.NULL};
        return new Source(List.of(), ByteBuffer.wrap(value));
      }
      places.add(place);
      at = Binding.inner(((Composite) at).components().get(place).shape());
    }
    return new Source(places, null);
  }

  private static String path(Composite shape, List<Integer> places) {
    if (places.isEmpty()) {
      throw new IllegalArgumentException("A part of an index that its objects don't have.");
    }
    List<String> names = new ArrayList<>();
    Shape at = shape;
    for (int place : places) {
      Component c = ((Composite) at).components().get(place);
      names.add(c.name());
      at = Binding.inner(c.shape());
    }
    return String.join(".", names);
  }

  /**
   * The components without parts that one has.
   *
   * @param path its name, behind those of the records in which it lies, with dots between
   * @return paths: that one, or those of the components of a record
   * @throws IllegalArgumentException if there is none, or one has no order of bytes
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
            + ", which has no order of bytes and can be in no index.");
  }

  // ----------------------------------------------------------------------------------- what it is

  /** The parts. */
  public List<Part> parts() {
    return parts;
  }

  /** What the parts are, widened. */
  public List<Shape> types() {
    return parts.stream().map(Part::type).toList();
  }

  /** The components of the newest version. */
  public List<String> paths() {
    return paths;
  }

  /** The same by the first part alone. */
  public ObjectEntries first() {
    List<Composite> shapes = Arrays.stream(versions).map(v -> v.shape).toList();
    return new ObjectEntries(shapes, List.of(parts.getFirst()), List.of(paths.getFirst()));
  }

  /** How many versions it knows. */
  public int versions() {
    return versions.length;
  }

  /** The most bytes of the parts together; -1 where they have no limit. */
  public int maxBytes() {
    return maxBytes;
  }

  /**
   * In what another one differs, in words.
   *
   * @param here what a class says; it may know one version more
   * @return null if it has the same entries of the same objects
   */
  public @Nullable String difference(ObjectEntries here) {
    if (parts.size() != here.parts.size()) {
      return difference(here.paths);
    }
    for (int i = 0; i < parts.size(); i++) {
      Part file = parts.get(i);
      Part now = here.parts.get(i);
      for (int v = versions.length - 1; v >= 0; v--) {
        Source there = file.sources.get(v);
        Source wanted = now.sources.get(v);
        boolean moved = !there.places.equals(wanted.places);
        if (moved && v == versions.length - 1) {
          return "its components in the file are " + paths + ", here they are " + here.paths;
        }
        if (moved || there.fixed != null && !there.fixed.equals(wanted.fixed)) {
          return "component "
              + here.paths.get(i)
              + " in objects of version "
              + (v + 1)
              + " is "
              + text(there, file.type, v)
              + " in the index, and "
              + here.text(wanted, now.type, v)
              + " by what the class says with @Formerly and @Initial";
        }
      }
      if (!now.type.equals(file.type) && !EntryKey.isBeginning(file.type, now.type)) {
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
        ? path(versions[version].shape, source.places)
        : EntryParts.text(new ObjectReader().of(fixed.array()), type);
  }

  /** The same where only the components of the newest version are known. */
  public @Nullable String difference(List<String> here) {
    return paths.equals(here)
        ? null
        : "its components in the file are " + paths + ", here they are " + here;
  }

  /** The parts of an entry in words, for messages; what is behind them is passed over. */
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
   * Writes the parts of a stored object.
   *
   * @param in has the object, and nothing else
   * @param out where to
   * @param places of the caller's, one for each part
   * @return whether none of them is null
   * @throws IllegalArgumentException if it is no object of a version that is known
   * @throws IndexOutOfBoundsException likewise
   */
  public boolean write(ObjectReader in, ObjectWriter out, int[] places) {
    int v = Byte.toUnsignedInt(in.getByte());
    if (v == 0 || v > versions.length) {
      throw new IllegalArgumentException(
          "An object of version " + v + "; there are " + versions.length + ".");
    }
    return versions[v - 1].write(in, out, places);
  }

  /** The number of a first part that is there: an INT64, or the seconds of an INSTANT. */
  public static long number(byte[] parts) {
    return KeyParts.getLong(parts, 1);
  }

  /** The nanoseconds of a first part that is there and an INSTANT. */
  public static int nanos(byte[] parts) {
    return KeyParts.getInt(parts, 1 + Long.BYTES);
  }

  /** Objects of a version. */
  private static final class Version {
    final Composite shape;
    private final Level level;

    /** By part: how it is written; null where all objects have the same. */
    private final EntryParts.@Nullable Leaf[] leaves;

    private final byte @Nullable [][] fixed;

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
        if (value != null) {
          fixed[i] = checked(value.array(), part.type);
        } else {
          leaves[i] = new EntryParts.Leaf(level.want(source.places, 0, i), part.type);
        }
      }
      level.end();
    }

    /** A file may have bytes that are no part. */
    private static byte[] checked(byte[] part, Shape type) {
      ObjectReader in = new ObjectReader().of(part);
      String text = EntryParts.text(in, type);
      if (!in.isAtEnd()) {
        throw new IllegalArgumentException("There are bytes behind " + text + ".");
      }
      return part;
    }

    boolean write(ObjectReader in, ObjectWriter out, int[] places) {
      for (int i = 0; i < leaves.length; i++) {
        places[i] = -1;
      }
      level.walk(in, places);
      boolean whole = true;
      for (int i = 0; i < leaves.length; i++) {
        byte[] value = fixed[i];
        EntryParts.Leaf leaf = leaves[i];
        if (value != null) {
          out.put(value);
          whole &= value[0] != EntryParts.NULL;
        } else if (places[i] < 0 || leaf == null) {
          out.putByte(EntryParts.NULL);
          whole = false;
        } else {
          in.seek(places[i]);
          whole &= leaf.put(in, out);
        }
      }
      return whole;
    }
  }

  /**
   * The components of an object, or of a record in one: which are passed over, and which are not.
   */
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

    /** A part is wanted; returns what it is in the file. */
    Shape want(List<Integer> places, int depth, int part) {
      int at = places.get(depth);
      Shape found = shape.components().get(at).shape();
      if (depth == places.size() - 1) {
        if (parts[at] >= 0) {
          throw new IllegalArgumentException("A component is twice in an index: " + places + ".");
        }
        parts[at] = part;
        return found;
      }
      Level in = inside[at];
      if (in == null) {
        Shape record = found instanceof Maybe m ? m.of() : found;
        if (!(record instanceof Composite c)) {
          throw new IllegalArgumentException("A part of an index in " + found + ".");
        }
        in = new Level(c);
        inside[at] = in;
      }
      return in.want(places, depth + 1, part);
    }

    /** What is behind the last part of an object need not be passed over. */
    void end() {
      while (end > 0 && parts[end - 1] < 0 && inside[end - 1] == null) {
        end--;
      }
    }

    void walk(ObjectReader in, int[] places) {
      for (int i = 0; i < end; i++) {
        Level record = inside[i];
        if (record != null) {
          if (in.getBoolean()) {
            record.walk(in, places);
          }
        } else {
          if (parts[i] >= 0) {
            places[parts[i]] = in.take(0);
          }
          skips[i].read(in);
        }
      }
    }
  }
}
