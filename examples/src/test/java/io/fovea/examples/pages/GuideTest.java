package io.fovea.examples.pages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.BackupOptions;
import io.fovea.BackupPosition;
import io.fovea.BackupReport;
import io.fovea.Batch;
import io.fovea.BufferShare;
import io.fovea.Change;
import io.fovea.ChangeBatch;
import io.fovea.ChangePosition;
import io.fovea.Changes;
import io.fovea.Codec;
import io.fovea.CommitHandle;
import io.fovea.CompactOptions;
import io.fovea.CompactReport;
import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.DatabaseStats;
import io.fovea.Estimate;
import io.fovea.FileReport;
import io.fovea.Index;
import io.fovea.IndexCursor;
import io.fovea.Key;
import io.fovea.KeyCodec;
import io.fovea.LoadOptions;
import io.fovea.LoadReport;
import io.fovea.ObjectSpec;
import io.fovea.Options;
import io.fovea.Page;
import io.fovea.Projection;
import io.fovea.Range;
import io.fovea.Restore;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowIndex;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Sequence;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.TxOptions;
import io.fovea.TypeCodecs;
import io.fovea.config.Duplicates;
import io.fovea.config.Durability;
import io.fovea.error.AbortCause;
import io.fovea.error.CorruptionException;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.StorageFullException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.Converted;
import io.fovea.schema.Dropped;
import io.fovea.schema.EntryHints;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Formerly;
import io.fovea.schema.Id;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.Initial;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.SequenceSpec;
import io.fovea.schema.Step;
import io.fovea.schema.TableSpec;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Currency;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of docs/guide. {@link PagesTest} compares the pages with the regions marked here. */
class GuideTest {
  // begin docs/guide/rows.md
  static final KeySpec.Definition KEY = KeySpec.define();
  static final Field CUSTOMER = KEY.int64("customer");
  static final Field NUMBER = KEY.int32("number");

  static final Layout.Definition LAYOUT = Layout.define();
  static final Field STATE = LAYOUT.int32("state"); // changes often: first
  static final Field PLACED = LAYOUT.int64("placed_millis");
  static final Field CENTS = LAYOUT.int64("cents");
  static final Field CODE = LAYOUT.text("code", 12);
  static final Field NOTE = LAYOUT.text("note", 200); // wide, rarely read: last

  static final TableSpec ORDERS = TableSpec.of("orders", KEY.build(), LAYOUT.build());

  // end

  // begin docs/guide/rows.md
  static final TableSpec STOCK =
      TableSpec.of(
          "stock",
          KeySpec.builder().text("sku", 40).build(),
          Layout.builder().int32("count").nullable().text("place", 80).build());
  static final Field COUNT = STOCK.layout().field("count");

  // end

  // begin docs/guide/rows.md
  static final Layout.Definition PAYMENT = Layout.define();
  static final Field PAID = PAYMENT.bool("paid");
  static final Field AMOUNT = PAYMENT.decimal("amount", 12, 2); // 9,999,999,999.99 at most
  static final Field RATE = PAYMENT.float64("rate");
  static final Field DUE = PAYMENT.instant("due");
  static final Field BATCH = PAYMENT.nullable().uuid("batch"); // null until assigned
  static final Field MEMO = PAYMENT.nullable().varText("memo", 2000);

  static final TableSpec PAYMENTS =
      TableSpec.of("payments", KeySpec.of(FieldType.UUID), PAYMENT.build())
          .with(IndexSpec.on("by_due", PAID, DUE))
          .with(IndexSpec.on("by_batch", BATCH));

  // end

  // begin docs/guide/queries-and-indexes.md
  static final TableSpec INDEXED =
      ORDERS
          .with(IndexSpec.on("by_state", STATE, PLACED))
          .with(IndexSpec.unique("by_code", CODE))
          .with(
              IndexSpec.extracted(
                  "large",
                  KeySpec.of(FieldType.INT64),
                  false,
                  (key, order, entry) -> {
                    if (order.getLong(CENTS) < 100_000) {
                      return false; // no entry for this record
                    }
                    entry.set(order.getLong(CENTS));
                    return true;
                  }));

  // end

  static final TableSpec FILES =
      TableSpec.bytes("files", 200)
          .with(
              IndexSpec.bytes(
                  "by_type",
                  KeySpec.builder().text("type", 10).int32("size").build(),
                  false, // several files may have the same type and size
                  (name, content, entry) -> {
                    String path = new String(name, StandardCharsets.UTF_8);
                    int dot = path.lastIndexOf('.');
                    if (dot < 0) {
                      return false; // no entry for this file
                    }
                    entry.text(path.substring(dot + 1)).int32(content.length);
                    return true;
                  }));

  // begin docs/guide/schema-changes.md
  // Version 1 had: text("fullname", 40), int32("visits"), text("fax", 20).
  static final Layout.Definition MEMBER = Layout.define();
  static final Field MEMBER_NAME = MEMBER.text("name", 80);
  static final Field VISITS = MEMBER.int64("visits");
  static final Field LEVEL = MEMBER.int32("level");

  static final TableSpec MEMBERS =
      TableSpec.builder("members", KeySpec.of(FieldType.INT64), MEMBER.build())
          .version(2, Step.rename("fullname", "name"), Step.add("level", 1))
          .version(3, Step.widen("name"), Step.widen("visits"), Step.drop("fax"))
          .index(IndexSpec.on("by_level", LEVEL))
          .build();

  // end

  private static final Instant NOW = Instant.parse("2026-11-25T10:00:00Z");

  // begin docs/guide/objects.md
  record Invoice(
      @Id long number,
      String customer,
      BigDecimal total,
      List<Line> lines,
      Optional<Instant> paid) {

    Invoice paidAt(Instant when) {
      return new Invoice(number, customer, total, lines, Optional.of(when));
    }
  }

  record Line(String article, int count) {}

