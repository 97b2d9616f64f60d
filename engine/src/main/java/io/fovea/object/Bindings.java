package io.fovea.object;

import io.fovea.schema.Converted;
import io.fovea.schema.Dropped;
import io.fovea.schema.Formerly;
import io.fovea.schema.Id;
import io.fovea.schema.Initial;
import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Component;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Constructor;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Determines the stored form of Java types. Confined to one thread. */
final class Bindings {
  /** A method handle takes 255 arguments; a long or a double counts twice. */
  private static final int COMPONENTS_MAX = 120;

  private final MethodHandles.@Nullable Lookup lookup;
  private final Map<Class<?>, TypeCodec> codecs;
  private final Map<Type, Binding> known = new HashMap<>();
  private final Deque<Type> open = new ArrayDeque<>();

  /**
   * Creates an instance.
   *
   * @param lookup a lookup with access to classes that are not open to this module; null for none
   * @param codecs the codecs of the application
   */
  Bindings(MethodHandles.@Nullable Lookup lookup, Map<Class<?>, TypeCodec> codecs) {
    this.lookup = lookup;
    this.codecs = codecs;
  }

  /** Returns the stored form of a type. */
  Binding of(Type type, String where) {
    return of(type, where, Map.of());
  }

  private Binding of(Type type, String where, Map<TypeVariable<?>, Type> variables) {
    if (type instanceof TypeVariable<?> v && variables.containsKey(v)) {
      return of(variables.get(v), where, Map.of());
    }
    Type full = type instanceof ParameterizedType p ? Generic.of(p, variables) : type;
    Binding binding = known.get(full);
    if (binding == null) {
      if (open.size() >= Shapes.DEPTH_MAX) {
        throw wrong(where, "is nested in more than " + Shapes.DEPTH_MAX + " records");
      }
      binding = make(full, where);
      known.put(full, binding);
    }
    return binding;
  }

  private Binding make(Type type, String where) {
    if (type instanceof ParameterizedType p && p.getRawType() instanceof Class<?> raw) {
      Type[] arguments = p.getActualTypeArguments();
      if (raw == Optional.class) {
        Binding inside = of(arguments[0], where);
        if (inside instanceof OptionalBinding) {
          throw wrong(where, "is an Optional of an Optional");
        }
        return new OptionalBinding(inside);
      }
      if (raw == List.class) {
        return CollectionBinding.list(of(arguments[0], where + "[]"));
      }
      if (raw == Set.class) {
        return CollectionBinding.set(of(arguments[0], where + "[]"));
      }
      if (raw == Map.class) {
        return CollectionBinding.map(
            of(arguments[0], where + "[key]"), of(arguments[1], where + "[]"));
      }
      if (raw.isRecord()) {
        Map<TypeVariable<?>, Type> variables = new HashMap<>();
        for (int i = 0; i < arguments.length; i++) {
          variables.put(raw.getTypeParameters()[i], arguments[i]);
        }
        return record(raw, type, where, variables, null);
      }
    }
    if (type instanceof Class<?> c) {
      Binding scalar = ScalarBinding.of(c);
      if (scalar != null) {
        return scalar;
      }
      TypeCodec codec = codecs.get(c);
      if (codec != null) {
        return coded(c, codec, where);
      }
      codec = TypeCodec.BUILT_IN.get(c);
      if (codec != null) {
        Bindings own = new Bindings(null, Map.of()); // the lookup has no access to this package
        return new CodedBinding(c, codec, own.of(codec.stored(), where));
      }
      if (c.isEnum()) {
        return new EnumBinding(c);
      }
      if (c.isRecord() && c.getTypeParameters().length == 0) {
        return record(c, c, where, Map.of(), null);
      }
      if (c.isSealed() && c.isInterface()) {
        return oneOf(c, where);
      }
    }
    throw wrong(
        where,
        "is of "
            + type.getTypeName()
            + ", which can't be stored. Supported types are primitives, their wrapper classes, "
            + "String, byte[],"
            + " BigInteger, BigDecimal, UUID, URI, Instant, Duration, LocalDate, LocalTime,"
            + " LocalDateTime, OffsetDateTime, ZonedDateTime, enums, records, sealed interfaces of"
            + " records, types with a codec in TypeCodecs, and Optional, List, Set and Map of"
            + " these");
  }

  private Binding coded(Class<?> type, TypeCodec codec, String where) {
    requireNotOpen(type, type, where);
    open.push(type);
    try {
      return new CodedBinding(type, codec, of(codec.stored(), where));
    } finally {
      open.pop();
    }
  }

