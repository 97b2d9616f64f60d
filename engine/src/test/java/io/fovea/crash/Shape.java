package io.fovea.crash;

import io.fovea.crash.State.Kind;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.Layout;
import io.fovea.schema.Step;
import io.fovea.schema.TableSpec;
import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The layout of a table's rows at one of its versions. The versions cover each kind of step: fields
 * are added, dropped, added again under the same name, renamed, and widened.
 */
final class Shape {
  static final int NEWEST = 7;

  /** The default of {@code extra} in older rows, from some versions on. */
  private static final long SECOND = 1002;

  private static final long FIFTH = -1005;
  private static final long SEVENTH = 1L << 40;

  private static final Step[][] STEPS = {
    {Step.add("extra", SECOND)},
    {Step.rename("a", "b"), Step.widen("text")},
    {Step.drop("extra")},
    {Step.widen("b"), Step.add("extra", FIFTH)},
    {Step.rename("b", "a"), Step.widen("pad")},
    {Step.drop("extra"), Step.add("extra", SEVENTH)},
  };

  private static final Map<Integer, Shape> ALL = new ConcurrentHashMap<>();

  final Layout layout;
  final Field a;
  final Field text;
  final Field unique;
  final Field pad;
  final @Nullable Field extra;
  private final int version;

  private Shape(Kind kind, int version) {
    this.version = version;
    Layout.Definition b = Layout.define();
    String name = version < 3 || version > 5 ? "a" : "b";
    a = version < 5 ? b.int32(name) : b.int64(name);
    // Fields of variable length are added to rows of fixed length, and to rows that have such
    // fields.
    boolean varies = kind == Kind.VARIABLE;
    int width = version < 3 ? 20 : 27;
    text = varies && version >= 3 ? b.varText("text", width) : b.text("text", width);
    int most = kind.padBytes + (version < 6 ? 0 : 5);
    pad = varies || version >= 6 ? b.varBytes("pad", most) : b.bytes("pad", most);
    unique = b.int64("unique");
    extra = version == 1 || version == 4 ? null : b.int64("extra");
    layout = b.build();
  }

  static Shape of(Kind kind, int version) {
    return ALL.computeIfAbsent(100 * kind.ordinal() + version, n -> new Shape(kind, version));
  }

  /** Returns whether the step to a version changes the order of an index on the first field. */
  static boolean rebuildsByA(int version) {
    return version == 5;
  }

  /** Returns the value of the newest field in a row of the previous version after the evolution. */
  static long extraAfter(int version, long before) {
    return switch (version) {
      case 2 -> SECOND;
      case 4 -> 0;
      case 5 -> FIFTH;
      case 7 -> SEVENTH;
      default -> before;
    };
  }

  /** Returns an index; a trailing character marks a renamed one. */
  private IndexSpec index(String name) {
    return switch (State.originally(name)) {
      case "by_text" -> IndexSpec.on(name, text);
      case "by_a" -> IndexSpec.on(name, a, State.NAME);
      case "by_unique" -> IndexSpec.unique(name, unique);
      case "expires" -> IndexSpec.on(name, unique);
      default -> throw new IllegalArgumentException(name);
    };
  }

  TableSpec spec(String name, Collection<String> indexes) {
    TableSpec.Builder b = TableSpec.builder(name, State.KEY_SPEC, layout);
    for (int v = 2; v <= version; v++) {
      b.version(v, Objects.requireNonNull(STEPS[v - 2]));
    }
    indexes.forEach(index -> b.index(index(index)));
    return b.build();
  }
}
