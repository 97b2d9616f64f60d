package io.fovea;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.SequenceSpec;
import io.fovea.schema.Step;
import io.fovea.schema.TableSpec;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Calls every public method of the exported packages with wrong arguments (null, too small, too
 * large, of another database, closed) and checks that each throws what is documented: an exception
 * of {@code io.fovea.error}, an {@link IllegalArgumentException}, an {@link
 * IndexOutOfBoundsException} for an offset, or a {@link NullPointerException} for null. None of
 * them may damage the database.
 *
 * <p>{@code -Dmisuse.seed=N} selects other combinations, {@code -Dmisuse.calls=N} more calls per
 * method.
 */
@Tag("slow")
class BadArgumentsTest {
  private static final long SEED = Long.getLong("misuse.seed", 1);
  private static final int CALLS = Integer.getInteger("misuse.calls", 6);

  /** Objects are replaced after this many classes, since calls close or change them. */
  private static final int FRESH = 6;

  /** A call that waits longer is interrupted. */
  private static final long WAIT_MILLIS = 300;

  /** Methods that would end what other calls need, or that applications do not call. */
  private static final Set<String> SKIPPED =
      Set.of("wait", "notify", "notifyAll", "getClass", "clone", "finalize");

  @TempDir Path dir;

  private final Random random = new Random(SEED);
  private final Map<Class<?>, List<@Nullable Object>> pool = new LinkedHashMap<>();
  private final Map<String, String> wrong = new TreeMap<>();
  private int calls;

  @Test
  void throwsWhatIsDocumented() throws Exception {
    ExecutorService worker = Executors.newCachedThreadPool(Thread.ofPlatform().daemon().factory());
    try {
      int n = 0;
      for (Class<?> type : exported()) {
        if (n++ % FRESH == 0) {
          end();
          fill();
        }
        for (Constructor<?> c : type.getConstructors()) {
          if (!Modifier.isAbstract(type.getModifiers())) {
            call(worker, type, c);
          }
        }
        for (Method m : type.getMethods()) {
          if (!SKIPPED.contains(m.getName()) && m.getDeclaringClass() != Object.class) {
            call(worker, type, m);
          }
        }
      }
      end();
    } finally {
      worker.shutdownNow();
    }
    assertTrue(calls > 5_000, calls + " calls");
    assertTrue(
        wrong.isEmpty(), () -> "-Dmisuse.seed=" + SEED + ":\n" + String.join("\n", wrong.values()));
  }

  private static List<Class<?>> exported() throws IOException, ClassNotFoundException {
    List<Class<?>> all = new ArrayList<>();
    for (String room : List.of("", "config/", "schema/")) {
      Path folder = Path.of("target/classes/io/fovea/" + room);
      try (Stream<Path> files = Files.list(folder)) {
        for (Path f : files.sorted().toList()) {
          String name = f.getFileName().toString();
          if (name.endsWith(".class") && !name.contains("-info")) {
            String of = "io.fovea." + room.replace('/', '.') + name.replace(".class", "");
            Class<?> c = Class.forName(of);
            if (isPublic(c) && !c.isInterface()) {
              all.add(c);
            }
          }
        }
      }
    }
    return all;
  }

  private static boolean isPublic(@Nullable Class<?> c) {
    return c == null || Modifier.isPublic(c.getModifiers()) && isPublic(c.getEnclosingClass());
  }

  private void call(ExecutorService worker, Class<?> type, Executable what) throws Exception {
    List<@Nullable Object> receivers = List.of("none");
    boolean instance = what instanceof Method && !Modifier.isStatic(what.getModifiers());
    if (instance) {
      receivers = pool.getOrDefault(type, List.of()).stream().filter(o -> o != null).toList();
    }
    int most = what.getParameterCount() == 0 ? 1 : CALLS;
    for (Object receiver : receivers) {
      for (int i = 0; i < most; i++) {
        Object[] arguments = new Object[what.getParameterCount()];
        for (int p = 0; p < arguments.length; p++) {
          List<@Nullable Object> of = values(what.getParameterTypes()[p]);
          arguments[p] = of.get(random.nextInt(of.size()));
        }
        one(worker, type, what, receiver, arguments);
      }
    }
  }

  private void one(
      ExecutorService worker,
      Class<?> type,
      Executable what,
      @Nullable Object receiver,
      Object[] arguments)
      throws Exception {
    calls++;
    what.setAccessible(true);
    Future<Object> done =
        worker.submit(
            () ->
                what instanceof Method m
                    ? m.invoke(receiver, arguments)
                    : ((Constructor<?>) what).newInstance(arguments));
    try {
      Object made = done.get(WAIT_MILLIS, TimeUnit.MILLISECONDS);
      if (made instanceof AutoCloseable open
          && !pool.getOrDefault(made.getClass(), List.of()).contains(made)) {
        worker.submit(() -> close(open)).get(WAIT_MILLIS, TimeUnit.MILLISECONDS);
      }
    } catch (TimeoutException e) {
      done.cancel(true);
    } catch (ExecutionException e) {
      Throwable t =
          e.getCause() instanceof InvocationTargetException i ? i.getCause() : e.getCause();
      if (!isDocumented(t, what, arguments)) {
        StackTraceElement[] s = t.getStackTrace();
        wrong.putIfAbsent(
            type.getSimpleName() + "." + what.getName() + t.getClass(),
            type.getSimpleName()
                + "."
                + what.getName()
                + shown(arguments)
                + ": "
                + t
                + " at "
                + Arrays.stream(s)
                    .filter(x -> x.getClassName().startsWith("io.fovea"))
                    .limit(3)
                    .toList());
      }
    }
  }