  private Binding oneOf(Class<?> type, String where) {
    requireNotOpen(type, type, where);
    open.push(type);
    try {
      Map<String, OneOfBinding.Permitted> all = new LinkedHashMap<>();
      collect(type, where, all);
      return new OneOfBinding(type, List.copyOf(all.values()));
    } finally {
      open.pop();
    }
  }

  /** Adds the records that a sealed interface permits, and those of the interfaces in between. */
  private void collect(Class<?> type, String where, Map<String, OneOfBinding.Permitted> all) {
    for (Class<?> c : type.getPermittedSubclasses()) {
      if (c.isSealed() && c.isInterface()) {
        collect(c, where, all);
        continue;
      }
      if (!c.isRecord() || c.getTypeParameters().length > 0) {
        throw wrong(where, "permits " + c.getName() + ", which is not a record without parameters");
      }
      String name = c.getSimpleName();
      if (all.containsKey(name) && all.get(name).of().type != c) {
        throw wrong(where, "permits two records with the simple name " + name);
      }
      RecordBinding of = record(c, c, where + '.' + name, Map.of(), null);
      Formerly formerly = c.getAnnotation(Formerly.class);
      List<String> names = formerly == null ? List.of() : List.of(formerly.value());
      all.put(name, new OneOfBinding.Permitted(new Component(name, of.shape, names, null), of));
    }
  }

  private void requireNotOpen(Class<?> type, Type full, String where) {
    if (open.contains(full)) {
      throw wrong(where, "is a " + type.getName() + ", which contains itself");
    }
  }

  /** Returns the stored form of a record class that is the value of a table. */
  RecordBinding record(Class<?> type, @Nullable RecordComponent key) {
    if (!type.isRecord()) {
      throw new IllegalArgumentException(type.getName() + " is not a record class.");
    }
    if (type.getTypeParameters().length > 0) {
      throw new IllegalArgumentException(type.getName() + " has type parameters.");
    }
    return record(type, type, type.getSimpleName(), Map.of(), key);
  }

  private RecordBinding record(
      Class<?> type,
      Type full,
      String where,
      Map<TypeVariable<?>, Type> variables,
      @Nullable RecordComponent key) {
    requireNotOpen(type, full, where);
    open.push(full);
    try {
      RecordComponent[] components = type.getRecordComponents();
      if (components.length > COMPONENTS_MAX) {
        throw wrong(where, "has more than " + COMPONENTS_MAX + " components");
      }
      List<RecordBinding.Part> parts = new ArrayList<>();
      for (RecordComponent c : components) {
        boolean isKey = key != null && c.getName().equals(key.getName());
        String name = where + '.' + c.getName();
        if (c.isAnnotationPresent(Id.class) && !isKey) {
          throw wrong(name, "has @Id, which only components of a table's record may have");
        }
        Binding of = isKey ? null : of(c.getGenericType(), name, variables);
        parts.add(part(c, name, of));
      }
      Dropped dropped = type.getAnnotation(Dropped.class);
      return new RecordBinding(
          type, parts, constructor(type), dropped == null ? Set.of() : Set.of(dropped.value()));
    } finally {
      open.pop();
    }
  }

  private RecordBinding.Part part(RecordComponent c, String where, @Nullable Binding of) {
    MethodHandle accessor = accessor(c);
    Converted[] converted = c.getAnnotationsByType(Converted.class);
    if (of != null) { // the accessor of a generic record returns Object
      accessor = accessor.asType(accessor.type().changeReturnType(of.type));
    }
    Formerly formerly = c.getAnnotation(Formerly.class);
    List<String> names = formerly == null ? List.of() : List.of(formerly.value());
    if (of == null) {
      if (converted.length > 0) {
        throw keyCannotChange(where);
      }
      Shape none = Shape.Scalar.BOOLEAN;
      Component key = new Component(c.getName(), none);
      return new RecordBinding.Part(key, accessor, null, null, List.of());
    }
    Initial initial = c.getAnnotation(Initial.class);
    Object value = ScalarBinding.zero(of.type); // for objects of newer classes
    if (initial != null || of.hasInitial()) {
      try {
        value = of.initial(initial == null ? "" : initial.value());
      } catch (RuntimeException e) {
        throw new IllegalArgumentException(
            "@Initial of component "
                + where
                + " is not a value of "
                + of.shape
                + ": "
                + e.getMessage(),
            e);
      }
    }
    String text = initial != null ? initial.value() : of.hasInitial() ? "" : null;
    Component component = new Component(c.getName(), of.shape, names, text);
    RecordBinding.Part part = new RecordBinding.Part(component, accessor, of, value, List.of());
    for (Converted each : converted) {
      part = converting(part, where, each.from(), function(each.by(), where));
    }
    return part;
  }

  // -------------------------------------------------------------------------------- type changes

