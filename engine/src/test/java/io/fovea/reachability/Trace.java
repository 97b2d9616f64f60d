package io.fovea.reachability;

import io.fovea.reachability.DynamicCalls.Site;
import java.lang.foreign.AddressLayout;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The arguments of dynamic calls, as metadata. {@link TracingLoader} shares this class with its
 * parent. Any thread may record; results are read when all of them have ended.
 */
public final class Trace {
  private static final Trace TRACE = new Trace();

  /** A class with the members that are accessed once another class has been reached. */
  private record Entry(String condition, String type) implements Comparable<Entry> {
    @Override
    public int compareTo(Entry other) {
      int c = type.compareTo(other.type);
      return c != 0 ? c : condition.compareTo(other.condition);
    }
  }

  private static final class Members {
    final Set<String> fields = new TreeSet<>();
    final Set<String> methods = new TreeSet<>();
  }

  private final Set<Site> reached = new TreeSet<>();
  private final Set<Site> definesClasses = new TreeSet<>();
  private final Set<Site> ofUsers = new TreeSet<>();
  private final Map<String, Map<Entry, Members>> reflection = new TreeMap<>();
  private final Map<String, Set<String>> resources = new TreeMap<>();
  private final Map<String, Set<String>> downcalls = new TreeMap<>();
  private final Set<String> unknown = new TreeSet<>();

  private Trace() {}

  /** Called by woven code before a call. */
  public static void record(
      String type, String method, int number, String callee, @Nullable Object[] operands) {
    Site site = new Site(type, method, number, callee);
    synchronized (TRACE) {
      try {
        TRACE.add(site, operands);
        TRACE.reached.add(site);
      } catch (RuntimeException e) {
        TRACE.unknown.add(site + ": " + e.getMessage());
      }
    }
  }

  /** Returns the calls that were recorded. */
  static Set<Site> reached() {
    return TRACE.reached;
  }

  /** Returns the calls that define classes, which native-image does not support at run time. */
  static Set<String> callersThatDefineClasses() {
    return callers(TRACE.definesClasses);
  }

  /** Returns the calls that access classes of the user, who has to register these. */
  static Set<String> callersThatReflectUserClasses() {
    return callers(TRACE.ofUsers);
  }

  /** Returns the calls whose arguments have no form as metadata. */
  static Set<String> unknown() {
    return TRACE.unknown;
  }

  private static Set<String> callers(Set<Site> sites) {
    return sites.stream().map(Site::caller).collect(Collectors.toCollection(TreeSet::new));
  }

  private void add(Site site, @Nullable Object[] operands) {
    switch (site.callee()) {
      case "MethodHandles.Lookup.findVarHandle", "MethodHandles.Lookup.findGetter" ->
          field(site, (Class<?>) at(operands, 1), at(operands, 2));
      case "MethodHandles.Lookup.findVirtual", "MethodHandles.Lookup.findStatic" ->
          method(
              site,
              (Class<?>) at(operands, 1),
              (String) at(operands, 2),
              ((MethodType) at(operands, 3)).parameterList());
      case "MethodHandles.Lookup.findConstructor" ->
          method(
              site,
              (Class<?>) at(operands, 1),
              "<init>",
              ((MethodType) at(operands, 2)).parameterList());
      case "MethodHandles.Lookup.unreflect" -> method(site, (Method) at(operands, 1));
      case "MethodHandles.Lookup.unreflectConstructor" -> {
        Constructor<?> c = (Constructor<?>) at(operands, 1);
        method(site, c.getDeclaringClass(), "<init>", List.of(c.getParameterTypes()));
      }
      case "Method.invoke" -> method(site, (Method) at(operands, 0));
      case "RecordComponent.getAccessor" ->
          method(site, ((RecordComponent) at(operands, 0)).getAccessor());
      case "Class.getRecordComponents" -> members(site, (Class<?>) at(operands, 0));
      case "Class.getPermittedSubclasses" -> members(site, (Class<?>) at(operands, 0));
      case "Class.getEnumConstants" ->
          method(site, (Class<?>) at(operands, 0), "values", List.of());
      case "Class.getDeclaredConstructor" ->
          method(site, (Class<?>) at(operands, 0), "<init>", List.of((Class<?>[]) at(operands, 1)));
      case "Class.getResourceAsStream" ->
          resources
              .computeIfAbsent(artifact(site), x -> new TreeSet<>())
              .add(
                  ((Class<?>) at(operands, 0)).getPackageName().replace('.', '/')
                      + '/'
                      + at(operands, 1));
      case "MethodHandles.Lookup.defineHiddenClassWithClassData" -> definesClasses.add(site);
      case "Linker.downcallHandle" -> downcall(site, operands);
      case "Binding.method" -> {} // passes its arguments to a lookup, which is traced
      default -> throw new IllegalArgumentException("Trace can't describe this call.");
    }
  }

  private static Object at(@Nullable Object[] operands, int i) {
    Object o = operands[i];
    if (o == null) {
      throw new IllegalArgumentException("Operand " + i + " is null.");
    }
    return o;
  }

  // -------------------------------------------------------------------------------- reflection

  private static String artifact(Site site) {
    return site.type().startsWith("io/fovea/bindings/") ? "fovea-bindings" : "fovea-engine";
  }