  static final ObjectSpec<Long, Invoice> INVOICES =
      ObjectSpec.of("invoices", Long.class, Invoice.class);

  // end

  // begin docs/guide/objects.md
  sealed interface Payment permits Card, Transfer {}

  record Card(String number) implements Payment {}

  record Transfer(String iban) implements Payment {}

  record Sale(@Id OffsetDateTime at, Payment payment, Currency currency) {}

  static final TypeCodecs CODECS =
      TypeCodecs.of(Currency.class, String.class, Currency::getCurrencyCode, Currency::getInstance);

  static final ObjectSpec<OffsetDateTime, Sale> SALES =
      ObjectSpec.of("sales", OffsetDateTime.class, Sale.class, CODECS);

  // end

  // begin docs/guide/objects.md
  record Login(@Id long user, String device, Instant used) {}

  static final ObjectSpec<Long, Login> LOGINS =
      ObjectSpec.of("logins", Long.class, Login.class).expireAfter("used", Duration.ofMinutes(30));

  // end

  // begin docs/guide/queries-and-indexes.md
  record Shipment(@Id long number, String customer, Place to, Instant due, String label) {}

  record Place(String country, String city) {}

  static final ObjectSpec<Long, Shipment> SHIPMENTS =
      ObjectSpec.of("shipments", Long.class, Shipment.class)
          .index("byCustomer", "customer", "due")
          .index("byPlace", "to.country", "to.city")
          .unique("byLabel", "label");

  // end

  record Customer(String name, String city) {}

  static final Layout.Definition PERSON = Layout.define();
  static final Field NAME = PERSON.text("name", 80);
  static final Field CITY = PERSON.text("city", 80);

  static final KeyCodec<Long> IDS =
      new KeyCodec<>() {
        @Override
        public void encode(Long id, Key key) {
          key.set(id);
        }

        @Override
        public Long decode(Key key) {
          return key.getLong(0);
        }
      };

  static final Codec<Customer> CUSTOMERS =
      new Codec<>() {
        @Override
        public void encode(Customer c, Row row) {
          row.setText(NAME, c.name()).setText(CITY, c.city());
        }

        @Override
        public Customer decode(Row row) {
          return new Customer(row.getText(NAME), row.getText(CITY));
        }
      };

  @TempDir Path folder;

  private Database db;
  private RowTable orders;
  private Table<Long, Invoice> invoices;

  @BeforeEach
  void open() {
    db =
        Database.open(
            folder.resolve("guide.fovea"),
            Options.defaults().durability(Durability.ASYNC).bufferBytes(16 << 20));
    orders = db.table(INDEXED);
    invoices = db.table(INVOICES);
    db.run(
        tx -> {
          for (int i = 1; i <= 30; i++) {
            String customer = i % 2 == 0 ? "Ada" : "Grace";
            BigDecimal total = new BigDecimal("119.90");
            invoices.insert(tx, new Invoice(i, customer, total, List.of(), Optional.empty()));
          }
        });
    Key key = orders.key();
    Row row = orders.row();
    db.run(
        tx -> {
          for (int i = 1; i <= 30; i++) {
            row.clear().setInt(STATE, i % 3).setLong(PLACED, i).setLong(CENTS, i * 10_000L);
            orders.insert(tx, key.set(i % 4, i), row.setText(CODE, "C-" + i));
          }
        });
  }

  @AfterEach
  void close() {
    db.close();
  }

  record PersonBefore(@Id long number, String name, String fax) {}

  // begin docs/guide/schema-changes.md
  @Dropped("fax")
  record Person(
      @Id long number,
      @Formerly("name") String title,
      @Initial("17") int age,
      Optional<String> city) {}

  // end

  @Test
  void olderClassesOpenATableUntilEvolutionIsFinished() {
    ObjectSpec<Long, PersonBefore> before = ObjectSpec.of("people", Long.class, PersonBefore.class);
    db.table(before);
    db.table(ObjectSpec.of("people", Long.class, Person.class));
    db.table(before);
    // begin docs/guide/schema-changes.md
    db.finishEvolution("people");
    // end
    assertThrows(IncompatibleSchemaException.class, () -> db.table(before));
  }

  record ItemBefore(@Id long number, int price) {}

  /** The classes of the page, by the function and by the annotation. */
  static final class ByFunction {
    record Item(@Id long number, BigDecimal price) {}

    // begin docs/guide/schema-changes.md
    static final ObjectSpec<Long, Item> ITEMS =
        ObjectSpec.of("items", Long.class, Item.class)
            .convert("price", int.class, cents -> BigDecimal.valueOf(cents, 2));
    // end
  }

  static final class ByAnnotation {
    // begin docs/guide/schema-changes.md
    record Item(@Id long number, @Converted(from = int.class, by = Cents.class) BigDecimal price) {}

    static final class Cents implements Function<Integer, BigDecimal> {
      @Override
      public BigDecimal apply(Integer cents) {
        return BigDecimal.valueOf(cents, 2);
      }
    }
    // end
  }

  @Test
  void typesChange() {
    ObjectSpec<Long, ItemBefore> before = ObjectSpec.of("items", Long.class, ItemBefore.class);
    Table<Long, ItemBefore> old = db.table(before);
    db.run(tx -> old.put(tx, new ItemBefore(1, 250)));
    BigDecimal price = new BigDecimal("2.50");
    ObjectSpec<Long, ByFunction.Item> ITEMS = ByFunction.ITEMS;
    Table<Long, ByFunction.Item> items = db.table(ITEMS);
    assertEquals(price, db.read(tx -> items.get(tx, 1L)).price());
    Table<Long, ByAnnotation.Item> same =
        db.table(ObjectSpec.of("items", Long.class, ByAnnotation.Item.class));
    assertEquals(price, db.read(tx -> same.get(tx, 1L)).price());
    // begin docs/guide/schema-changes.md
    db.finishEvolution(ITEMS, at -> print(at.read() + " of " + at.total()));
    // end
    assertThrows(IncompatibleSchemaException.class, () -> db.table(before));
  }

