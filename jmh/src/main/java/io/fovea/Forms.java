package io.fovea;

import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Id;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Measures each operation in every form of a table: rows, rows of variable length, byte strings
 * with and without an index, and objects. Prints the table of the guide.
 *
 * <pre>
 *   java -cp jmh/target/benchmarks.jar io.fovea.Forms [ROUNDS [JVMS]]
 * </pre>
 *
 * <p>The same {@value #RECORDS} records in each form, with a text and three numbers, in memory; one
 * thread, transactions of {@value #BATCH} operations. Rows: key and row are reused, and all fields
 * are read; in rows of variable length, the text is last and has variable length. Bytes: arrays are
 * passed in and returned; an extractor creates the index entries. Objects: a new one per record. A
 * round is a piece of {@value InTurn#PIECE_MILLIS} ms of each form in turn. Prints medians over
 * rounds and JVMs: nanoseconds, and in brackets the ratio to rows in the same round.
 */
public final class Forms {
  // All operations are written here in all forms, next to each other.

  static final int RECORDS = 100_000;
  static final int BATCH = 100;
  private static final int FORMS = 5;
  private static final int STEP = 79_199;
  private static final int ROUNDS = 80;
  private static final int JVMS = 3;

  /** The operations. */
  enum Operation {
    GET("`get`"),
    EXISTS("`exists`"),
    GET_ALL("`getAll`, a key"),
    PUT("`put` of an existing record"),
    INSERT_DELETE("`insert`, and `delete` later"),
    SCAN("`scan`, a record"),
    FLOOR("`floor`"),
    INDEX_GET("`get` by a unique index"),
    INDEX_SCAN("`scan` of an index, a record");

    final String shown;

    Operation(String shown) {
      this.shown = shown;
    }
  }

  private Forms() {}

  /** Runs the benchmark. */
  public static void main(String[] args) throws IOException, InterruptedException {
    int rounds = args.length > 0 ? Integer.parseInt(args[0]) : ROUNDS;
    int jvms = args.length > 1 ? Integer.parseInt(args[1]) : JVMS;
    if (jvms == 0) {
      measure(rounds).forEach(Forms::print);
      return;
    }
    Map<Operation, List<InTurn.Medians>> all = new EnumMap<>(Operation.class);
    for (int i = 0; i < jvms; i++) {
      inOwnJvm(rounds, all);
    }
    Markdown.head("operation", "rows", "with a varText", "bytes", "with an index", "objects");
    for (Map.Entry<Operation, List<InTurn.Medians>> e : all.entrySet()) {
      String[] cells = InTurn.Medians.of(e.getValue()).cells();
      int last = cells.length - 1;
      // One form of bytes has no index.
      String bytes = last < FORMS - 1 ? "" : cells[2];
      Markdown.line(e.getKey().shown, cells[0], cells[1], bytes, cells[last - 1], cells[last]);
    }
  }

  /** Prints one operation: its name, and nanoseconds and ratios of the forms that have it. */
  private static void print(Operation operation, InTurn.Medians m) {
    StringBuilder line = new StringBuilder(operation.name());
    for (int i = 0; i < m.nanos().length; i++) {
      line.append(' ').append(m.nanos()[i]).append(' ').append(m.ratios()[i]);
    }
    System.out.println(line);
  }

  private static void inOwnJvm(int rounds, Map<Operation, List<InTurn.Medians>> all)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx1g",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Forms.class.getName(),
                String.valueOf(rounds),
                "0")
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (BufferedReader lines = process.inputReader()) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] words = line.split(" ");
        int n = words.length / 2;
        double[] nanos = new double[n];
        double[] ratios = new double[n];
        for (int i = 0; i < n; i++) {
          nanos[i] = Double.parseDouble(words[1 + 2 * i]);
          ratios[i] = Double.parseDouble(words[2 + 2 * i]);
        }
        all.computeIfAbsent(Operation.valueOf(words[0]), o -> new ArrayList<>())
            .add(new InTurn.Medians(nanos, ratios, ratios, ratios));
      }
    }
    if (process.waitFor() != 0) {
      throw new IOException("A child JVM failed; its output is above.");
    }
  }

  static Map<Operation, InTurn.Medians> measure(int rounds) {
    Map<Operation, InTurn.Medians> found = new EnumMap<>(Operation.class);
    try (Database db = Database.inMemory(Options.defaults())) {
      List<Form> forms =
          List.of(
              new Rows(db),
              new VariableRows(db),
              new Bytes(db, false),
              new Bytes(db, true),
              new Objects(db));
      for (Form form : forms) {
        for (long from = 0; from < RECORDS; from += BATCH) {
          long first = from;
          db.run(
              tx -> {
                for (long id = first; id < first + BATCH; id++) {
                  form.insert(tx, id);
                }
              });
        }
      }
      for (Operation operation : Operation.values()) {
        List<InTurn.Piece> pieces = new ArrayList<>();
        for (Form form : forms) {
          Work<Long, RuntimeException> work = form.work(operation);
          if (work != null) {
            pieces.add(nanos -> run(db, work, nanos));
          }
        }
        found.put(operation, InTurn.run(rounds, pieces));
      }
    }
    return found;
  }

  private static double run(Database db, Work<Long, RuntimeException> work, long nanos) {
    long began = System.nanoTime();
    long now = began;
    long done = 0;
    long sum = 0;
    while (now - began < nanos) {
      sum += db.call(work);
      done += BATCH;
      now = System.nanoTime();
    }
    if (sum == 0) {
      throw new IllegalStateException("An operation found no record.");
    }
    return (double) (now - began) / done;
  }

  /** The stored record. */
  public record Item(@Id long id, String name, long price, int count, long weight) {
    static Item of(long id) {
      return new Item(id, "item number " + id % 100, id * 3, (int) id, id / 2);
    }

    long sum() {
      return name.length() + price + count + weight;
    }
  }

  /** A form of the table. */
  private abstract static class Form {
    private long at;

    final long next() {
      at = (at + STEP) % RECORDS;
      return at;
    }

    /**
     * Returns the work of {@link #BATCH} operations; null if the form does not have the operation.
     */
    @Nullable Work<Long, RuntimeException> work(Operation operation) {
      return switch (operation) {
        case GET -> tx -> times(tx, this::get);
        case EXISTS -> tx -> times(tx, this::exists);
        case GET_ALL -> this::getAll;
        case PUT -> tx -> times(tx, this::put);
        case INSERT_DELETE -> tx -> times(tx, this::insertOrDelete);
        case SCAN -> tx -> scan(tx, next());
        case FLOOR -> tx -> times(tx, this::floor);
        case INDEX_GET -> tx -> times(tx, this::indexGet);
        case INDEX_SCAN -> tx -> indexScan(tx, next());
      };
    }

    /** One operation. */
    interface One {
      long on(Transaction tx, long id);
    }

    private long times(Transaction tx, One one) {
      long sum = 0;
      for (int i = 0; i < BATCH; i++) {
        sum += one.on(tx, next());
      }
      return sum;
    }

    /** Records above the loaded ones are inserted and deleted. */
    private long insertOrDelete(Transaction tx, long id) {
      long other = RECORDS + id;
      if (!delete(tx, other)) {
        insert(tx, other);
      }
      return 1;
    }

    abstract long get(Transaction tx, long id);

    abstract long exists(Transaction tx, long id);

    abstract long getAll(Transaction tx);

    abstract long put(Transaction tx, long id);

    abstract void insert(Transaction tx, long id);

    abstract boolean delete(Transaction tx, long id);

    abstract long scan(Transaction tx, long from);

    abstract long floor(Transaction tx, long id);

    abstract long indexGet(Transaction tx, long id);

    abstract long indexScan(Transaction tx, long from);
  }

  private static final class Rows extends AnyRows {
    private static final Layout.Definition LAYOUT = Layout.define();
    private static final Field NAME = LAYOUT.text("name", 24);
    private static final Field PRICE = LAYOUT.int64("price");
    private static final Field COUNT = LAYOUT.int32("count");
    private static final Field WEIGHT = LAYOUT.int64("weight");

    Rows(Database db) {
      super(
          db.table(
              TableSpec.of("rows", KeySpec.of(FieldType.INT64), LAYOUT.build())
                  .with(IndexSpec.unique("by_price", PRICE))));
    }

    @Override
    long sum(Row r) {
      return r.length(NAME) + r.getLong(PRICE) + r.getInt(COUNT) + r.getLong(WEIGHT);
    }

    @Override
    Row fill(Row row, long id) {
      return row.clear()
          .setText(NAME, "item number " + id % 100)
          .setLong(PRICE, id * 3)
          .setInt(COUNT, (int) id)
          .setLong(WEIGHT, id / 2);
    }
  }

  /**
   * Rows of variable length: the text takes only its length. Each class has its own constants for
   * fields.
   */
  private static final class VariableRows extends AnyRows {
    private static final Layout.Definition LAYOUT = Layout.define();
    private static final Field PRICE = LAYOUT.int64("price");
    private static final Field COUNT = LAYOUT.int32("count");
    private static final Field WEIGHT = LAYOUT.int64("weight");
    private static final Field NAME = LAYOUT.varText("name", 200);

    VariableRows(Database db) {
      super(
          db.table(
              TableSpec.of("variable", KeySpec.of(FieldType.INT64), LAYOUT.build())
                  .with(IndexSpec.unique("by_price", PRICE))));
    }

    @Override
    long sum(Row r) {
      return r.length(NAME) + r.getLong(PRICE) + r.getInt(COUNT) + r.getLong(WEIGHT);
    }

    @Override
    Row fill(Row row, long id) {
      return row.clear()
          .setText(NAME, "item number " + id % 100)
          .setLong(PRICE, id * 3)
          .setInt(COUNT, (int) id)
          .setLong(WEIGHT, id / 2);
    }
  }

  private abstract static class AnyRows extends Form {
    private final RowTable table;
    private final RowIndex byPrice;
    private final Key key;
    private final Key price;
    private final Row row;
    private final Batch batch;

    AnyRows(RowTable table) {
      this.table = table;
      byPrice = table.index("by_price");
      key = table.key();
      price = byPrice.key();
      row = table.row();
      batch = table.batch(BATCH);
    }

    abstract long sum(Row r);

    abstract Row fill(Row r, long id);

    @Override
    long get(Transaction tx, long id) {
      return table.get(tx, key.set(id), row) ? sum(row) : 0;
    }

    @Override
    long exists(Transaction tx, long id) {
      return table.exists(tx, key.set(id)) ? 1 : 0;
    }

    @Override
    long getAll(Transaction tx) {
      batch.clear();
      for (int i = 0; i < BATCH; i++) {
        batch.add().set(next());
      }
      table.getAll(tx, batch);
      long sum = 0;
      for (int i = 0; i < BATCH; i++) {
        sum += sum(batch.row(i));
      }
      return sum;
    }

    @Override
    long put(Transaction tx, long id) {
      table.put(tx, key.set(id), fill(row, id));
      return 1;
    }

    @Override
    void insert(Transaction tx, long id) {
      table.insert(tx, key.set(id), fill(row, id));
    }

    @Override
    boolean delete(Transaction tx, long id) {
      return table.delete(tx, key.set(id));
    }

    @Override
    long scan(Transaction tx, long from) {
      return sum(table.scan(tx, Range.atLeast(key.set(from)), ScanOrder.ASCENDING));
    }

    private long sum(RowCursor rows) {
      long sum = 0;
      try (rows) {
        for (int i = 0; i < BATCH && rows.next(); i++) {
          sum += sum(rows.row());
        }
      }
      return sum;
    }

    @Override
    long floor(Transaction tx, long id) {
      return table.floor(tx, key.set(id), row) ? sum(row) : 0;
    }

    @Override
    long indexGet(Transaction tx, long id) {
      return byPrice.get(tx, price.set(id * 3), row) ? sum(row) : 0;
    }

    @Override
    long indexScan(Transaction tx, long from) {
      return sum(byPrice.scan(tx, Range.atLeast(price.set(from * 3)), ScanOrder.ASCENDING));
    }
  }

  private static final class Bytes extends Form {
    private final Table<byte[], byte[]> table;

    /** Null for the form without an index. */
    private final @Nullable Index<Key, byte[], byte[]> byPrice;

    private final @Nullable Key price;

    Bytes(Database db, boolean indexed) {
      TableSpec spec = TableSpec.bytes(indexed ? "indexed" : "bytes", Long.BYTES);
      if (indexed) {
        spec =
            spec.with(
                IndexSpec.bytes(
                    "by_price",
                    KeySpec.of(FieldType.INT64),
                    true,
                    (key, value, entry) -> {
                      entry.int64(ByteBuffer.wrap(value).getLong());
                      return true;
                    }));
      }
      table = db.table(spec).bytes();
      byPrice = indexed ? table.index("by_price", Key.class) : null;
      price = byPrice == null ? null : byPrice.key();
    }

    @Override
    @Nullable Work<Long, RuntimeException> work(Operation operation) {
      return switch (operation) {
        case INDEX_GET, INDEX_SCAN -> byPrice == null ? null : super.work(operation);
        default -> super.work(operation);
      };
    }

    private static byte[] key(long id) {
      return ByteBuffer.allocate(Long.BYTES).putLong(id).array();
    }

    private static byte[] value(long id) {
      byte[] name = ("item number " + id % 100).getBytes(StandardCharsets.UTF_8);
      return ByteBuffer.allocate(24 + name.length)
          .putLong(id * 3)
          .putInt((int) id)
          .putLong(id / 2)
          .putInt(name.length)
          .put(name)
          .array();
    }

    private static long sum(byte @Nullable [] value) {
      if (value == null) {
        return 0;
      }
      ByteBuffer in = ByteBuffer.wrap(value);
      return in.getLong() + in.getInt() + in.getLong() + in.getInt();
    }

    @Override
    long get(Transaction tx, long id) {
      return sum(table.get(tx, key(id)));
    }

    @Override
    long exists(Transaction tx, long id) {
      return table.exists(tx, key(id)) ? 1 : 0;
    }

    @Override
    long getAll(Transaction tx) {
      List<byte[]> keys = new ArrayList<>(BATCH);
      for (int i = 0; i < BATCH; i++) {
        keys.add(key(next()));
      }
      long sum = 0;
      for (byte[] value : table.getAll(tx, keys)) {
        sum += sum(value);
      }
      return sum;
    }

    @Override
    long put(Transaction tx, long id) {
      table.put(tx, key(id), value(id));
      return 1;
    }

    @Override
    void insert(Transaction tx, long id) {
      table.insert(tx, key(id), value(id));
    }

    @Override
    boolean delete(Transaction tx, long id) {
      return table.delete(tx, key(id));
    }

    @Override
    long scan(Transaction tx, long from) {
      long sum = 0;
      try (Cursor<byte[], byte[]> records = table.scan(tx, key(from), null, ScanOrder.ASCENDING)) {
        for (int i = 0; i < BATCH && records.next(); i++) {
          sum += sum(records.value());
        }
      }
      return sum;
    }

    @Override
    long floor(Transaction tx, long id) {
      Map.Entry<byte[], byte[]> e = table.floor(tx, key(id));
      return e == null ? 0 : sum(e.getValue());
    }

    @Override
    long indexGet(Transaction tx, long id) {
      Map.Entry<byte[], byte[]> e = index().get(tx, price(id));
      return e == null ? 0 : sum(e.getValue());
    }

    @Override
    long indexScan(Transaction tx, long from) {
      long sum = 0;
      Range range = Range.atLeast(price(from));
      try (IndexCursor<Key, byte[], byte[]> records =
          index().scan(tx, range, ScanOrder.ASCENDING)) {
        for (int i = 0; i < BATCH && records.next(); i++) {
          sum += sum(records.value());
        }
      }
      return sum;
    }

    private Index<Key, byte[], byte[]> index() {
      return java.util.Objects.requireNonNull(byPrice, "by_price");
    }

    private Key price(long id) {
      return java.util.Objects.requireNonNull(price, "price").set(id * 3);
    }
  }

  private static final class Objects extends Form {
    private static final ObjectSpec<Long, Item> SPEC =
        ObjectSpec.of("objects", Long.class, Item.class).unique("by_price", "price");

    private final Table<Long, Item> table;
    private final Index<Long, Long, Item> byPrice;

    Objects(Database db) {
      table = db.table(SPEC);
      byPrice = table.index("by_price", Long.class);
    }

    private static long sum(@Nullable Item item) {
      return item == null ? 0 : item.sum();
    }

    @Override
    long get(Transaction tx, long id) {
      return sum(table.get(tx, id));
    }

    @Override
    long exists(Transaction tx, long id) {
      return table.exists(tx, id) ? 1 : 0;
    }

    @Override
    long getAll(Transaction tx) {
      List<Long> keys = new ArrayList<>(BATCH);
      for (int i = 0; i < BATCH; i++) {
        keys.add(next());
      }
      long sum = 0;
      for (Item item : table.getAll(tx, keys)) {
        sum += sum(item);
      }
      return sum;
    }

    @Override
    long put(Transaction tx, long id) {
      table.put(tx, Item.of(id));
      return 1;
    }

    @Override
    void insert(Transaction tx, long id) {
      table.insert(tx, Item.of(id));
    }

    @Override
    boolean delete(Transaction tx, long id) {
      return table.delete(tx, id);
    }

    @Override
    long scan(Transaction tx, long from) {
      long sum = 0;
      try (Cursor<Long, Item> items = table.scan(tx, from, null, ScanOrder.ASCENDING)) {
        for (int i = 0; i < BATCH && items.next(); i++) {
          sum += items.value().sum();
        }
      }
      return sum;
    }

    @Override
    long floor(Transaction tx, long id) {
      Map.Entry<Long, Item> e = table.floor(tx, id);
      return e == null ? 0 : e.getValue().sum();
    }

    @Override
    long indexGet(Transaction tx, long id) {
      Map.Entry<Long, Item> e = byPrice.get(tx, id * 3);
      return e == null ? 0 : e.getValue().sum();
    }

    @Override
    long indexScan(Transaction tx, long from) {
      long sum = 0;
      try (IndexCursor<Long, Long, Item> items =
          byPrice.scan(tx, from * 3, null, ScanOrder.ASCENDING)) {
        for (int i = 0; i < BATCH && items.next(); i++) {
          sum += items.value().sum();
        }
      }
      return sum;
    }
  }
}
