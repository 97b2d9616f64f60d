package io.fovea.object;

import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Collected;
import io.fovea.schema.Shape.Component;
import io.fovea.schema.Shape.Composite;
import io.fovea.schema.Shape.Enumeration;
import io.fovea.schema.Shape.Mapping;
import io.fovea.schema.Shape.Maybe;
import io.fovea.schema.Shape.OneOf;
import io.fovea.schema.Shape.Scalar;
import io.fovea.schema.Shape.Sequence;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Skips stored values that are no longer needed. */
final class Skip {
  private Skip() {}

  /** Returns a decoder that skips a value of a shape and returns null. */
  static Decoder over(Shape shape) {
    return switch (shape) {
      case Scalar s -> over(s);
      case Enumeration e ->
          in -> {
            in.getCount();
            return null;
          };
      case Maybe m -> {
        Decoder inside = over(m.of());
        yield Binding.lacksPresenceByte(m.of())
            ? in -> in.getBoolean() ? inside.read(in) : null
            : inside;
      }
      case Sequence s -> elements(List.of(over(s.of())));
      case Collected c -> elements(List.of(over(c.of())));
      case Mapping m -> elements(List.of(over(m.key()), over(m.value())));
      case Composite c -> {
        Decoder inside = parts(c);
        yield in -> in.getBoolean() ? inside.read(in) : null;
      }
      case OneOf o -> {
        List<Decoder> records =
            o.records().stream().map(r -> parts((Composite) r.shape())).toList();
        yield in -> {
          int n = OneOfBinding.number(in, records.size());
          return n == 0 ? null : records.get(n - 1).read(in);
        };
      }
    };
  }

  private static Decoder parts(Composite shape) {
    List<Decoder> all = shape.components().stream().map(Component::shape).map(Skip::over).toList();
    return in -> {
      for (Decoder each : all) {
        each.read(in);
      }
      return null;
    };
  }

  private static Decoder elements(List<Decoder> each) {
    return in -> {
      for (int n = in.getSize(); n > 0; n--) {
        for (Decoder one : each) {
          one.read(in);
        }
      }
      return null;
    };
  }

  private static Decoder over(Scalar scalar) {
    return switch (scalar) {
      case BOOLEAN, INT8 -> fixed(1);
      case INT16, CHAR -> fixed(2);
      case INT32, FLOAT32 -> fixed(4);
      case INT64, FLOAT64 -> fixed(8);
      case TEXT, BYTES, INTEGER -> Skip::counted;
      case DECIMAL ->
          in -> {
            if (in.getBoolean()) {
              in.take(4);
              counted(in);
            }
            return null;
          };
      case UUID, DATETIME -> ifPresent(16);
      case INSTANT, DURATION -> ifPresent(12);
      case DATE, TIME -> ifPresent(8);
    };
  }

  private static Decoder fixed(int bytes) {
    return in -> {
      in.take(bytes);
      return null;
    };
  }

  private static Decoder ifPresent(int bytes) {
    return in -> {
      if (in.getBoolean()) {
        in.take(bytes);
      }
      return null;
    };
  }

  private static @Nullable Object counted(ObjectReader in) {
    in.take(Math.max(0, in.getCount() - 1));
    return null;
  }
}