  record User(@Id long number, String email, String name) {}

  record Subscriber(@Id String email, String name) {
    static Subscriber of(User c) {
      return new Subscriber(c.email, c.name);
    }
  }

  private static final ObjectSpec<Long, User> USERS =
      ObjectSpec.of("users", Long.class, User.class);
  private static final ObjectSpec<String, Subscriber> SUBSCRIBERS =
      ObjectSpec.of("subscribers", String.class, Subscriber.class);

  @Test
  void tablesGetNewKeys() {
    Table<Long, User> users = db.table(USERS);
    db.run(tx -> users.put(tx, new User(1, "ada@example.org", "Ada")));
    // begin docs/guide/schema-changes.md
    if (db.tables().contains("users")) {
      db.migrate(
          db.table(USERS),
          SUBSCRIBERS,
          (number, user, to) -> to.add(user.email(), Subscriber.of(user)));
    }
    Table<String, Subscriber> subscribers = db.table(SUBSCRIBERS);
    // end
    assertEquals("Ada", db.read(tx -> subscribers.get(tx, "ada@example.org")).name());
    assertFalse(db.tables().contains("users"));
  }

  @Test
  void classesEvolve() {
    Table<Long, PersonBefore> before =
        db.table(ObjectSpec.of("people", Long.class, PersonBefore.class));
    db.run(tx -> before.put(tx, new PersonBefore(1, "Ada", "0")));
    Table<Long, Person> people = db.table(ObjectSpec.of("people", Long.class, Person.class));
    assertEquals(new Person(1, "Ada", 17, Optional.empty()), db.read(tx -> people.get(tx, 1L)));
  }

  @Test
  void tablesEvolve() {
    Layout.Definition first = Layout.define();
    Field fullname = first.text("fullname", 40);
    Field visits = first.int32("visits");
    first.text("fax", 20);
    RowTable before = db.table(TableSpec.of("members", KeySpec.of(FieldType.INT64), first.build()));
    db.run(
        tx ->
            before.insert(
                tx, before.key().set(7L), before.row().setText(fullname, "Ada").setInt(visits, 3)));
    // begin docs/guide/schema-changes.md
    RowTable members = db.table(MEMBERS); // upgrades version 1 or 2 to version 3
    Row row = members.row();
    db.run(
        tx -> {
          members.get(tx, members.key().set(7L), row); // an old row has level 1
          members.update(tx, row.setLong(VISITS, row.getLong(VISITS) + 1)); // stored as version 3
        });
    // end
    db.run(
        tx -> {
          assertTrue(members.get(tx, members.key().set(7L), row));
          assertEquals("Ada", row.getText(MEMBER_NAME));
          assertEquals(4, row.getLong(VISITS));
          assertEquals(1, row.getInt(LEVEL));
        });
  }

  @Test
  void chains() {
    RowTable stock = db.table(STOCK);
    db.run(tx -> stock.insert(tx, stock.key().set("tea"), stock.row().setInt(COUNT, 7)));
    assertEquals(1, stock.count());
  }

  @Test
  void typesAndNulls() {
    // begin docs/guide/rows.md
    RowTable payments = db.table(PAYMENTS);
    UUID id = UUID.randomUUID();
    db.run(
        tx -> {
          Row row = payments.row();
          row.setDecimal(AMOUNT, new BigDecimal("119.90")).setDouble(RATE, 0.19);
          row.setInstant(DUE, NOW.plus(Duration.ofDays(30)));
          payments.insert(tx, payments.key().uuid(id), row); // not paid, no batch, no memo
        });
    db.run(
        tx -> {
          RowIndex batches = payments.index("by_batch");
          Key none = batches.key().nullValue();
          Row row = payments.row();
          if (batches.get(tx, none, row) && row.isNull(MEMO)) {
            payments.update(tx, row.setUuid(BATCH, UUID.randomUUID()).setText(MEMO, "first run"));
          }
        });
    // end
    db.run(
        tx -> {
          Row row = payments.row();
          assertTrue(payments.get(tx, payments.key().uuid(id), row));
          assertEquals("first run", row.getText(MEMO));
          assertEquals(new BigDecimal("119.90"), row.getDecimal(AMOUNT));
          assertFalse(row.getBoolean(PAID) || row.isNull(BATCH));
        });
  }

  @Test
  void typed() {
    TableSpec spec = TableSpec.of("customers", KeySpec.of(FieldType.INT64), PERSON.build());
    Table<Long, Customer> customers = db.table(spec).as(IDS, CUSTOMERS);
    db.run(tx -> customers.put(tx, 7L, new Customer("Ada", "London")));
    Customer ada = db.read(tx -> customers.get(tx, 7L));
    assertEquals(new Customer("Ada", "London"), ada);
  }

  @Test
  void objects() {
    // begin docs/guide/objects.md
    Table<Long, Invoice> invoices = db.table(INVOICES);
    Invoice invoice =
        new Invoice(
            1001, "Ada", new BigDecimal("12.50"), List.of(new Line("tea", 2)), Optional.empty());
    db.run(tx -> invoices.put(tx, invoice));
    Invoice found = db.read(tx -> invoices.get(tx, 1001L));
    db.run(tx -> invoices.update(tx, 1001L, i -> i.paidAt(NOW)));
    // end
    assertEquals(invoice, found);
    assertEquals(Optional.of(NOW), db.read(tx -> invoices.get(tx, 1001L)).paid());
  }