  /** Whether an argument is null, contains nulls or is a callback that returns null. */
  private static boolean hasNull(@Nullable Object o) {
    return o == null
        || Proxy.isProxyClass(o.getClass())
        || o instanceof Collection<?>
        || o instanceof Iterator<?>
        || o instanceof Object[];
  }

  private static @Nullable Void close(AutoCloseable it) throws Exception {
    it.close();
    return null;
  }

  private static String shown(Object[] arguments) {
    List<String> all = new ArrayList<>();
    for (Object o : arguments) {
      String s =
          o instanceof byte[] b ? b.length + " bytes" : "" + (o == null ? null : o.toString());
      all.add(s.substring(0, Math.min(40, s.length())));
    }
    return all.toString();
  }

  private static boolean isDocumented(Throwable t, Executable what, Object[] arguments) {
    if (t instanceof NullPointerException) {
      return Arrays.stream(arguments).anyMatch(BadArgumentsTest::hasNull);
    }
    if (t instanceof ClassCastException || t instanceof ArrayStoreException) {
      // Type rules that the compiler enforces but reflection does not.
      return Arrays.stream(what.getParameterTypes())
          .anyMatch(
              p ->
                  p == Object.class
                      || Map.class.isAssignableFrom(p)
                      || Iterable.class.isAssignableFrom(p)
                      || p == Iterator.class);
    }
    if (t instanceof CorruptionException) {
      return false;
    }
    return t instanceof FoveaException
        || t instanceof IllegalArgumentException
        || t instanceof IndexOutOfBoundsException
        || t instanceof UnsupportedOperationException
        || t instanceof NoSuchElementException
        || t instanceof UncheckedIOException
        || t instanceof IllegalStateException && !"Already closed".equals(t.getMessage());
  }

  private List<@Nullable Object> values(Class<?> type) {
    List<@Nullable Object> of = new ArrayList<>();
    if (!type.isPrimitive()) {
      of.add(null);
    }
    pool.forEach(
        (c, all) -> {
          if (type.isAssignableFrom(c) && type != Object.class) {
            of.addAll(all);
          }
        });
    if (type == int.class || type == Integer.class) {
      of.addAll(List.of(-1, 0, 1, 7, Integer.MAX_VALUE, Integer.MIN_VALUE));
    } else if (type == long.class || type == Long.class) {
      of.addAll(List.of(-1L, 0L, 1L, 1L << 40, Long.MAX_VALUE, Long.MIN_VALUE));
    } else if (type == double.class) {
      of.addAll(List.of(-1.0, 0.0, 0.5, Double.NaN, Double.POSITIVE_INFINITY));
    } else if (type == float.class) {
      of.addAll(List.of(-1f, Float.NaN));
    } else if (type == boolean.class || type == Boolean.class) {
      of.addAll(List.of(true, false));
    } else if (type == short.class) {
      of.addAll(List.of((short) -1, (short) 1));
    } else if (type == byte.class) {
      of.addAll(List.of((byte) -1, (byte) 1));
    } else if (type == char.class) {
      of.add('x');
    } else if (type.isEnum()) {
      of.addAll(Arrays.asList(type.getEnumConstants()));
    } else if (type == Object.class) {
      of.addAll(List.of("text", 1, 1L, new byte[3]));
    } else if (type == Class.class) {
      of.addAll(List.of(Long.class, String.class, Object.class, int.class, Thread.class));
    } else if (type.isArray()) {
      of.add(java.lang.reflect.Array.newInstance(type.getComponentType(), 0));
      of.add(java.lang.reflect.Array.newInstance(type.getComponentType(), 2));
    } else if (type.isInterface() && type.getPackageName().startsWith("java.util.function")
        || type.isAnnotationPresent(FunctionalInterface.class)) {
      of.add(
          Proxy.newProxyInstance(
              BadArgumentsTest.class.getClassLoader(),
              new Class<?>[] {type},
              (p, m, a) -> m.getReturnType() == boolean.class ? false : primitive(m)));
    } else if (type.isAssignableFrom(List.class)) {
      of.add(List.of());
      of.add(Arrays.asList("text", null));
      of.add(Arrays.asList(new byte[3], null));
    } else if (type == Iterator.class) {
      of.add(Arrays.asList("text", null).iterator());
    } else if (type == Map.class) {
      of.add(Map.of("a", "b"));
    }
    if (of.isEmpty()) {
      of.add(null);
    }
    return of;
  }

