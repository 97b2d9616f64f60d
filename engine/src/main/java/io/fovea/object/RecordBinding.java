package io.fovea.object;

import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Component;
import io.fovea.schema.Shape.Composite;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Java records: a presence byte (except for the record that is a table's value), then the
 * components in declaration order.
 *
 * <p>The writer and the reader are one method handle each, composed from those of the components.
 * The canonical constructor receives its arguments in order; its exceptions propagate.
 */
final class RecordBinding extends Binding {
  /**
   * A component; {@code of} is null for the key of the table, which is not stored, and {@code
   * initial} is its value in records that were written without it. The conversions correspond to
   * {@link Component#converted}.
   */
  record Part(
      Component component,
      MethodHandle accessor,
      @Nullable Binding of,
      @Nullable Object initial,
      List<Conversion> conversions) {
    /** Returns a decoder of stored values of a component that is not the key. */
    Decoder decoder(Shape file) {
      Binding now = Objects.requireNonNull(of);
      int i = Shapes.converter(component, file);
      return i < 0 ? now.decoder(file) : conversions.get(i).decoder(file, now.type, initial);
    }

    Part with(Binding other) {
      Component c =
          new Component(
              component.name(),
              other.shape,
              component.formerly(),
              component.initial(),
              component.converted());
      return new Part(c, accessor, other, initial, conversions);
    }

    Part with(Conversion more) {
      List<Conversion> all = new ArrayList<>(conversions);
      all.add(more);
      Component c =
          new Component(
              component.name(),
              component.shape(),
              component.formerly(),
              component.initial(),
              all.stream().map(m -> m.from().shape).toList());
      return new Part(c, accessor, of, initial, List.copyOf(all));
    }
  }

  private final List<Part> parts;
  private final MethodHandle constructor;
  private final Set<String> dropped;

  RecordBinding(Class<?> type, List<Part> parts, MethodHandle constructor, Set<String> dropped) {
    super(
        type,
        new Composite(
            parts.stream().filter(p -> p.of != null).map(Part::component).toList(), dropped));
    this.parts = List.copyOf(parts);
    this.dropped = dropped;
    MethodType types = constructor.type();
    for (int i = 0; i < parts.size(); i++) {
      Binding of = parts.get(i).of;
      types = of == null ? types : types.changeParameterType(i, of.type);
    }
    this.constructor = constructor.asType(types);
  }

  List<Part> parts() {
    return parts;
  }

  /**
   * Returns this form with a changed component.
   *
   * @param path its name, after those of the enclosing records
   * @return null if there is no such component
   */
  @Nullable RecordBinding with(List<String> path, UnaryOperator<Part> change) {
    for (int i = 0; i < parts.size(); i++) {
      Part part = parts.get(i);
      if (part.component.name().equals(path.getFirst())) {
        Part changed =
            path.size() == 1
                ? change.apply(part)
                : inside(part, path.subList(1, path.size()), change);
        if (changed == null) {
          return null;
        }
        List<Part> all = new ArrayList<>(parts);
        all.set(i, changed);
        return new RecordBinding(type, all, constructor, dropped);
      }
    }
    return null;
  }

  private static @Nullable Part inside(Part part, List<String> path, UnaryOperator<Part> change) {
    Binding of = part.of instanceof OptionalBinding o ? o.of() : part.of;
    RecordBinding changed = of instanceof RecordBinding r ? r.with(path, change) : null;
    if (changed == null) {
      return null;
    }
    return part.with(part.of instanceof OptionalBinding ? new OptionalBinding(changed) : changed);
  }

  MethodHandle constructor() {
    return constructor;
  }

  // ------------------------------------------------------------------------- as it is stored today

  /** Returns a handle that takes a writer and a record that is not null. */
  MethodHandle partsWriter() {
    MethodHandle all =
        MethodHandles.empty(MethodType.methodType(void.class, ObjectWriter.class, type));
    for (Part part : parts.reversed()) {
      if (part.of != null) {
        MethodHandle write = MethodHandles.filterArguments(part.of.writer(), 1, part.accessor);
        all = MethodHandles.foldArguments(all, write);
      }
    }
    return all;
  }

  /** Returns a handle that takes a reader and returns a record that is not null. */
  MethodHandle partsReader() {
    int n = parts.size();
    MethodHandle all = MethodHandles.dropArguments(constructor, n, ObjectReader.class);
    for (int i = n - 1; i >= 0; i--) {
      Part part = parts.get(i);
      MethodHandle read =
          part.of == null ? key(constructor.type().parameterType(i)) : part.of.reader();
      all = MethodHandles.foldArguments(all, i, read);
    }
    return all;
  }

  private static MethodHandle key(Class<?> type) {
    try {
      return MethodHandles.lookup()
          .findGetter(ObjectReader.class, "key", Object.class)
          .asType(MethodType.methodType(type, ObjectReader.class));
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  MethodHandle writer() {
    MethodHandle presence =
        MethodHandles.insertArguments(
            method(ObjectWriter.class, "putBoolean", void.class, boolean.class), 1, true);
    MethodHandle missing =
        MethodHandles.insertArguments(
            method(ObjectWriter.class, "putBoolean", void.class, boolean.class), 1, false);
    MethodHandle some = MethodHandles.foldArguments(partsWriter(), presence);
    MethodHandle none = MethodHandles.dropArguments(missing, 1, type);
    MethodHandle test =
        MethodHandles.dropArguments(
            method(Objects.class, "nonNull", boolean.class, Object.class)
                .asType(MethodType.methodType(boolean.class, type)),
            0,
            ObjectWriter.class);
    return MethodHandles.guardWithTest(test, some, none);
  }

  @Override
  MethodHandle reader() {
    MethodHandle none =
        MethodHandles.dropArguments(MethodHandles.constant(type, null), 0, ObjectReader.class);
    MethodHandle test = method(ObjectReader.class, "getBoolean", boolean.class);
    return MethodHandles.guardWithTest(test, partsReader(), none);
  }

  // ---------------------------------------------------------------------------- as it was stored

  /** Returns a decoder of a record that is not null. */
  Decoder partsDecoder(Composite file) {
    List<Decoder> stored = new ArrayList<>();
    for (Component c : file.components()) {
      stored.add(Skip.over(c.shape()));
    }
    int[] ordinals = new int[parts.size()];
    for (int i = 0; i < ordinals.length; i++) {
      Part part = parts.get(i);
      ordinals[i] = part.of == null ? -1 : Composite.find(part.component, file);
      if (ordinals[i] >= 0) {
        stored.set(ordinals[i], part.decoder(file.components().get(ordinals[i]).shape()));
      }
    }
    Decoder[] all = stored.toArray(Decoder[]::new);
    MethodHandle make =
        constructor
            .asSpreader(Object[].class, ordinals.length)
            .asType(MethodType.methodType(Object.class, Object[].class));
    return in -> {
      Object key = in.key;
      @Nullable Object[] values = new Object[all.length];
      for (int i = 0; i < all.length; i++) {
        values[i] = all[i].read(in);
      }
      @Nullable Object[] arguments = new Object[ordinals.length];
      for (int i = 0; i < ordinals.length; i++) {
        Part part = parts.get(i);
        arguments[i] = part.of == null ? key : ordinals[i] < 0 ? part.initial : values[ordinals[i]];
      }
      try {
        return (Object) make.invokeExact(arguments);
      } catch (Throwable e) {
        throw Throwables.rethrow(e);
      }
    };
  }

  @Override
  Decoder decoder(Shape file) {
    Decoder some = partsDecoder((Composite) inner(file));
    return in -> in.getBoolean() ? some.read(in) : null;
  }

  @Override
  @Nullable Object initial(String text) {
    if (!text.isEmpty()) {
      throw new IllegalArgumentException("A record can only be null.");
    }
    return null;
  }
}