  @Test
  void indexesOfObjects() {
    // begin docs/guide/queries-and-indexes.md
    Table<Long, Shipment> shipments = db.table(SHIPMENTS);
    Index<String, Long, Shipment> byCustomer = shipments.index("byCustomer", String.class);
    Index<Place, Long, Shipment> byPlace = shipments.index("byPlace", Place.class);
    Index<String, Long, Shipment> byLabel = shipments.index("byLabel", String.class);
    db.run(
        tx -> {
          shipments.put(tx, new Shipment(1, "Ada", new Place("GB", "London"), NOW, "A-1"));
          shipments.put(tx, new Shipment(2, "Ada", new Place("FR", "Paris"), NOW, null));
        });
    Shipment labelled = db.read(tx -> byLabel.get(tx, "A-1").getValue());
    List<Long> ofAda =
        db.read(
            tx ->
                byCustomer.stream(tx, "Ada", ScanOrder.ASCENDING).map(Map.Entry::getKey).toList());
    Page<Map.Entry<Long, Shipment>> toParis =
        db.read(tx -> byPlace.page(tx, new Place("FR", "Paris"), ScanOrder.ASCENDING, null, 20));
    // end
    assertEquals(1, labelled.number());
    assertEquals(List.of(1L, 2L), ofAda);
    assertEquals(2, toParis.items().getFirst().getKey());
  }

  @Test
  void maps() {
    Invoice invoice =
        new Invoice(1001, "Ada", new BigDecimal("12.50"), List.of(), Optional.empty());
    // begin docs/guide/objects.md
    ConcurrentNavigableMap<Long, Invoice> byNumber = invoices.asMap();
    byNumber.putIfAbsent(1001L, invoice);
    byNumber.computeIfPresent(1001L, (number, i) -> i.paidAt(NOW));
    List<Invoice> some = byNumber.tailMap(5L).values().stream().limit(10).toList();
    // end
    assertEquals(5, some.getFirst().number());
    assertEquals(Optional.of(NOW), byNumber.get(1001L).paid());
  }

  @Test
  void byteStrings() {
    // begin docs/guide/objects.md
    Table<byte[], byte[]> blobs = db.table(TableSpec.bytes("blobs", 64)).bytes();
    byte[] name = "logo.png".getBytes(StandardCharsets.UTF_8);
    db.run(tx -> blobs.put(tx, name, new byte[100_000]));
    byte[] value = db.read(tx -> blobs.get(tx, name));
    // end
    assertEquals(100_000, value.length);
  }

  @Test
  void indexesOfByteStrings() {
    db.run(
        tx -> {
          Table<byte[], byte[]> t = tx.table(FILES).bytes();
          for (String name : List.of("a.png", "bb.png", "ccc.txt", "dddd")) {
            t.put(tx, name.getBytes(StandardCharsets.UTF_8), new byte[10 * name.length()]);
          }
        });
    Table<byte[], byte[]> files = db.table(FILES).bytes();
    Index<Key, byte[], byte[]> byType = files.index("by_type", Key.class);
    Key png = byType.key().text("png"); // a prefix: all sizes
    String largest =
        db.read(
            tx ->
                byType.stream(tx, png, ScanOrder.DESCENDING)
                    .map(e -> new String(e.getKey(), StandardCharsets.UTF_8))
                    .findFirst()
                    .orElse("none"));
    long total =
        db.read(
            tx -> {
              long sum = 0;
              try (IndexCursor<Key, byte[], byte[]> c = byType.scan(tx, png, ScanOrder.ASCENDING)) {
                while (c.next()) {
                  sum += c.indexKey().getInt(1); // no file is read
                }
              }
              return sum;
            });
    assertEquals("bb.png", largest);
    assertEquals(110, total);
    assertEquals(3, byType.count());
  }

  @Test
  void indexes() {
    // begin docs/guide/queries-and-indexes.md
    RowIndex byCode = orders.index("by_code");
    RowIndex byState = orders.index("by_state");
    Key code = byCode.key().set("C-17");
    Key open = byState.key().set(1); // a prefix: all times
    Row row = orders.row();
    long cents = db.read(tx -> byCode.get(tx, code, row) ? row.getLong(CENTS) : 0L);
    int oldest =
        db.read(
            tx -> {
              try (RowCursor c = byState.scan(tx, Range.prefix(open), ScanOrder.ASCENDING)) {
                return c.next() ? c.key().getInt(NUMBER) : -1;
              }
            });
    // end
    assertEquals(170_000, cents);
    assertEquals(1, oldest);
    TableSpec small = ORDERS.with(IndexSpec.on("by_state", STATE).hints(EntryHints.NONE));
    assertEquals(1, small.indexes().size());
  }

  @Test
  void objectsAreRead() {
    // begin docs/guide/queries-and-indexes.md
    List<Invoice> some = db.read(tx -> invoices.getAll(tx, List.of(3L, 5L, 8L)));
    Map.Entry<Long, Invoice> newest = db.read(tx -> invoices.last(tx));
    long open =
        db.read(
            tx ->
                invoices.stream(tx, 10L, 20L, ScanOrder.ASCENDING) // 20 excluded
                    .filter(e -> e.getValue().paid().isEmpty())
                    .count());
    // end
    assertEquals(List.of(3L, 5L, 8L), some.stream().map(Invoice::number).toList());
    assertEquals(30, newest.getKey());
    assertEquals(10, open);
  }

  @Test
  void reads() {
    // begin docs/guide/rows.md
    Key key = orders.key().set(1, 17);
    Row row = orders.row();
    Projection state = Projection.of(ORDERS.layout(), STATE); // copies 4 bytes instead of 236
    int found = db.read(tx -> orders.get(tx, key, row, state) ? row.getInt(STATE) : -1);
    // end
    assertEquals(2, found);
    // begin docs/guide/rows.md
    Batch batch = orders.batch(64);
    for (int number = 1; number <= 30; number++) {
      batch.add().set(number % 4, number);
    }
    long sum =
        db.read(
            tx -> {
              orders.getAll(tx, batch);
              long cents = 0;
              for (int i = 0; i < batch.size(); i++) {
                cents += batch.found(i) ? batch.row(i).getLong(CENTS) : 0;
              }
              return cents;
            });
    // end
    assertEquals(30 * 31 / 2 * 10_000L, sum);
  }

