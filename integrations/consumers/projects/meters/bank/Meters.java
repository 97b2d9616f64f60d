package bank;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.micrometer.FoveaMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Path;

/** The accounts, and how many transactions wrote them as a meter. */
public final class Meters {
  private Meters() {}

  /**
   * Prints what the meter says.
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
