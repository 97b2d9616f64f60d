package io.fovea.examples.pages;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Options;
import io.fovea.Row;
import io.fovea.Table;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of README.md: {@link PagesTest} holds the page against what is marked here. */
class ReadmeTest {
  @TempDir Path folder;

  @Test
  void tenLines() {
    // begin README.md
    Layout.Builder layout = Layout.builder();
    Field owner = layout.text("owner", 32);
    Field cents = layout.int64("cents");
    TableSpec spec = TableSpec.of("accounts", KeySpec.of(FieldType.INT64), layout.build());

    try (Database db = Database.open(folder.resolve("bank.fovea"), Options.defaults())) {
      Table accounts = db.table(spec); // opens it, or creates it
      Key ada = accounts.key().set(1L);
      Row row = accounts.row();
      db.run(tx -> accounts.put(tx, ada, row.setText(owner, "Ada").setLong(cents, 100_00)));
      db.run( // serializable; runs again after a conflict
          tx -> {
            if (accounts.getForUpdate(tx, ada, row)) {
              accounts.update(tx, row.setLong(cents, row.getLong(cents) - 25_00));
            }
          });
      boolean right = db.read(tx -> accounts.get(tx, ada, row) && row.getLong(cents) == 75_00);
      // end
      assertTrue(right);
      // begin README.md
    }
    // end
  }
}