  @Test
  void scans() {
    // begin docs/guide/queries-and-indexes.md
    Key customer = orders.key().int64(1); // a prefix
    Key from = orders.key().int64(1).int32(10);
    Key to = orders.key().int64(1).int32(20);
    List<Range> ranges =
        List.of(
            Range.all(),
            Range.prefix(customer), // all orders of customer 1
            Range.between(from, to), // both ends included
            Range.of(from, true, to, false), // the upper end excluded
            Range.greaterThan(customer), // after all orders of customer 1
            Range.atLeast(from)); // to the end of the table, other customers included
    List<Integer> numbers =
        db.read(
            tx -> {
              List<Integer> list = new ArrayList<>();
              try (RowCursor c = orders.scan(tx, Range.between(from, to), ScanOrder.DESCENDING)) {
                while (list.size() < 10 && c.next()) {
                  list.add(c.key().getInt(NUMBER)); // c.row() would read the fields
                }
              }
              return list;
            });
    // end
    assertEquals(6, ranges.size());
    assertEquals(List.of(17, 13), numbers);
  }

  private final List<String> printed = new ArrayList<>();

  private void print(String line) {
    printed.add(line);
  }

  @Test
  void described() {
    // begin docs/guide/schema-changes.md
    for (String name : db.tables()) {
      TableSpec spec = db.describe(name);
      RowTable table = db.table(spec);
      print(spec + " has " + table.count() + " records");
    }
    // end
    assertEquals(db.tables().size(), printed.size());
  }

  @Test
  void seeks() {
    // begin docs/guide/queries-and-indexes.md
    Map<Long, Integer> firstOrders =
        db.read(
            tx -> {
              Map<Long, Integer> first = new TreeMap<>();
              Key next = orders.key();
              try (RowCursor c = orders.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
                for (boolean found = c.first(); found; found = c.seek(next)) {
                  long number = c.key().getLong(CUSTOMER);
                  first.put(number, c.key().getInt(NUMBER));
                  next.clear().int64(number + 1); // a prefix: that customer or a later one
                }
              }
              return first;
            });
    // end
    assertEquals(Map.of(0L, 4, 1L, 1, 2L, 2, 3L, 3), firstOrders);
  }

  @Test
  void nearest() {
    Row row = orders.row();
    Key newest = orders.key();
    Key customer = orders.key().int64(2); // a prefix
    int number =
        db.read(
            tx ->
                orders.floor(tx, customer, row) && row.key(newest).getLong(CUSTOMER) == 2
                    ? newest.getInt(NUMBER)
                    : -1);
    assertEquals(30, number);
  }

  @Test
  void streams() {
    String line =
        db.read(
            tx ->
                invoices.stream(tx, 10L, 20L, ScanOrder.ASCENDING) // 20 excluded
                    .map(Map.Entry::getValue)
                    .filter(i -> i.paid().isEmpty())
                    .limit(3)
                    .map(Invoice::customer)
                    .collect(Collectors.joining(", ")));
    assertEquals("Ada, Grace, Ada", line);
  }

  // begin docs/guide/queries-and-indexes.md
  Page<Map.Entry<Long, Invoice>> page(Database db, @Nullable String after) {
    return db.read(
        tx ->
            invoices.page(
                tx,
                null, // from the first one
                null, // to the last one
                ScanOrder.DESCENDING,
                after, // null: the first page
                20));
  }

  // end

  @Test
  void pageByPage() {
    Page<Map.Entry<Long, Invoice>> first = page(db, null);
    assertEquals(30, first.items().getFirst().getKey());
    Page<Map.Entry<Long, Invoice>> second = page(db, first.next());
    assertEquals(10, second.items().getFirst().getKey());
    assertEquals(10, second.items().size());
    assertFalse(second.hasNext());
  }

  @Test
  void estimates() {
    // begin docs/guide/queries-and-indexes.md
    Key first = orders.key().int64(1);
    Key last = orders.key().int64(2);
    Estimate about = db.read(tx -> orders.estimate(tx, Range.between(first, last)));
    String size = "about " + about.count() + " orders of " + about.bytes() + " bytes together";
    // end
    assertTrue(about.count() >= 14 && about.count() <= 16, size);
  }

  @Test
  void counts() {
    // begin docs/guide/queries-and-indexes.md
    long orderCount = orders.count();
    long bytesEach = orders.dataBytes() / Math.max(1, orderCount);
    // end
    assertTrue(orderCount > 20 && bytesEach > 30, orderCount + " of " + bytesEach);
  }

  @Test
  void rangeDeletes() {
    // begin docs/guide/bulk-data.md
    long gone = db.call(tx -> orders.deleteRange(tx, Range.prefix(orders.key().int64(3))));
    // end
    assertTrue(gone >= 0);
    // begin docs/guide/bulk-data.md
    long step;
    do {
      step = db.call(tx -> orders.deleteRange(tx, Range.prefix(orders.key().int64(2)), 10_000));
    } while (step == 10_000);
    // end
    assertTrue(
        db.read(tx -> orders.estimate(tx, Range.prefix(orders.key().int64(2)))).count() == 0);
  }

