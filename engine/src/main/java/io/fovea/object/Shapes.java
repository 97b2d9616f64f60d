package io.fovea.object;

import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Collected;
import io.fovea.schema.Shape.Component;
import io.fovea.schema.Shape.Composite;
import io.fovea.schema.Shape.Enumeration;
import io.fovea.schema.Shape.Mapping;
import io.fovea.schema.Shape.Maybe;
import io.fovea.schema.Shape.OneOf;
import io.fovea.schema.Shape.Scalar;
import io.fovea.schema.Shape.Sequence;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Parses shapes, and compares those of a file with those of a program. */
public final class Shapes {
  static final int DEPTH_MAX = 32;

  /** Begins the name of a component that a class does not know; no name of Java begins so. */
  private static final String UNKNOWN = "0";

  private final String text;
  private int at;

  private Shapes(String text) {
    this.text = text;
  }

  // -------------------------------------------------------------------------------------- reading

  /**
   * Parses a shape.
   *
   * <pre>
   *   shape      SCALAR | enum(NAME, …) | optional(shape) | list(shape) | set(shape)
   *              | map(shape, shape) | record(named, …) | oneof(named, …)
   *   named      NAME shape | NAME<EARLIER<… shape
   * </pre>
   *
   * @param text the result of {@link Object#toString} or {@link #withEarlierNames}
   * @throws IllegalArgumentException if the text is not a shape
   */
  public static Shape parse(String text) {
    Shapes parser = new Shapes(text);
    Shape shape = parser.shape(0);
    if (parser.at != text.length()) {
      throw parser.wrong("the end of the text");
    }
    return shape;
  }

  private Shape shape(int depth) {
    if (depth > DEPTH_MAX) {
      throw wrong("at most " + DEPTH_MAX + " nested shapes");
    }
    String word = word();
    return switch (word) {
      case "enum" -> new Enumeration(list(this::word));
      case "optional" -> new Maybe(one(depth));
      case "list" -> new Sequence(one(depth));
      case "set" -> new Collected(one(depth));
      case "map" -> {
        expect("(");
        Shape key = shape(depth + 1);
        expect(", ");
        Shape value = shape(depth + 1);
        expect(")");
        yield new Mapping(key, value);
      }
      case "record" -> new Composite(list(() -> component(depth)), Set.of());
      case "oneof" -> new OneOf(list(() -> component(depth)));
      default -> Scalar.valueOf(word);
    };
  }

  private Component component(int depth) {
    String name = word();
    List<String> formerly = new ArrayList<>();
    while (text.startsWith("<", at)) {
      at++;
      formerly.add(word());
    }
    expect(" ");
    return new Component(name, shape(depth + 1), formerly, null);
  }

  private Shape one(int depth) {
    expect("(");
    Shape shape = shape(depth + 1);
    expect(")");
    return shape;
  }

  private <T> List<T> list(Supplier<T> element) {
    List<T> all = new ArrayList<>();
    expect("(");
    while (!text.startsWith(")", at)) {
      if (!all.isEmpty()) {
        expect(", ");
      }
      all.add(element.get());
    }
    at++;
    return all;
  }

  private String word() {
    int from = at;
    while (at < text.length() && Character.isJavaIdentifierPart(text.codePointAt(at))) {
      at += Character.charCount(text.codePointAt(at));
    }
    if (at == from) {
      throw wrong("a name");
    }
    return text.substring(from, at);
  }

  private void expect(String what) {
    if (!text.startsWith(what, at)) {
      throw wrong("\"" + what + '"');
    }
    at += what.length();
  }

  private IllegalArgumentException wrong(String expected) {
    return new IllegalArgumentException(
        "Invalid shape: expected " + expected + " at character " + at + " of \"" + text + "\".");
  }

  /** Returns the text of a shape with the earlier names of components. */
  public static String withEarlierNames(Shape shape) {
    return switch (shape) {
      case Scalar s -> s.toString();
      case Enumeration e -> e.toString();
      case Maybe m -> "optional(" + withEarlierNames(m.of()) + ")";
      case Sequence s -> "list(" + withEarlierNames(s.of()) + ")";
      case Collected c -> "set(" + withEarlierNames(c.of()) + ")";
      case Mapping m ->
          "map(" + withEarlierNames(m.key()) + ", " + withEarlierNames(m.value()) + ")";
      case Composite c -> "record(" + withEarlierNames(c.components()) + ")";
      case OneOf o -> "oneof(" + withEarlierNames(o.records()) + ")";
    };
  }

  private static String withEarlierNames(List<Component> all) {
    return all.stream()
        .map(
            c ->
                c.name()
                    + c.formerly().stream().map(f -> "<" + f).collect(Collectors.joining())
                    + ' '
                    + withEarlierNames(c.shape()))
        .collect(Collectors.joining(", "));
  }

  // -------------------------------------------------------------------------------- older classes

  /**
   * Returns a newer shape with the names that the components have in an older class.
   *
   * @param file the newer shape, with the earlier names of its components
   * @param here the shape of the class
   */
  public static Composite renamed(Composite file, Composite here) {
    List<Component> all = new ArrayList<>();
    for (Component c : file.components()) {
      int i = Composite.find(c, here);
      all.add(renamed(c, i < 0 ? null : here.components().get(i)));
    }
    return new Composite(all, Set.of());
  }

  private static Component renamed(Component file, @Nullable Component here) {
    return here == null
        ? new Component(UNKNOWN + file.name(), file.shape())
        : new Component(here.name(), renamed(file.shape(), here.shape()));
  }

