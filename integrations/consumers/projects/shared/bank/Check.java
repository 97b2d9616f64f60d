package bank;

import io.fovea.Database;
import io.fovea.Options;
import java.nio.file.Path;

/** Reads existing accounts. */
public final class Check {
  private Check() {}

  /**
   * Prints the contents of a database.
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