  @Test
  void loading() {
    Key key = orders.key();
    Row row = orders.row();
    // begin docs/guide/bulk-data.md
    LoadReport report =
        orders.load(
            LoadOptions.defaults().duplicates(Duplicates.KEEP),
            into -> {
              for (int i = 0; i < 10_000; i++) {
                into.add(key.set(5, i), row.setText(CODE, "L-" + i).setInt(STATE, i % 3));
              }
            });
    // end
    assertTrue(report.added() == 10_000 && orders.count() == report.records());
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @Test
  void tablesInTransactions() {
    TableSpec CACHE = TableSpec.bytes("cache", 40);
    Table<byte[], byte[]> notes = db.table(TableSpec.bytes("notes", 40)).bytes();
    db.table(TableSpec.of("orders.old", ORDERS.key(), ORDERS.layout()));
    db.table(CACHE);
    // begin docs/guide/schema-changes.md
    RowTable fresh = db.table(TableSpec.of("orders.new", ORDERS.key(), ORDERS.layout()));
    // ... fill it, in any number of transactions ...
    db.run(
        tx -> {
          tx.dropTable("orders.old");
          tx.renameTable("orders.new", "orders.current");
          notes.put(tx, bytes("orders.current"), bytes("loaded today"));
        });
    // end
    assertEquals("orders.current", fresh.name());
    // begin docs/guide/schema-changes.md
    db.run(
        tx -> {
          tx.dropTable("cache");
          RowTable cache = tx.table(CACHE);
          cache.bytes().put(tx, bytes("position"), bytes("17"));
        });
    // end
    assertEquals(List.of("cache", "invoices", "notes", "orders", "orders.current"), db.tables());
  }

  @Test
  void sequences() {
    // begin docs/guide/objects.md
    Sequence ids = db.sequence("orders"); // starts at 1; created if it does not exist
    long first = ids.next();
    long batch = ids.next(100); // reserves this value and the 99 after it
    ids.skipTo(50_000); // keys below were assigned elsewhere
    Sequence tickets = db.sequence(SequenceSpec.of("tickets").from(100).upTo(999).by(10));
    db.renameSequence("tickets", "seats");
    db.alterSequence(tickets.spec().from(500)); // starts over, at 500
    // end
    assertEquals(List.of(1L, 2L, 50_000L), List.of(first, batch, ids.next()));
    assertEquals(50, tickets.remaining());
    assertEquals("seats", tickets.name());
  }

  @Test
  void rowsThatExpire() {
    // begin docs/guide/rows.md
    Layout.Definition fields = Layout.define();
    Field user = fields.text("user", 40);
    Field used = fields.int64("used");
    TableSpec spec =
        TableSpec.of("sessions", KeySpec.of(FieldType.INT64), fields.build())
            .expireAfter(used, Duration.ofMinutes(30));
    RowTable sessions = db.table(spec);

    db.run(
        tx -> {
          Row row = sessions.row().setText(user, "ann").setLong(used, System.currentTimeMillis());
          sessions.put(tx, sessions.key().set(4711L), row);
        });
    // end
    assertEquals(true, db.read(tx -> sessions.exists(tx, sessions.key().set(4711L))));
    db.run(
        tx ->
            sessions.put(
                tx, sessions.key().set(4712L), sessions.row().setLong(used, 1))); // long ago
    assertEquals(false, db.read(tx -> sessions.exists(tx, sessions.key().set(4712L))));
    Options options =
        Options.defaults().expiry(e -> e.clock(() -> Instant.ofEpochSecond(1_000_000)));
    assertEquals(1_000_000_000, options.expiry().clock().millis());
  }

  @Test
  void objectsAndByteStringsThatExpire() {
    Table<Long, Login> logins = db.table(LOGINS);
    db.run(tx -> logins.put(tx, new Login(1, "phone", Instant.now())));
    db.run(tx -> logins.put(tx, new Login(2, "phone", Instant.EPOCH.plusMillis(1))));
    assertEquals(true, db.read(tx -> logins.exists(tx, 1L)));
    assertEquals(false, db.read(tx -> logins.exists(tx, 2L)));
    // begin docs/guide/objects.md
    Table<byte[], byte[]> pages =
        db.table(TableSpec.bytes("pages", 64).expireAfter(0, Duration.ofHours(1))).bytes();
    byte[] url = "/index.html".getBytes(StandardCharsets.UTF_8);
    byte[] page = "<html>".getBytes(StandardCharsets.UTF_8);
    ByteBuffer stored = ByteBuffer.allocate(8 + page.length);
    stored.putLong(System.currentTimeMillis()).put(page); // the time first
    db.run(tx -> pages.put(tx, url, stored.array()));
    // end
    assertEquals(true, db.read(tx -> pages.exists(tx, url)));
    db.run(tx -> pages.put(tx, url, new byte[] {0, 0, 0, 0, 0, 0, 0, 1}));
    assertEquals(false, db.read(tx -> pages.exists(tx, url)));
  }

  @Test
  void pages() {
    // begin docs/guide/bulk-data.md
    Long next = 1L; // the first key to do
    while (next != null) {
      Long from = next;
      next =
          db.<@Nullable Long, RuntimeException>call(
              tx -> {
                int count = 0; // of this attempt: the body may run more than once
                try (Cursor<Long, Invoice> c = invoices.scan(tx, from, null, ScanOrder.ASCENDING)) {
                  while (c.next()) {
                    if (count++ == 10) {
                      return c.key(); // the next transaction starts here
                    }
                    invoices.put(tx, c.value().paidAt(NOW));
                  }
                }
                return null;
              });
    }
    // end
    db.run(tx -> invoices.forEach(tx, null, null, (n, i) -> assertTrue(i.paid().isPresent())));
  }

  @Test
  void compaction() {
    // begin docs/guide/bulk-data.md
    CompactReport compacted = db.compact(CompactOptions.defaults().bytesPerSecond(20 << 20));
    System.out.println(
        compacted.bytesAfter() + " bytes, of which " + compacted.bytesUsed() + " are used");
    // end
  }

  @Test
  void snapshots() {
    // begin docs/guide/bulk-data.md
    try (Database then = db.snapshot()) {
      Table<Long, Invoice> frozen = then.table(INVOICES);
      BigDecimal sum =
          then.read(
              tx ->
                  frozen.stream(tx, null, null, ScanOrder.ASCENDING)
                      .map(e -> e.getValue().total())
                      .reduce(BigDecimal.ZERO, BigDecimal::add));
      System.out.println("All invoices: " + sum);
    }
    // end
    assertEquals(0, db.stats().snapshots().open());
  }

  // begin docs/guide/change-feed.md
  record Event(@Id long id, String topic, String body) {}

  record Sent(@Id String where, String position) {}

  static final ObjectSpec<Long, Event> OUTBOX = ObjectSpec.of("outbox", Long.class, Event.class);
  static final ObjectSpec<String, Sent> SENT = ObjectSpec.of("sent", String.class, Sent.class);

  /** Sends events added to the outbox after the first call, when they are durable, in order. */
  static void send(Database db, Consumer<Event> queue, BooleanSupplier running) {
    Table<Long, Event> outbox = db.table(OUTBOX);
    Table<String, Sent> sent = db.table(SENT);
    Sent last = db.read(tx -> sent.get(tx, "queue"));
    if (last == null) {
      Sent first = new Sent("queue", db.changesPosition().toString());
      db.run(tx -> sent.insert(tx, first));
      last = first;
    }
    try (Changes changes = db.changes(ChangePosition.parse(last.position()))) {
      while (running.getAsBoolean()) {
        ChangeBatch batch = changes.poll(Duration.ofMillis(100));
        if (batch == null) {
          continue;
        }
        for (Change c : batch.changes()) {
          if (c.kind() == Change.Kind.PUT && c.table().equals("outbox")) {
            queue.accept(Objects.requireNonNull(c.value(outbox)));
          }
        }
        if (batch.changes().stream().anyMatch(c -> c.table().equals("outbox"))) {
          db.run(tx -> sent.put(tx, new Sent("queue", batch.position().toString())));
        }
      }
    }
  }

  // end

  @Test
  void changesToAQueue() {
    db.close();
    // begin docs/guide/change-feed.md
    Options followed = Options.defaults().log(log -> log.changeRetentionBytes(256L << 20));
    // end
    db = Database.open(folder.resolve("guide.fovea"), followed.bufferBytes(16 << 20));
    Table<Long, Event> outbox = db.table(OUTBOX);
    List<Event> queue = new ArrayList<>();
    int[] rounds = {0};
    BooleanSupplier twice = () -> rounds[0]++ < 2;
    send(db, queue::add, twice);
    for (long i = 1; i <= 3; i++) {
      Event e = new Event(i, "orders", "order " + i);
      db.run(tx -> outbox.put(tx, e));
    }
    rounds[0] = -10;
    send(db, queue::add, twice);
    assertEquals(
        List.of("order 1", "order 2", "order 3"), queue.stream().map(Event::body).toList());
    rounds[0] = -10;
    send(db, queue::add, twice);
    assertEquals(3, queue.size());
  }

  @Test
  void changesToACache() {
    db.close();
    db =
        Database.open(
            folder.resolve("guide.fovea"),
            Options.defaults()
                .bufferBytes(16 << 20)
                .log(log -> log.changeRetentionBytes(64 << 20)));
    Table<Long, Invoice> invoices = db.table(INVOICES);
    Invoice invoice =
        new Invoice(1001, "Ada", new BigDecimal("12.50"), List.of(), Optional.empty());
    db.run(tx -> invoices.put(tx, invoice));
    // begin docs/guide/change-feed.md
    Map<Long, Invoice> cache = new ConcurrentHashMap<>();
    ChangePosition at;
    try (Database then = db.snapshot()) {
      Table<Long, Invoice> frozen = then.table(INVOICES);
      then.run(tx -> frozen.forEach(tx, null, null, cache::put));
      at = then.changesPosition();
    }
    // from there on, in a separate thread:
    try (Changes changes = db.changes(at)) {
      ChangeBatch batch;
      while ((batch = changes.poll(Duration.ofMillis(100))) != null) {
        for (Change c : batch.changes()) {
          if (c.table().equals("invoices")) {
            Invoice now = c.value(invoices); // null: deleted
            cache.compute(c.key(invoices), (id, before) -> now);
          }
        }
      }
    }
    // end
    assertEquals(invoice, cache.get(1001L));
    assertEquals(invoices.count(), cache.size());
  }

  @Test
  void transactions() {
    // begin docs/guide/transactions.md
    boolean paid =
        db.call(
            tx -> {
              Invoice invoice = invoices.getForUpdate(tx, 17L);
              if (invoice == null || invoice.paid().isPresent()) {
                return false;
              }
              invoices.put(tx, invoice.paidAt(NOW));
              return true;
            });
    // end
    assertTrue(paid);
    // begin docs/guide/transactions.md
    TxOptions patient =
        TxOptions.defaults().timeout(Duration.ofMinutes(10)).pessimisticAfterAborts(0);
    db.run(
        patient,
        tx -> invoices.forEach(tx, null, null, (number, i) -> invoices.put(tx, i.paidAt(NOW))));
    // end
    assertTrue(db.read(tx -> invoices.get(tx, 30L)).paid().isPresent());
    // begin docs/guide/transactions.md
    try (Transaction tx = db.begin()) {
      invoices.delete(tx, 17L);
      tx.commit(); // or tx.rollback(); close() rolls back if neither was called
    }
    // end
    assertFalse((boolean) db.read(tx -> invoices.exists(tx, 17L)));
    Map<Long, Invoice> cached = new ConcurrentHashMap<>();
    cached.put(18L, db.read(tx -> invoices.get(tx, 18L)));
    // begin docs/guide/transactions.md
    db.run(
        tx -> {
          invoices.delete(tx, 18L);
          tx.afterCommit(() -> cached.remove(18L));
        });
    // end
    assertEquals(Map.of(), cached);
  }

  @Test
  void threads() throws Exception {
    // begin docs/guide/transactions.md
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (long n = 1; n <= 30; n++) {
        long number = n;
        threads.submit(() -> db.run(tx -> invoices.delete(tx, number)));
      }
    }
    // end
    assertEquals(0, invoices.count());
  }

