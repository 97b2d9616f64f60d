package io.fovea.object;

import io.fovea.error.IncompatibleSchemaException;
import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Enumeration;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Enum constants, stored as a count: the ordinal plus 1, or 0 for null. */
final class EnumBinding extends Binding {
  private final Enum<?>[] constants;

  EnumBinding(Class<?> type) {
    super(type, shape(type));
    this.constants = constants(type);
  }

  private static Enum<?>[] constants(Class<?> type) {
    Object[] all = type.getEnumConstants();
    return Arrays.copyOf(all, all.length, Enum[].class);
  }

  private static Shape shape(Class<?> type) {
    return new Enumeration(Arrays.stream(constants(type)).map(Enum::name).toList());
  }

  @Override
  MethodHandle writer() {
    return method(EnumBinding.class, "write", void.class, ObjectWriter.class, Enum.class)
        .asType(MethodType.methodType(void.class, ObjectWriter.class, type));
  }

  @Override
  MethodHandle reader() {
    MethodHandle read =
        method(EnumBinding.class, "read", Enum.class, Enum[].class, ObjectReader.class);
    return MethodHandles.insertArguments(read, 0, (Object) constants)
        .asType(MethodType.methodType(type, ObjectReader.class));
  }

  static void write(ObjectWriter out, @Nullable Enum<?> value) {
    out.putCount(value == null ? 0 : value.ordinal() + 1);
  }

  static @Nullable Enum<?> read(@Nullable Enum<?>[] constants, ObjectReader in) {
    int n = in.getCount();
    if (n < 0 || n > constants.length) {
      throw new IllegalArgumentException("No constant has the number " + (n - 1) + ".");
    }
    return n == 0 ? null : constants[n - 1];
  }

  @Override
  Decoder decoder(Shape file) {
    List<String> names = ((Enumeration) inner(file)).constants();
    @Nullable Enum<?>[] now = new Enum<?>[names.size()];
    for (int i = 0; i < now.length; i++) {
      now[i] = find(names.get(i)); // null: of a newer class
    }
    return in -> {
      int from = in.take(0);
      Enum<?> constant = read(now, in);
      if (constant == null && in.array()[from] != 0) {
        in.seek(from);
        throw newer(type, names.get(in.getCount() - 1));
      }
      return constant;
    };
  }

  static IncompatibleSchemaException newer(Class<?> type, String name) {
    return new IncompatibleSchemaException(
        "An object contains "
            + name
            + ", which a newer version of the class has written, and which is not in "
            + type.getName()
            + ". Read it with the newer version.");
  }

  private @Nullable Enum<?> find(String name) {
    for (Enum<?> c : constants) {
      if (c.name().equals(name)) {
        return c;
      }
    }
    return null;
  }

  private Enum<?> constant(String name) {
    Enum<?> found = find(name);
    if (found == null) {
      throw new IllegalArgumentException(type.getName() + " has no constant " + name + ".");
    }
    return found;
  }

  @Override
  @Nullable Object initial(String text) {
    return text.isEmpty() ? null : constant(text);
  }

  MethodHandle keyWriter() {
    return method(KeyParts.class, "putEnum", void.class, ObjectWriter.class, Enum.class)
        .asType(MethodType.methodType(void.class, ObjectWriter.class, type));
  }

  MethodHandle keyReader() {
    MethodHandle read =
        method(KeyParts.class, "getEnum", Object.class, Object[].class, ObjectReader.class);
    return MethodHandles.insertArguments(read, 0, (Object) constants)
        .asType(MethodType.methodType(type, ObjectReader.class));
  }
}