  private static Shape renamed(Shape file, Shape here) {
    if (file instanceof Maybe f) {
      return new Maybe(renamed(f.of(), Binding.inner(here)));
    }
    if (here instanceof Maybe h) {
      return renamed(file, h.of());
    }
    if (file instanceof Composite f && here instanceof Composite h) {
      return renamed(f, h);
    }
    if (file instanceof OneOf f && here instanceof OneOf h) {
      List<Component> all = new ArrayList<>();
      for (Component c : f.records()) {
        int i = OneOf.find(c, h);
        all.add(renamed(c, i < 0 ? null : h.records().get(i)));
      }
      return new OneOf(all);
    }
    if (file instanceof Sequence f && here instanceof Sequence h) {
      return new Sequence(renamed(f.of(), h.of()));
    }
    if (file instanceof Collected f && here instanceof Collected h) {
      return new Collected(renamed(f.of(), h.of()));
    }
    if (file instanceof Mapping f && here instanceof Mapping h) {
      return new Mapping(renamed(f.key(), h.key()), renamed(f.value(), h.value()));
    }
    return file;
  }

  /** Returns whether {@link #renamed} has found no component of the class for a component. */
  public static boolean isUnknown(Component component) {
    return component.name().startsWith(UNKNOWN);
  }

  // ------------------------------------------------------------------------------------ comparing

  /**
   * Returns which converter of a component applies to its values in a file: an index in {@link
   * Component#converted}, or -1 if they are read without a converter or can't be read.
   */
  public static int converter(Component here, Shape file) {
    List<Shape> from = here.converted();
    int exact = from.indexOf(file);
    if (exact >= 0 || from.isEmpty() || difference(file, here.shape(), false) == null) {
      return exact;
    }
    for (int i = 0; i < from.size(); i++) {
      if (difference(file, from.get(i), false) == null) {
        return i;
      }
    }
    return -1;
  }

  /**
   * Explains why objects of a file can't be read with the shape of a program; null if they can.
   *
   * @param newer whether the shape in the file is that of a newer class, {@linkplain #renamed
   *     renamed}. Then components and constants may be missing on either side; an object with a
   *     constant that is missing here can't be read.
   */
  public static @Nullable String difference(Shape file, Shape here, boolean newer) {
    return new Comparison(newer).difference("", file, here);
  }

  private record Comparison(boolean newer) {
    private @Nullable String difference(String path, Shape file, Shape here) {
      if (file.equals(here)) {
        return null;
      }
      if (file instanceof Composite f && here instanceof Composite h) {
        return ofRecords(path, f, h);
      }
      if (file instanceof Enumeration f && here instanceof Enumeration h) {
        for (String constant : f.constants()) {
          if (!newer && !h.constants().contains(constant)) {
            return of(path) + " may be " + constant + " in the file, but no such name exists here";
          }
        }
        return null;
      }
      if (file instanceof OneOf f && here instanceof OneOf h) {
        return ofPermitted(path, f, h);
      }
      if (file instanceof Scalar f && here instanceof Scalar h && h.holds(f)) {
        return null;
      }
      if (file instanceof Maybe f && here instanceof Maybe h) {
        return difference(path, f.of(), h.of());
      }
      if (file instanceof Sequence f && here instanceof Sequence h) {
        return difference(path + "[]", f.of(), h.of());
      }
      if (file instanceof Collected f && here instanceof Collected h) {
        return difference(path + "[]", f.of(), h.of());
      }
      if (file instanceof Mapping f && here instanceof Mapping h) {
        String keys = difference(path + "[key]", f.key(), h.key());
        return keys != null ? keys : difference(path + "[]", f.value(), h.value());
      }
      if (here instanceof Maybe h && !(file instanceof Maybe)) {
        return difference(path, file, h.of());
      }
      String what = of(path) + " is " + file + " in the file, and " + here + " here";
      return path.isEmpty() || path.endsWith("]") ? what : what + ": convert it with @Converted";
    }

    private @Nullable String ofPermitted(String path, OneOf file, OneOf here) {
      boolean[] found = new boolean[file.records().size()];
      for (Component c : here.records()) {
        int i = OneOf.find(c, file);
        if (i >= 0) {
          if (found[i]) {
            return of(path) + " permits two records that are " + file.records().get(i).name();
          }
          found[i] = true;
          String inside =
              difference(path + '.' + c.name(), file.records().get(i).shape(), c.shape());
          if (inside != null) {
            return inside;
          }
        }
      }
      for (int i = 0; i < found.length; i++) {
        if (!found[i] && !newer) {
          return of(path)
              + " may be a "
              + file.records().get(i).name()
              + " in the file, which is not permitted here: name it in @Formerly of the record that"
              + " replaces it";
        }
      }
      return null;
    }

    private @Nullable String ofRecords(String path, Composite file, Composite here) {
      boolean[] found = new boolean[file.components().size()];
      for (Component c : here.components()) {
        int i = Composite.find(c, file);
        if (i >= 0) {
          if (found[i]) {
            return of(path + '.' + c.name()) + " has the same component in the file as another one";
          }
          found[i] = true;
          Shape stored = file.components().get(i).shape();
          String inside =
              converter(c, stored) >= 0
                  ? null
                  : difference(path + '.' + c.name(), stored, c.shape());
          if (inside != null) {
            return inside;
          }
        } else if (!c.hasInitial() && !newer) {
          return of(path + '.' + c.name())
              + " is not in the file: set its value in older records with @Initial, or name the"
              + " component that it replaces with @Formerly";
        }
      }
      for (int i = 0; i < found.length; i++) {
        String name = file.components().get(i).name();
        if (!found[i] && !newer && !here.dropped().contains(name)) {
          return of(path + '.' + name)
              + " of the file is not here: list it in @Dropped if it was removed, or in @Formerly"
              + " of the component that replaces it";
        }
      }
      return null;
    }

    private static String of(String path) {
      return path.isEmpty() ? "the object" : "component " + path.substring(1);
    }
  }
}