  private static @Nullable Object primitive(Method m) {
    Class<?> r = m.getReturnType();
    return r == int.class ? (Object) 0 : r == long.class ? (Object) 0L : null;
  }

  record Thing(@io.fovea.schema.Id long id, String name) {}

  private final List<AutoCloseable> open = new ArrayList<>();

  private void add(Object... all) {
    for (Object o : all) {
      pool.computeIfAbsent(o.getClass(), k -> new ArrayList<>()).add(o);
    }
  }

  private static Options options() {
    return Options.defaults()
        .bufferBytes(2 << 20)
        .memory(mem -> mem.timestampBytes(1 << 20))
        .log(log -> log.changeRetentionBytes(1 << 20))
        .transactions(
            txs -> txs.maxActive(8).timeout(Duration.ofMillis(200)).closeTimeout(Duration.ZERO));
  }

  private void fill() throws IOException {
    pool.clear();
    for (int i = 0; i < 3; i++) {
      Database db =
          i == 0
              ? Database.open(Files.createTempDirectory(dir, "db").resolve("file"), options())
              : Database.inMemory(options());
      Layout.Definition layout = Layout.define();
      Field number = layout.int64("number");
      Field text = layout.text("text", 20 + i);
      Field decimal = layout.decimal("amount", 10, 2);
      Layout made = layout.build();
      TableSpec spec =
          TableSpec.of("rows" + i, KeySpec.of(FieldType.INT32), made)
              .with(IndexSpec.on("by_number", number));
      TableSpec byteSpec = TableSpec.bytes("bytes" + i, 16);
      RowTable rows = db.table(spec);
      Table<byte[], byte[]> bytes = db.table(byteSpec).bytes();
      Table<Long, Thing> things = db.table(ObjectSpec.of("things", Long.class, Thing.class));
      Sequence sequence = db.sequence("s" + i);
      db.run(
          tx -> {
            rows.insert(tx, rows.key().set(1), rows.row().setLong(number, 3));
            bytes.put(tx, new byte[] {1}, new byte[] {2});
            things.put(tx, new Thing(1, "x"));
          });
      ChangePosition from = i == 0 ? db.changesPosition() : null;
      Transaction tx = db.begin();
      Key key = rows.key().set(1);
      Row row = rows.row();
      RowCursor cursor = rows.scan(tx, Range.all(), ScanOrder.ASCENDING);
      Cursor<byte[], byte[]> byteCursor = bytes.scan(tx, null, null, ScanOrder.ASCENDING);
      if (i == 0) {
        Changes changes = db.changes(from);
        add(
            from,
            changes,
            SequenceSpec.of("spec"),
            Step.add("more", 1L),
            KeySpec.of(FieldType.INT64));
        add(db.stats(), layout, TxOptions.defaults(), LoadOptions.defaults(), options());
        add(MemoryOptions.defaults(), LogOptions.defaults(), TransactionOptions.defaults());
        add(SnapshotOptions.defaults(), ExpiryOptions.defaults(), BackupOptions.defaults());
        add(CompactOptions.defaults(), DeviceOptions.defaults(), Restore.from(dir.resolve("none")));
      }
      add(
          db,
          rows,
          bytes.table(),
          bytes,
          things,
          sequence,
          tx,
          key,
          row,
          cursor,
          byteCursor,
          rows.index("by_number"));
      add(number, text, decimal, made, spec, byteSpec, IndexSpec.on("other", text), rows.key());
      add(rows.batch(2), things.asMap(), Range.all(), Projection.of(made, number));
      if (i == 2) {
        db.close();
      } else {
        open.add(db);
      }
    }
    add("", "text", "x".repeat(70_000), "\0", "rows0", "by_number", "s0");
    add(new byte[0], new byte[] {1}, new byte[70_000]);
    add(Duration.ZERO, Duration.ofMillis(5), Duration.ofNanos(-1));
    add(Instant.MIN, Instant.MAX, Instant.EPOCH, new UUID(0, 0), BigDecimal.TEN.pow(40));
    add(dir.resolve("nothing"));
    Arena arena = Arena.ofAuto();
    pool.put(
        MemorySegment.class,
        new ArrayList<>(
            List.of(
                MemorySegment.NULL,
                arena.allocate(1),
                arena.allocate(100_000),
                arena.allocate(8).asReadOnly(),
                MemorySegment.ofArray(new byte[3]))));
    pool.put(InputStream.class, new ArrayList<>(List.of(new ByteArrayInputStream(new byte[3]))));
    pool.put(OutputStream.class, new ArrayList<>(List.of(OutputStream.nullOutputStream())));
    Collection<byte[]> none = Arrays.asList(new byte[0], null);
    pool.put(Collection.class, new ArrayList<>(List.of(none)));
  }

  private void end() throws Exception {
    for (AutoCloseable o : open) {
      o.close();
    }
    open.clear();
  }
}