  /** Adds a converter to a component. */
  RecordBinding.Part converting(
      RecordBinding.Part part, String where, Class<?> from, Function<Object, @Nullable Object> by) {
    Binding of = part.of();
    if (of == null) {
      throw keyCannotChange(where);
    }
    Binding earlier = of(from, where + " before its conversion");
    if (earlier.shape.equals(of.shape)) {
      throw wrong(
          where,
          "is converted from "
              + from.getName()
              + ", which is stored like its current type, so values of both can't be distinguished");
    }
    if (part.component().converted().contains(earlier.shape)) {
      throw wrong(where, "has two converters from " + earlier.shape);
    }
    boolean nullable = !Binding.lacksPresenceByte(earlier.shape);
    if (of.type.isPrimitive() && nullable && !part.component().hasInitial()) {
      throw wrong(
          where,
          "is converted from "
              + from.getName()
              + ", which can be null, and needs an @Initial that replaces null");
    }
    return part.with(new Conversion(where, earlier, by));
  }

  static IllegalArgumentException keyCannotChange(String where) {
    return wrong(
        where,
        "has a converter, but the key of a table can't change: copy the records into a new table");
  }

  @SuppressWarnings("unchecked") // a converter that rejects the value fails when it is called
  private Function<Object, @Nullable Object> function(
      Class<? extends Function<?, ?>> by, String where) {
    try {
      Constructor<?> c = by.getDeclaredConstructor();
      MethodHandle make =
          lookup != null ? lookup.unreflectConstructor(c) : opened(c, by).unreflectConstructor(c);
      return (Function<Object, @Nullable Object>) make.invoke();
    } catch (NoSuchMethodException e) {
      throw wrong(
          where,
          "is converted by "
              + by.getName()
              + ", which needs a constructor without parameters: make it a static or top-level"
              + " class, or call ObjectSpec.convert");
    } catch (IllegalAccessException e) {
      throw closed(by, e);
    } catch (Throwable e) {
      throw Throwables.rethrow(e);
    }
  }

  // ---------------------------------------------------------------------------------------- access

  private MethodHandle accessor(RecordComponent c) {
    Method m = c.getAccessor();
    try {
      return lookup != null ? lookup.unreflect(m) : opened(m, c.getDeclaringRecord()).unreflect(m);
    } catch (IllegalAccessException e) {
      throw closed(c.getDeclaringRecord(), e);
    }
  }

  private MethodHandle constructor(Class<?> type) {
    Class<?>[] types =
        Arrays.stream(type.getRecordComponents())
            .map(RecordComponent::getType)
            .toArray(Class<?>[]::new);
    try {
      Constructor<?> c = type.getDeclaredConstructor(types);
      return lookup != null
          ? lookup.unreflectConstructor(c)
          : opened(c, type).unreflectConstructor(c);
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException(e);
    } catch (IllegalAccessException e) {
      throw closed(type, e);
    }
  }

  private static MethodHandles.Lookup opened(AccessibleObject member, Class<?> type) {
    try {
      member.setAccessible(true);
    } catch (InaccessibleObjectException e) {
      throw closed(type, e);
    }
    return MethodHandles.lookup();
  }

  private static IllegalArgumentException closed(Class<?> type, Exception cause) {
    return new IllegalArgumentException(
        "The components of "
            + type.getName()
            + " can't be accessed: open its package to module io.fovea.engine, or pass"
            + " MethodHandles.lookup() of that package.",
        cause);
  }

  static IllegalArgumentException wrong(String where, String what) {
    return new IllegalArgumentException(where + ' ' + what + '.');
  }

  /** A generic type with its arguments, equal to any other with the same class and arguments. */
  private record Generic(Class<?> raw, List<Type> arguments) implements ParameterizedType {
    static Generic of(ParameterizedType type, Map<TypeVariable<?>, Type> variables) {
      List<Type> arguments = new ArrayList<>();
      for (Type a : type.getActualTypeArguments()) {
        Type known = a instanceof TypeVariable<?> v ? variables.getOrDefault(v, a) : a;
        arguments.add(known instanceof ParameterizedType p ? of(p, variables) : known);
      }
      return new Generic((Class<?>) type.getRawType(), arguments);
    }

    @Override
    public Type[] getActualTypeArguments() {
      return arguments.toArray(Type[]::new);
    }

    @Override
    public Type getRawType() {
      return raw;
    }

    @Override
    public @Nullable Type getOwnerType() {
      return raw.getDeclaringClass();
    }

    @Override
    public String getTypeName() {
      return raw.getTypeName()
          + arguments.stream().map(Type::getTypeName).collect(Collectors.joining(", ", "<", ">"));
    }
  }
}
