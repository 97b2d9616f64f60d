package io.fovea.object;

import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Collected;
import io.fovea.schema.Shape.Component;
import io.fovea.schema.Shape.Composite;
import io.fovea.schema.Shape.Enumeration;
import io.fovea.schema.Shape.Mapping;
import io.fovea.schema.Shape.Maybe;
import io.fovea.schema.Shape.Scalar;
import io.fovea.schema.Shape.Sequence;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Parses shapes, and compares those of a file with those of a program. */
public final class Shapes {
  static final int DEPTH_MAX = 32;

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
   *              | map(shape, shape) | record(NAME shape, …)
   * </pre>
   *
   * @param text the result of {@link Object#toString}
   * @throws IllegalArgumentException if the text is not a shape
   */
  public static Shape parse(String text) {
    Shapes parser = new Shapes(text);
    Shape shape = parser.shape(0);
    if (parser.at != text.length()) {
      throw parser.wrong("the end");
    }
    return shape;
  }

  private Shape shape(int depth) {
    if (depth > DEPTH_MAX) {
      throw wrong("no more than " + DEPTH_MAX + " shapes in one another");
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
      case "record" ->
          new Composite(
              list(
                  () -> {
                    String name = word();
                    expect(" ");
                    return new Component(name, shape(depth + 1));
                  }),
              Set.of());
      default -> Scalar.valueOf(word);
    };
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
        "Invalid shape: " + expected + " is missing at " + at + " of \"" + text + "\".");
  }

  // ------------------------------------------------------------------------------------ comparing

  /** Explains why objects of a file can't be read with the shape of a program; null if they can. */
  public static @Nullable String difference(Shape file, Shape here) {
    return difference("", file, here);
  }

  private static @Nullable String difference(String path, Shape file, Shape here) {
    if (file.equals(here)) {
      return null;
    }
    if (file instanceof Composite f && here instanceof Composite h) {
      return ofRecords(path, f, h);
    }
    if (file instanceof Enumeration f && here instanceof Enumeration h) {
      for (String constant : f.constants()) {
        if (!h.constants().contains(constant)) {
          return of(path) + " may be " + constant + " in the file, but no such name exists here";
        }
      }
      return null;
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
    return of(path) + " is " + file + " in the file, and " + here + " here";
  }

  private static @Nullable String ofRecords(String path, Composite file, Composite here) {
    boolean[] found = new boolean[file.components().size()];
    for (Component c : here.components()) {
      int i = Composite.find(c, file);
      if (i >= 0) {
        if (found[i]) {
          return of(path + '.' + c.name()) + " has the same component in the file as another one";
        }
        found[i] = true;
        String inside =
            difference(path + '.' + c.name(), file.components().get(i).shape(), c.shape());
        if (inside != null) {
          return inside;
        }
      } else if (!c.hasInitial()) {
        return of(path + '.' + c.name())
            + " is not in the file: set its value in older records with @Initial, or name the"
            + " component that it replaces with @Formerly";
      }
    }
    for (int i = 0; i < found.length; i++) {
      String name = file.components().get(i).name();
      if (!found[i] && !here.dropped().contains(name)) {
        return of(path + '.' + name)
            + " of the file is not here: list it in @Dropped if it was removed, or in @Formerly of"
            + " the component that replaces it";
      }
    }
    return null;
  }

  private static String of(String path) {
    return path.isEmpty() ? "the object" : "component " + path.substring(1);
  }
}
