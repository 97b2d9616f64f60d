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
 * Lists, sets and maps, stored as a count (the number of elements plus 1, or 0 for null) and the
 * elements in iteration order. They are read as unmodifiable collections in the same order.
 */
final class CollectionBinding extends Binding {
  /** Reads nothing: lists and sets have no keys. */
  private static final Decoder NO_KEY = in -> null;

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
    Decoder keys = key == null ? NO_KEY : key.plan()::read;
    Decoder all = all(keys, element.plan()::read);
    return method(Decoder.class, "read", Object.class, ObjectReader.class)
        .bindTo(all)
        .asType(MethodType.methodType(type, ObjectReader.class));
  }

  @Override
  Decoder decoder(Shape file) {
    return switch (inner(file)) {
      case Sequence s -> all(NO_KEY, element.decoder(s.of()));
      case Collected s -> all(NO_KEY, element.decoder(s.of()));
      case Mapping m ->
          all(Objects.requireNonNull(key).decoder(m.key()), element.decoder(m.value()));
      default -> throw new IllegalArgumentException(file + " is not a collection.");
    };
  }

  /** Returns a decoder of collections of this kind, with the given decoders of their parts. */
  private Decoder all(Decoder keys, Decoder elements) {
    return type == List.class
        ? in -> list(elements, in)
        : type == Set.class ? in -> set(elements, in) : in -> map(keys, elements, in);
  }

  private static @Nullable List<@Nullable Object> list(Decoder element, ObjectReader in) {
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

  private static @Nullable Set<@Nullable Object> set(Decoder element, ObjectReader in) {
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

  private static @Nullable Map<@Nullable Object, @Nullable Object> map(
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