  /** Returns the members of a class that are registered, or null for a class of a user. */
  private @Nullable Members members(Site site, Class<?> type) {
    if (type.getPackageName().equals(Trace.class.getPackageName())) {
      ofUsers.add(site);
      return null;
    }
    if (type.isHidden()) {
      return null; // it exists only where classes can be defined
    }
    return reflection
        .computeIfAbsent(artifact(site), x -> new TreeMap<>())
        .computeIfAbsent(new Entry(site.className(), type.getTypeName()), x -> new Members());
  }

  private void field(Site site, Class<?> type, Object name) {
    Members members = members(site, type);
    if (members != null) {
      members.fields.add("{ \"name\": \"" + name + "\" }");
    }
  }

  private void method(Site site, Method method) {
    method(site, method.getDeclaringClass(), method.getName(), List.of(method.getParameterTypes()));
  }

  private void method(Site site, Class<?> type, String name, List<Class<?>> parameters) {
    Members members = members(site, type);
    if (members != null) {
      members.methods.add(
          "{ \"name\": \""
              + name
              + "\", \"parameterTypes\": "
              + list(parameters.stream().map(p -> '"' + p.getTypeName() + '"'))
              + " }");
    }
  }

  // ------------------------------------------------------------------------------------- foreign

  private void downcall(Site site, @Nullable Object[] operands) {
    FunctionDescriptor function = null;
    Linker.Option[] options = {};
    for (Object o : operands) {
      if (o instanceof FunctionDescriptor f) {
        function = f;
      } else if (o instanceof Linker.Option[] all) {
        options = all;
      }
    }
    if (function == null) {
      throw new IllegalArgumentException("There is no function descriptor.");
    }
    int arity = function.argumentLayouts().size();
    String described =
        Arrays.stream(options)
            .map(o -> option(o, arity))
            .sorted()
            .collect(Collectors.joining(", "));
    downcalls
        .computeIfAbsent(artifact(site), x -> new TreeSet<>())
        .add( // GraalVM 25 rejects a condition here
            "{ \"returnType\": \""
                + function.returnLayout().map(Trace::layout).orElse("void")
                + "\", \"parameterTypes\": "
                + list(function.argumentLayouts().stream().map(l -> '"' + layout(l) + '"'))
                + (described.isEmpty() ? "" : ", \"options\": { " + described + " }")
                + " }");
  }

  private static String option(Linker.Option option, int arity) {
    if (option.equals(Linker.Option.captureCallState("errno"))) {
      return "\"captureCallState\": true";
    }
    for (boolean heap : new boolean[] {true, false}) {
      if (option.equals(Linker.Option.critical(heap))) {
        return "\"critical\": { \"allowHeapAccess\": " + heap + " }";
      }
    }
    for (int i = 0; i <= arity; i++) {
      if (option.equals(Linker.Option.firstVariadicArg(i))) {
        return "\"firstVariadicArg\": " + i;
      }
    }
    throw new IllegalArgumentException("Trace can't describe the linker option " + option + ".");
  }

  /** Returns the name of a canonical layout that has one size on all platforms. */
  private static String layout(MemoryLayout layout) {
    return switch (layout) {
      case ValueLayout.OfInt l -> "jint";
      case ValueLayout.OfLong l -> "jlong";
      case ValueLayout.OfShort l -> "jshort";
      case ValueLayout.OfByte l -> "jbyte";
      case ValueLayout.OfDouble l -> "jdouble";
      case AddressLayout l -> "void*";
      default ->
          throw new IllegalArgumentException("Trace can't describe the layout " + layout + ".");
    };
  }

  // ---------------------------------------------------------------------------------------- text

  private static String list(Stream<String> elements) {
    String all = elements.collect(Collectors.joining(", "));
    return all.isEmpty() ? "[]" : "[ " + all + " ]";
  }

  /** Returns the metadata of an artifact, one entry per line. */
  static String metadata(String artifact) {
    Map<String, List<String>> sections = new TreeMap<>();
    sections.put(
        "reflection",
        TRACE.reflection.getOrDefault(artifact, Map.of()).entrySet().stream()
            .map(e -> entry(e.getKey(), e.getValue()))
            .toList());
    sections.put(
        "resources",
        TRACE.resources.getOrDefault(artifact, Set.of()).stream()
            .map(r -> "{ \"glob\": \"" + r + "\" }")
            .toList());
    String foreign = block(TRACE.downcalls.getOrDefault(artifact, Set.of()), "      ");
    return Stream.concat(
            sections.entrySet().stream()
                .filter(s -> !s.getValue().isEmpty())
                .map(s -> "  \"" + s.getKey() + "\": " + block(s.getValue(), "    ")),
            TRACE.downcalls.containsKey(artifact)
                ? Stream.of("  \"foreign\": {\n    \"downcalls\": " + foreign + "\n  }")
                : Stream.empty())
        .collect(Collectors.joining(",\n", "{\n", "\n}\n"));
  }

  private static String block(java.util.Collection<String> lines, String indent) {
    return lines.stream()
        .map(l -> indent + l)
        .collect(Collectors.joining(",\n", "[\n", "\n" + indent.substring(2) + "]"));
  }

  private static String entry(Entry entry, Members members) {
    return "{ \"condition\": { \"typeReached\": \""
        + entry.condition
        + "\" }, \"type\": \""
        + entry.type
        + '"'
        + (members.fields.isEmpty() ? "" : ", \"fields\": " + list(members.fields.stream()))
        + (members.methods.isEmpty() ? "" : ", \"methods\": " + list(members.methods.stream()))
        + " }";
  }
}
