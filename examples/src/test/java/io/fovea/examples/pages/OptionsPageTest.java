package io.fovea.examples.pages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.DeviceOptions;
import io.fovea.ExperimentOptions;
import io.fovea.ExpiryOptions;
import io.fovea.Key;
import io.fovea.LogOptions;
import io.fovea.MemoryOptions;
import io.fovea.Options;
import io.fovea.Row;
import io.fovea.RowIndex;
import io.fovea.RowTable;
import io.fovea.SnapshotOptions;
import io.fovea.TransactionOptions;
import io.fovea.schema.EntryHints;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The code of docs/reference/options.md, and that the page has each option. */
class OptionsPageTest {
  private static final int RECORDS = 100;

  private static final KeySpec KEY = KeySpec.of(FieldType.INT64);
  private static final Layout.Definition FIELDS = Layout.define();
  private static final Field NUMBER = FIELDS.int64("number");
  private static final Layout LAYOUT = FIELDS.build();

  /** A setter takes an argument and returns options of its class; each one is an option. */
  @Test
  void thePageHasEachOption() throws IOException {
    String page = Files.readString(PagesTest.root().resolve("docs/reference/options.md"));
    Set<String> options = new TreeSet<>(setters(Options.class, ""));
    for (Class<?> group :
        List.of(
            MemoryOptions.class,
            DeviceOptions.class,
            LogOptions.class,
            TransactionOptions.class,
            SnapshotOptions.class,
            ExpiryOptions.class,
            ExperimentOptions.class)) {
      String name = group.getSimpleName().replace("Options", "").toLowerCase(Locale.ROOT);
      String prefix = options.contains(name) ? name : name + "s";
      assertTrue(options.remove(prefix), prefix);
      options.addAll(setters(group, prefix + "."));
    }
    options.removeIf(o -> page.contains("\n| `" + o + "` | "));
    assertEquals(Set.of(), options, "options without a row");
  }

  private static List<String> setters(Class<?> options, String prefix) {
    return Stream.of(options.getMethods())
        .filter(m -> m.getReturnType() == options && m.getParameterCount() > 0)
        .map(m -> prefix + m.getName())
        .distinct()
        .toList();
  }

  @Test
  void optionsInAGroup() {
    // begin docs/reference/options.md
    Options options = Options.defaults().bufferBytes(1L << 30).log(log -> log.maxBytes(2L << 30));
    // end
    assertEquals(2L << 30, options.log().maxBytes());
  }

  @Test
  void indexHasSpecifiedHints() {
    // begin docs/reference/options.md
    TableSpec orders =
        TableSpec.of("orders", KEY, LAYOUT)
            .with(IndexSpec.unique("by_number", NUMBER).hints(EntryHints.PAGE_FRAME_SLOT));
    // end
    assertEquals(RECORDS, hitsOf(orders));
    TableSpec without =
        TableSpec.of("orders", KEY, LAYOUT)
            .with(IndexSpec.unique("by_number", NUMBER).hints(EntryHints.NONE));
    assertEquals(0, hitsOf(without));
  }

  /** The number of index lookups, one per record, that found the record by the entry's hint. */
  private static long hitsOf(TableSpec spec) {
    try (Database db = Database.inMemory(Options.defaults())) {
      RowTable table = db.table(spec);
      RowIndex index = table.index("by_number");
      Key key = table.key();
      Key number = index.key();
      Row row = table.row();
      for (long i = 0; i < RECORDS; i++) {
        long n = i;
        db.run(tx -> table.put(tx, key.set(n), row.setLong(NUMBER, n * n)));
      }
      long before = 0;
      for (int pass = 0; pass < 2; pass++) { // the first pass repairs what later inserts shifted
        before = db.stats().hintedLookups().hits();
        for (long i = 0; i < RECORDS; i++) {
          long n = i;
          db.read(tx -> index.get(tx, number.set(n * n), row));
        }
      }
      return db.stats().hintedLookups().hits() - before;
    }
  }

  @Test
  void cachedLocationsAreUsed() {
    // begin docs/reference/options.md
    TableSpec accounts = TableSpec.of("accounts", KEY, LAYOUT).cacheLocations();
    // end
    try (Database db = Database.inMemory(Options.defaults())) {
      RowTable table = db.table(accounts);
      Key key = table.key();
      Row row = table.row();
      for (long n = 0; n < RECORDS; n++) {
        key.set(n);
        db.run(tx -> table.put(tx, key, row.setLong(NUMBER, key.getLong(0))));
      }
      for (int pass = 0; pass < 2; pass++) {
        for (long n = 0; n < RECORDS; n++) {
          key.set(n);
          boolean found = db.read(tx -> table.get(tx, key, row));
          assertTrue(found);
        }
      }
      long right = db.stats().descents().cachedLocationsRight();
      assertTrue(right >= RECORDS, () -> right + " were where they had been");
    }
  }
}