  @Test
  void joining() {
    // begin docs/guide/transactions.md
    TxOptions joining = TxOptions.defaults().joining();
    Runnable cancel = () -> db.run(joining, tx -> invoices.delete(tx, 1L));
    cancel.run(); // a separate transaction
    db.run(
        tx -> {
          cancel.run(); // a part of this one
          invoices.delete(tx, 2L);
        });
    // end
    assertEquals(28, invoices.count());
  }

  @Test
  void ahead() {
    // begin docs/guide/transactions.md
    CommitHandle commitHandle = db.runPipelined(tx -> invoices.delete(tx, 17L));
    // ... start the work of another client ...
    commitHandle.await(); // now report the commit to the first client
    // end
    assertTrue(commitHandle.isDurable());
  }

  private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();

  private void answer(String text) {
    answers.add(text);
  }

  @Test
  void submitted() throws Exception {
    // begin docs/guide/transactions.md
    CompletionStage<Boolean> cancelled = db.submit(tx -> invoices.delete(tx, 18L));
    cancelled.thenAccept(done -> answer(done ? "cancelled" : "no such invoice"));
    // end
    boolean done = cancelled.toCompletableFuture().join();
    assertEquals(done ? "cancelled" : "no such invoice", answers.take());
  }

  @Test
  void options() {
    Path file = folder.resolve("options.fovea");
    // begin docs/guide/operations.md
    Options options =
        Options.defaults()
            .bufferBytes(1L << 30)
            .durability(Durability.SYNC)
            .log(log -> log.maxBytes(1L << 30))
            .transactions(t -> t.timeout(Duration.ofSeconds(30)).maxActive(32));
    // end
    try (Database other = Database.open(file, options.bufferBytes(64 << 20))) {
      assertEquals(32, other.options().transactions().maxActive());
    }
  }

