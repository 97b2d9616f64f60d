package io.fovea.examples.pages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Options;
import io.fovea.Row;
import io.fovea.RowIndex;
import io.fovea.RowTable;
import io.fovea.schema.EntryHints;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import org.junit.jupiter.api.Test;

/** The code of docs/TUNING.md: {@link PagesTest} holds the page against what is marked here. */
class TuningTest {
  private static final int RECORDS = 100;

  private static final KeySpec KEY = KeySpec.of(FieldType.INT64);
  private static final Layout.Definition FIELDS = Layout.define();
  private static final Field NUMBER = FIELDS.int64("number");
  private static final Layout LAYOUT = FIELDS.build();

  @Test
  void anIndexHasTheHintsThatItsSpecificationSays() {
    // begin docs/TUNING.md
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

  /** How many lookups by the index, one for each record, found the record by the entry's hint. */
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
  void aTableThatIsRememberedIsReadWhereItsRecordsWereSeen() {
    // begin docs/TUNING.md
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
