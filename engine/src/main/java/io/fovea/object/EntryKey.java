package io.fovea.object;

import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Enumeration;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Writes keys of a class for lookups in an index by components: the {@link EntryParts} in sequence,
 * with a record's parts in component order. Safe for use by any thread.
 */
public final class EntryKey {
  /** A part of a key: how to access it, and its type. */
  private record Leaf(List<MethodHandle> accessors, Shape type) {}

  private final Class<?> keys;
  private final List<Leaf> leaves = new ArrayList<>();

  private EntryKey(Class<?> keys) {
    this.keys = keys;
  }

  static EntryKey of(Binding binding) {
    EntryKey made = new EntryKey(binding.type);
    made.add(binding, List.of(), "The key of the index");
    return made;
  }

  private void add(Binding binding, List<MethodHandle> accessors, String where) {
    if (binding instanceof RecordBinding r) {
      if (r.parts().isEmpty()) {
        throw Bindings.wrong(where, "is a record without components, which can't be a key");
      }
      for (RecordBinding.Part p : r.parts()) {
        Binding of = p.of();
        if (of != null) { // records of keys have no @Id
          add(of, and(accessors, p.accessor()), where + '.' + p.component().name());
        }
      }
      return;
    }
    if (binding instanceof CodedBinding c) {
      add(c.of(), and(accessors, c.encoder()), where);
      return;
    }
    if (binding instanceof OptionalBinding o) {
      add(o.of(), and(accessors, o.opener()), where);
      return;
    }
    Shape type = EntryParts.type(binding.shape);
    if (type == null) {
      throw Bindings.wrong(
          where,
          "is " + binding.shape + ", which has no ordered encoding, so no index can contain it");
    }
    leaves.add(new Leaf(accessors, type));
  }

  private static List<MethodHandle> and(List<MethodHandle> accessors, MethodHandle last) {
    List<MethodHandle> more = new ArrayList<>(accessors);
    more.add(last.asType(MethodType.methodType(Object.class, Object.class)));
    return List.copyOf(more);
  }

  /** Returns the number of parts. */
  public int parts() {
    return leaves.size();
  }

  /** Explains why this is not a key of an index, nor a prefix of its keys; null if it is. */
  public @Nullable String difference(ObjectEntries index) {
    List<Shape> types = index.types();
    if (leaves.size() > types.size()) {
      return keys.getName() + " has " + leaves.size() + " parts, and the index " + types.size();
    }
    for (int i = 0; i < leaves.size(); i++) {
      Shape here = leaves.get(i).type;
      Shape other = types.get(i);
      if (!here.equals(other) && !isBeginning(here, other) && !isBeginning(other, here)) {
        return "part "
            + (i + 1)
            + " of "
            + keys.getName()
            + " is "
            + here
            + ", and that of the index, "
            + index.paths().get(i)
            + ", is "
            + other;
      }
    }
    return null;
  }

  /** Returns whether an enum is an older version of another with the same class. */
  static boolean isBeginning(Shape here, Shape other) {
    return here instanceof Enumeration h
        && other instanceof Enumeration t
        && h.constants().size() < t.constants().size()
        && h.constants().equals(t.constants().subList(0, h.constants().size()));
  }

  /**
   * Writes a key.
   *
   * @return whether no part of the key is null
   */
  public boolean write(ObjectWriter out, Object key) {
    boolean complete = true;
    for (Leaf leaf : leaves) {
      @Nullable Object value = key;
      for (MethodHandle accessor : leaf.accessors) {
        value = value == null ? null : get(accessor, value);
      }
      int from = out.length();
      EntryParts.put(out, leaf.type, value);
      complete &= out.array()[from] != EntryParts.NULL;
    }
    return complete;
  }

  private static @Nullable Object get(MethodHandle accessor, Object from) {
    try {
      return (Object) accessor.invokeExact(from);
    } catch (Throwable e) {
      throw Throwables.rethrow(e);
    }
  }
}
