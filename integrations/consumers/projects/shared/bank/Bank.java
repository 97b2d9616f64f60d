package bank;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Options;
import io.fovea.Row;
import io.fovea.RowTable;
import io.fovea.VerifyReport;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.file.Path;

/** The example of the README, with a second opening that checks the results of the first. */
public final class Bank {
  private static final int ACCOUNTS = 10_000;

  private final Field cents;
  private final TableSpec spec;

  /** Accounts with an owner and a balance. */
  public Bank() {
    Layout.Definition b = Layout.define();
    b.text("owner", 32);
    cents = b.int64("cents");
    spec = TableSpec.of("accounts", KeySpec.of(FieldType.INT64), b.build());
  }

  /**
   * Opens a database twice and prints its contents.
   *
   * @param args the file
   */
  public static void main(String[] args) {
    Bank bank = new Bank();
    Path file = Path.of(args[0]);
    try (Database db = Database.open(file, Options.defaults())) {
      bank.fill(db);
    }
    try (Database db = Database.open(file, Options.defaults())) {
      VerifyReport report = db.verify();
      System.out.println("verify " + (report.ok() ? "ok" : report.toString()));
      System.out.println("sum " + bank.sum(db));
    }
  }

  /** Writes the accounts. */
  public void fill(Database db) {
    RowTable accounts = db.table(spec);
    Key key = accounts.key();
    Row row = accounts.row();
    for (int i = 0; i < ACCOUNTS; i += 100) {
      int from = i;
      db.run(
          tx -> {
            for (long id = from; id < from + 100; id++) {
              accounts.insert(tx, key.set(id), row.setLong(cents, id));
            }
          });
    }
  }

  /** The total of all accounts. */
  public long sum(Database db) {
    RowTable accounts = db.table(spec);
    Key key = accounts.key();
    Row row = accounts.row();
    return db.read(
        tx -> {
          long sum = 0;
          for (long id = 0; id < ACCOUNTS; id++) {
            if (accounts.get(tx, key.set(id), row)) {
              sum += row.getLong(cents);
            }
          }
          return sum;
        });
  }
}
