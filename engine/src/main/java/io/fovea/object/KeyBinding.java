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

/**
 * The stored form of keys: the {@link KeyParts} in sequence, with a record's parts in component
 * order.
 *
 * @param type the class of the key
 * @param shape its shape in the file
 * @param writer a handle that takes a writer and a key
 * @param reader a handle that takes a reader and returns a key
 */
record KeyBinding(Class<?> type, Shape shape, MethodHandle writer, MethodHandle reader) {
  static KeyBinding of(Binding binding, String where) {
    return switch (binding) {
      case ScalarBinding s when s.isOrdered() -> {
        MethodHandle write = s.keyWriter();
        MethodHandle read = s.keyReader();
        yield new KeyBinding(
            s.type,
            Binding.inner(s.shape),
            write.asType(MethodType.methodType(void.class, ObjectWriter.class, s.type)),
            read.asType(MethodType.methodType(s.type, ObjectReader.class)));
      }
      case EnumBinding e -> new KeyBinding(e.type, e.shape, e.keyWriter(), e.keyReader());
      case RecordBinding r -> ofRecord(r, where);
      case CodedBinding c when c.isOrdered() -> {
        KeyBinding stored = of(c.of(), where);
        yield new KeyBinding(
            c.type,
            stored.shape,
            MethodHandles.filterArguments(stored.writer, 1, c.keyEncoder()),
            MethodHandles.filterReturnValue(stored.reader, c.factory()));
      }
      case CodedBinding c ->
          throw Bindings.wrong(
              where,
              "is a " + c.type.getName() + ", whose order is undefined, so it can't be in a key");
      default ->
          throw Bindings.wrong(
              where,
              "is " + binding.shape + ", which has no ordered encoding, so no key can contain it");
    };
  }

  private static KeyBinding ofRecord(RecordBinding r, String where) {
    List<Component> components = new ArrayList<>();
    MethodHandle write =
        MethodHandles.empty(MethodType.methodType(void.class, ObjectWriter.class, r.type));
    MethodHandle read =
        MethodHandles.dropArguments(r.constructor(), r.parts().size(), ObjectReader.class);
    for (int i = r.parts().size() - 1; i >= 0; i--) {
      RecordBinding.Part p = r.parts().get(i);
      Component c = p.component();
      if (!p.conversions().isEmpty()) {
        throw Bindings.keyCannotChange(where + '.' + c.name());
      }
      KeyBinding part = of(Objects.requireNonNull(p.of()), where + '.' + c.name());
      components.addFirst(new Component(c.name(), part.shape));
      write =
          MethodHandles.foldArguments(
              write, MethodHandles.filterArguments(part.writer, 1, p.accessor()));
      read = MethodHandles.foldArguments(read, i, part.reader);
    }
    if (components.isEmpty()) {
      throw Bindings.wrong(where, "is a record without components, which can't be a key");
    }
    return new KeyBinding(r.type, new Composite(components, Set.of()), write, read);
  }
}
