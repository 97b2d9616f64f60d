package io.fovea.object;

import io.fovea.schema.Id;
import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Composite;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The stored form of the records of a class and of their keys. Created once per class. Safe for use
 * by any thread.
 */
public final class ObjectCodec {
  private final Class<?> type;
  private final MethodHandles.@Nullable Lookup lookup;
  private final Map<Class<?>, TypeCodec> codecs;
  private final KeyBinding key;
  private final RecordBinding value;
  private final Plan keys;
  private final Plan values;
  private final @Nullable Plan id;

  private ObjectCodec(
      Class<?> type,
      MethodHandles.@Nullable Lookup lookup,
      Map<Class<?>, TypeCodec> codecs,
      KeyBinding key,
      RecordBinding value,
      @Nullable MethodHandle id) {
    this.type = type;
    this.lookup = lookup;
    this.codecs = codecs;
    this.key = key;
    this.value = value;
    this.keys = PlanTemplate.of(key.writer(), key.reader());
    this.values = PlanTemplate.of(value.partsWriter(), value.partsReader());
    // A plan needs a reader, but this one is never called.
    this.id =
        id == null
            ? null
            : PlanTemplate.of(
                MethodHandles.filterArguments(key.writer(), 1, asKey(id, key.type())),
                key.reader());
  }

  private ObjectCodec(ObjectCodec of, RecordBinding value) {
    this.type = of.type;
    this.lookup = of.lookup;
    this.codecs = of.codecs;
    this.key = of.key;
    this.value = value;
    this.keys = of.keys;
    this.values = of.values; // converters apply to other shapes only
    this.id = of.id;
  }

  /**
   * Returns this codec with a converter of a component.
   *
   * @param path its name, after those of the enclosing records, separated by dots
   * @throws IllegalArgumentException if there is no such component, or it can't have the converter
   */
  public ObjectCodec converting(String path, Class<?> from, Function<Object, @Nullable Object> by) {
    Bindings bindings = new Bindings(lookup, codecs);
    String where = type.getSimpleName() + '.' + path;
    RecordBinding changed =
        value.with(List.of(path.split("\\.", -1)), p -> bindings.converting(p, where, from, by));
    if (changed == null) {
      throw Bindings.wrong(where, "does not exist");
    }
    return new ObjectCodec(this, changed);
  }

  private static MethodHandle asKey(MethodHandle id, Class<?> key) {
    return id.asType(id.type().changeReturnType(key));
  }

  /**
   * Creates the codec of a class.
   *
   * @param lookup a lookup with access to the classes; null for none
   * @param codecs the codecs of the application
   * @throws IllegalArgumentException if the records can't be stored; the message names the
   *     component
   */
  public static ObjectCodec of(
      Class<?> keyType,
      Class<?> type,
      MethodHandles.@Nullable Lookup lookup,
      Map<Class<?>, TypeCodec> codecs) {
    Bindings bindings = new Bindings(lookup, codecs);
    RecordComponent id = id(type);
    Class<?> boxed = MethodType.methodType(keyType).wrap().returnType();
    if (id != null && MethodType.methodType(id.getType()).wrap().returnType() != boxed) {
      throw new IllegalArgumentException(
          type.getSimpleName()
              + '.'
              + id.getName()
              + " is the @Id and of "
              + id.getType().getName()
              + "; the keys are of "
              + keyType.getName()
              + '.');
    }
    KeyBinding key = KeyBinding.of(bindings.of(boxed, "The key"), "The key");
    RecordBinding value = bindings.record(type, id);
    MethodHandle accessor =
        id == null
            ? null
            : value.parts().stream()
                .filter(p -> p.of() == null)
                .map(RecordBinding.Part::accessor)
                .findFirst()
                .orElseThrow();
    return new ObjectCodec(type, lookup, codecs, key, value, accessor);
  }

  private static @Nullable RecordComponent id(Class<?> type) {
    RecordComponent found = null;
    RecordComponent[] all = type.getRecordComponents();
    for (RecordComponent c : all == null ? new RecordComponent[0] : all) {
      if (c.isAnnotationPresent(Id.class)) {
        if (found != null) {
          throw new IllegalArgumentException(
              type.getName()
                  + " has two components with @Id. Use a record for a key of several parts.");
        }
        found = c;
      }
    }
    return found;
  }

  public Shape keyShape() {
    return key.shape();
  }

  public Composite shape() {
    return (Composite) value.shape;
  }

  /**
   * Returns the form of the keys of a class for lookups in an index by components.
   *
   * @throws IllegalArgumentException if the byte order of the class is undefined
   */
  public EntryKey entryKey(Class<?> keys) {
    Class<?> boxed = MethodType.methodType(keys).wrap().returnType();
    return EntryKey.of(new Bindings(lookup, codecs).of(boxed, "The key of the index"));
  }

  /**
   * Returns the components of an index that is declared on a path: the path itself, or the
   * components of the record there.
   *
   * @throws IllegalArgumentException if the component does not exist or its byte order is undefined
   */
  public List<String> components(String path) {
    for (RecordBinding.Part p : value.parts()) {
      if (p.of() == null && path.equals(p.component().name())) {
        throw new IllegalArgumentException(
            type.getSimpleName()
                + '.'
                + path
                + " is the @Id, by which the table is sorted without an index.");
      }
    }
    return ObjectEntries.components(shape(), path);
  }

  /** Returns whether records contain their keys. */
  public boolean hasId() {
    return id != null;
  }

  public void writeKey(ObjectWriter out, Object of) {
    keys.write(out, Objects.requireNonNull(of, "key"));
  }

  /**
   * Returns the common prefix of all keys that extend the last part of a key, text or bytes: the
   * key without its terminator.
   */
  public byte[] prefixOfKeys(byte[] key) {
    return Arrays.copyOf(key, key.length - KeyParts.endBytes(keyShape()));
  }

  public void writeKeyOf(ObjectWriter out, Object object) {
    Plan plan = id;
    if (plan == null) {
      throw noId();
    }
    plan.write(out, Objects.requireNonNull(object, "value"));
  }

  private IllegalStateException noId() {
    return new IllegalStateException(
        "No component of " + type.getName() + " has @Id: pass the key as well.");
  }

  public Object readKey(ObjectReader in) {
    return Objects.requireNonNull(keys.read(in));
  }

  public void write(ObjectWriter out, Object object) {
    values.write(out, Objects.requireNonNull(object, "value"));
  }

  /** Reads a record of the current shape. */
  public Object read(ObjectReader in) {
    return Objects.requireNonNull(values.read(in));
  }

  /**
   * Returns a reader of records with another shape, which {@link Shapes} has accepted; of a newer
   * class, with the names that components have in this one.
   */
  public Reading reading(Shape file) {
    return value.partsDecoder((Composite) file)::read;
  }

  /** Returns a copy of some of the components of objects with a shape. */
  public static Copying copying(Composite shape, boolean[] which) {
    Decoder[] skips =
        shape.components().stream().map(c -> Skip.over(c.shape())).toArray(Decoder[]::new);
    return (in, out) -> {
      for (int i = 0; i < skips.length; i++) {
        int from = in.take(0);
        skips[i].read(in);
        if (which[i]) {
          out.put(in.array(), from, in.take(0) - from);
        }
      }
    };
  }

  /** Copies components of an object that is read from its first component on. */
  @FunctionalInterface
  public interface Copying {
    void copy(ObjectReader in, ObjectWriter out);
  }

  @FunctionalInterface
  public interface Reading {
    Object read(ObjectReader in);
  }
}
