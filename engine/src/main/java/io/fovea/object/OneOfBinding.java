package io.fovea.object;

import io.fovea.error.InvalidUseException;
import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Component;
import io.fovea.schema.Shape.Composite;
import io.fovea.schema.Shape.OneOf;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Sealed interfaces of records, stored as a count (the number of the record plus 1, or 0 for null)
 * and the components of the record.
 */
final class OneOfBinding extends Binding {
  /**
   * A permitted record.
   *
   * @param component its simple name, its shape, and its former names
   * @param of its stored form
   */
  record Permitted(Component component, RecordBinding of) {}

  private final List<Permitted> all;
  private final Class<?>[] types;
  private final Plan[] plans;

  OneOfBinding(Class<?> type, List<Permitted> all) {
    super(type, new OneOf(all.stream().map(Permitted::component).toList()));
    this.all = all;
    this.types = all.stream().map(p -> p.of.type).toArray(Class<?>[]::new);
    this.plans =
        all.stream()
            .map(p -> PlanTemplate.of(p.of.partsWriter(), p.of.partsReader()))
            .toArray(Plan[]::new);
  }

  @Override
  MethodHandle writer() {
    return MethodHandles.insertArguments(
            method(
                OneOfBinding.class,
                "write",
                void.class,
                Class[].class,
                Plan[].class,
                ObjectWriter.class,
                Object.class),
            0,
            types,
            plans)
        .asType(MethodType.methodType(void.class, ObjectWriter.class, type));
  }

  static void write(Class<?>[] types, Plan[] plans, ObjectWriter out, @Nullable Object value) {
    if (value == null) {
      out.putCount(0);
      return;
    }
    for (int i = 0; i < types.length; i++) {
      if (types[i] == value.getClass()) {
        out.putCount(i + 1);
        plans[i].write(out, value);
        return;
      }
    }
    throw new InvalidUseException(value.getClass().getName() + " is not a permitted record.");
  }

  @Override
  MethodHandle reader() {
    return MethodHandles.insertArguments(
            method(OneOfBinding.class, "read", Object.class, Plan[].class, ObjectReader.class),
            0,
            (Object) plans)
        .asType(MethodType.methodType(type, ObjectReader.class));
  }

  static @Nullable Object read(Plan[] plans, ObjectReader in) {
    int n = number(in, plans.length);
    return n == 0 ? null : plans[n - 1].read(in);
  }

  /** Reads the number of a record plus 1, or 0 for null. */
  static int number(ObjectReader in, int count) {
    int n = in.getCount();
    if (n < 0 || n > count) {
      throw new IllegalArgumentException("No permitted record has the number " + (n - 1) + ".");
    }
    return n;
  }

  @Override
  Decoder decoder(Shape file) {
    OneOf stored = (OneOf) inner(file);
    Decoder[] decoders = new Decoder[stored.records().size()];
    for (int i = 0; i < decoders.length; i++) {
      String name = stored.records().get(i).name().replaceFirst("^0", "");
      decoders[i] =
          in -> {
            throw EnumBinding.newer(type, name);
          };
    }
    for (Permitted p : all) {
      int i = OneOf.find(p.component, stored);
      if (i >= 0) {
        decoders[i] = p.of.partsDecoder((Composite) stored.records().get(i).shape());
      }
    }
    return in -> {
      int n = number(in, decoders.length);
      return n == 0 ? null : decoders[n - 1].read(in);
    };
  }

  @Override
  @Nullable Object initial(String text) {
    if (!text.isEmpty()) {
      throw new IllegalArgumentException("A record can only be null.");
    }
    return null;
  }
}
