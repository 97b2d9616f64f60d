package bank;

import io.fovea.Database;
import io.fovea.Options;
import java.nio.file.Path;

/** Looks at accounts that are there already. */
public final class Look {
  private Look() {}

  /**
   * Prints what is in a database.
   *
   * @param args the file
   */
  public static void main(String[] args) {
    Bank bank = new Bank();
    try (Database db = Database.open(Path.of(args[0]), Options.defaults().create(false))) {
      System.out.println("verify " + (db.verify().ok() ? "ok" : "not ok"));
      System.out.println("sum " + bank.sum(db));
    }
  }
}
