package bank;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.error.DatabaseLockedException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Keeps a database open read-only while a process with other flags reads it too. */
public final class Readers {
  private Readers() {}

  /**
   * Prints what both have read, and whether the other one could have written.
   *
   * @param args the file; then the flags of the other process
   * @throws Exception if it can't be started
   */
  public static void main(String[] args) throws Exception {
    Bank bank = new Bank();
    Path file = Path.of(args[0]);
    try (Database db = Database.open(file, Options.defaults().readOnly(true))) {
      System.out.println("sum " + bank.sum(db));
      if (args.length > 1) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of(args).subList(1, args.length));
        command.addAll(List.of("-cp", System.getProperty("java.class.path")));
        command.addAll(List.of("bank.Readers", args[0]));
        new ProcessBuilder(command).inheritIO().start().waitFor();
      }
    }
    if (args.length == 1) {
      // The other process is still reading.
      try (Database db = Database.open(file, Options.defaults())) {
        System.out.println("opened " + db.name());
      } catch (DatabaseLockedException e) {
        System.out.println("refused");
      }
    }
  }
}