  @Test
  void sharedBuffers() {
    // begin docs/guide/operations.md
    BufferShare share = BufferShare.of(64 << 20);
    Options tenant = Options.defaults().bufferBytes(16 << 20).bufferShare(share, 2 << 20);
    List<Database> tenants = new ArrayList<>();
    for (String id : List.of("ada", "grace", "barbara")) {
      tenants.add(Database.open(folder.resolve(id + ".fovea"), tenant));
    }
    // end
    assertTrue(share.used() > 6 << 20 && share.used() <= share.bytes(), share::toString);
    tenants.forEach(Database::close);
    assertEquals(0, share.used());
  }

  @Test
  void backups() throws Exception {
    Path backups = folder.resolve("backups");
    // begin docs/guide/backup-and-restore.md
    BackupReport copied =
        db.backup(backups.resolve("monday"), BackupOptions.defaults().bytesPerSecond(50 << 20));
    FileReport checked =
        FileReport.verify(
            backups.resolve("monday/guide.fovea"), Options.defaults().bufferBytes(64 << 20));
    if (!checked.ok()) {
      throw new IllegalStateException("Not a good backup: " + checked.problems());
    }
    // end
    assertTrue(copied.pages() > 0);
    Path restored = folder.resolve("restored");
    // begin docs/guide/backup-and-restore.md
    Files.createDirectories(restored);
    Path file = restored.resolve("guide.fovea");
    Restore.from(backups.resolve("monday")).to(file, Options.defaults());
    try (Database again = Database.open(file)) {
      System.out.println(again.tables());
    }
    // end
    // begin docs/guide/backup-and-restore.md
    BackupPosition monday = BackupPosition.of(backups.resolve("monday"));
    BackupReport added =
        db.backup(backups.resolve("tuesday"), BackupOptions.defaults().since(monday));
    System.out.println(added.pagesCopied() + " of " + added.pages() + " pages were changed");
    Restore.from(backups.resolve("monday"))
        .then(backups.resolve("tuesday"))
        .to(restored.resolve("tuesday.fovea"), Options.defaults());
    // end
    assertTrue(added.pagesCopied() < added.pages());
    // begin docs/guide/backup-and-restore.md
    Options reading = Options.defaults().readOnly(true).bufferBytes(64 << 20);
    try (Database report = Database.open(restored.resolve("guide.fovea"), reading)) {
      Table<Long, Invoice> copy = report.table(INVOICES);
      boolean there = report.read(tx -> copy.exists(tx, 17L));
      System.out.println(there);
    }
    // end
  }

  @Test
  void errors() {
    Invoice known = db.read(tx -> invoices.get(tx, 17L));
    assertEquals("exists", send(known));
    assertEquals("done", send(new Invoice(99, "Ada", BigDecimal.ONE, List.of(), Optional.empty())));
  }

  // begin docs/guide/transactions.md
  String send(Invoice invoice) {
    try {
      db.run(tx -> invoices.insert(tx, invoice));
      return "done";
    } catch (DuplicateKeyException e) {
      return "exists"; // an answer, not a fault
    } catch (TransactionAbortedException e) {
      return "busy: " + e.abortCause(); // not retryable, or attempts are used up: shed load
    } catch (StorageFullException e) {
      return "full"; // nothing has changed; works again when there is space
    } catch (DurabilityLostException e) {
      return e.mayHaveCommitted() ? "unknown" : "failed"; // close the database, open it again
    } catch (CorruptionException e) {
      return "damaged"; // verify, then restore a backup
    }
  }

  // end

  @Test
  void aborts() {
    TransactionAbortedException e =
        assertThrows(
            TransactionAbortedException.class,
            () ->
                db.run(
                    TxOptions.defaults().timeout(Duration.ofNanos(1)),
                    tx -> invoices.delete(tx, 17L)));
    assertEquals(AbortCause.TIMEOUT, e.abortCause());
  }

  @Test
  void watching() {
    // begin docs/guide/operations.md
    DatabaseStats stats = db.stats();
    System.out.printf(
        "%s, %d commits, %d retries, aborts %s%n",
        stats.health(), stats.commits(), stats.retries(), stats.abortsByCause());
    System.out.printf(
        "%d of %d MiB off the heap%n",
        stats.memory().bytes() >> 20, stats.memory().maxBytes() >> 20);
    // end
    assertEquals(DatabaseStats.Health.OK, stats.health());
  }
}
