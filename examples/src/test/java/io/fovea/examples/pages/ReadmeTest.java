package io.fovea.examples.pages;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.ObjectSpec;
import io.fovea.Table;
import io.fovea.schema.Id;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of README.md. {@link PagesTest} compares the page with the regions marked here. */
class ReadmeTest {
  // begin README.md
  record Account(@Id long number, String owner, long cents) {
    Account minus(long amount) {
      return new Account(number, owner, cents - amount);
    }
  }

  static final ObjectSpec<Long, Account> ACCOUNTS =
      ObjectSpec.of("accounts", Long.class, Account.class);

  // end
  @TempDir Path folder;

  @Test
  void tenLines() {
    // begin README.md
    try (Database db = Database.open(folder.resolve("bank.fovea"))) {
      Table<Long, Account> accounts = db.table(ACCOUNTS); // opens it, or creates it
      db.run(tx -> accounts.put(tx, new Account(1, "Ada", 100_00)));
      db.run(tx -> accounts.update(tx, 1L, ada -> ada.minus(25_00))); // again after a conflict
      boolean right = db.read(tx -> accounts.get(tx, 1L)).cents() == 75_00;
      // end
      assertTrue(right);
      // begin README.md
    }
    // end
  }
}
