package bank;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.micrometer.FoveaMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Path;

/** Writes the accounts, and reads the number of transactions from a meter. */
public final class Meters {
  private Meters() {}

  /**
   * Prints the value of the meter.
   *
   * @param args the file
   */
  public static void main(String[] args) {
    Bank bank = new Bank();
    SimpleMeterRegistry registry = new SimpleMeterRegistry();
    try (Database db = Database.open(Path.of(args[0]), Options.defaults())) {
      new FoveaMetrics(db).bindTo(registry);
      bank.fill(db);
      double commits =
          registry.get("fovea.transactions").tag("outcome", "commit").functionCounter().count();
      System.out.println("commits " + (long) commits);
    }
  }
}
