package io.fovea.object;

import io.fovea.error.InvalidUseException;
import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Collected;
import io.fovea.schema.Shape.Mapping;
import io.fovea.schema.Shape.Sequence;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Lists, sets and maps, stored as a count (the number of elements and 1, or 0 for null) and the
 * elements in the order of their iterator. They are read as collections that can't be changed, in
 * the same order.
 */
final class CollectionBinding extends Binding {
  private final @Nullable Binding key;
  private final Binding element;

  private CollectionBinding(Class<?> type, Shape shape, @Nullable Binding key, Binding element) {
    super(type, shape);
    this.key = key;
    this.element = element;
  }

  static CollectionBinding list(Binding of) {
    return new CollectionBinding(List.class, new Sequence(of.shape), null, of);
  }

  static CollectionBinding set(Binding of) {
    return new CollectionBinding(Set.class, new Collected(of.shape), null, of);
  }

  static CollectionBinding map(Binding key, Binding value) {
    return new CollectionBinding(Map.class, new Mapping(key.shape, value.shape), key, value);
  }

  @Override
  MethodHandle writer() {
    MethodHandle write =
        key == null
            ? MethodHandles.insertArguments(
                method(
                    CollectionBinding.class,
                    "write",
                    void.class,
                    Plan.class,
                    ObjectWriter.class,
                    Collection.class),
                0,
                element.plan())
            : MethodHandles.insertArguments(
                method(
                    CollectionBinding.class,
                    "write",
                    void.class,
                    Plan.class,
                    Plan.class,
                    ObjectWriter.class,
                    Map.class),
                0,
                key.plan(),
                element.plan());
    return write.asType(MethodType.methodType(void.class, ObjectWriter.class, type));
  }

  static void write(Plan element, ObjectWriter out, @Nullable Collection<?> all) {
    if (all == null) {
      out.putCount(0);
      return;
    }
    int n = all.size();
    out.putCount(Math.addExact(n, 1));
    for (Object each : all) {
      element.write(out, each);
      n--;
    }
    requireAll(n);
  }

  static void write(Plan key, Plan value, ObjectWriter out, @Nullable Map<?, ?> all) {
    if (all == null) {
      out.putCount(0);
      return;
    }
    int n = all.size();
    out.putCount(Math.addExact(n, 1));
    for (Map.Entry<?, ?> e : all.entrySet()) {
      key.write(out, e.getKey());
      value.write(out, e.getValue());
      n--;
    }
    requireAll(n);
  }

  private static void requireAll(int left) {
    if (left != 0) {
      throw new InvalidUseException("A collection was changed while it was written.");
    }
  }

  @Override
  MethodHandle reader() {
    Plan plan = element.plan();
    Plan keys = key == null ? null : key.plan();
    MethodHandle read =
        method(
            CollectionBinding.class,
            type == List.class ? "list" : type == Set.class ? "set" : "map",
            type,
            Decoder.class,
            Decoder.class,
            ObjectReader.class);
    Decoder ofKeys = keys == null ? plan::read : keys::read;
    Decoder ofElements = plan::read;
    return MethodHandles.insertArguments(read, 0, ofKeys, ofElements);
  }

  @Override
  Decoder decoder(Shape file) {
    return switch (inner(file)) {
      case Sequence s -> {
        Decoder each = element.decoder(s.of());
        yield in -> list(each, each, in);
      }
      case Collected s -> {
        Decoder each = element.decoder(s.of());
        yield in -> set(each, each, in);
      }
      case Mapping m -> {
        Decoder keys = Objects.requireNonNull(key).decoder(m.key());
        Decoder values = element.decoder(m.value());
        yield in -> map(keys, values, in);
      }
      default -> throw new IllegalArgumentException(file + " is no collection.");
    };
  }

  static @Nullable List<@Nullable Object> list(Decoder unused, Decoder element, ObjectReader in) {
    int n = in.getSize();
    if (n < 0) {
      return null;
    }
    @Nullable Object[] all = new Object[n];
    for (int i = 0; i < n; i++) {
      all[i] = element.read(in);
    }
    return Collections.unmodifiableList(Arrays.asList(all));
  }

  static @Nullable Set<@Nullable Object> set(Decoder unused, Decoder element, ObjectReader in) {
    int n = in.getSize();
    if (n < 0) {
      return null;
    }
    Set<@Nullable Object> all = LinkedHashSet.newLinkedHashSet(n);
    for (int i = 0; i < n; i++) {
      all.add(element.read(in));
    }
    return Collections.unmodifiableSet(all);
  }

  static @Nullable Map<@Nullable Object, @Nullable Object> map(
      Decoder key, Decoder value, ObjectReader in) {
    int n = in.getSize();
    if (n < 0) {
      return null;
    }
    Map<@Nullable Object, @Nullable Object> all = LinkedHashMap.newLinkedHashMap(n);
    for (int i = 0; i < n; i++) {
      all.put(key.read(in), value.read(in));
    }
    return Collections.unmodifiableMap(all);
  }

  @Override
  boolean hasInitial() {
    return true;
  }

  @Override
  Object initial(String text) {
    if (!text.isEmpty()) {
      throw new IllegalArgumentException("A collection can only be empty.");
    }
    return type == List.class ? List.of() : type == Set.class ? Set.of() : Map.of();
  }
}
