package bank;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.error.DatabaseLockedException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Keeps a database open while a process with other flags tries to open it. */
public final class Locked {
  private Locked() {}

  /**
   * Prints the result of the other process.
   *
   * @param args the file; then the flags of the other process
   * @throws Exception if it can't be started
   */
  public static void main(String[] args) throws Exception {
    if (args.length == 1) {
      try (Database db = Database.open(Path.of(args[0]), Options.defaults())) {
        System.out.println("opened " + db.name());
      } catch (DatabaseLockedException e) {
        System.out.println("refused");
      }
      return;
    }
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of(args).subList(1, args.length));
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), "bank.Locked", args[0]));
    try (Database db = Database.open(Path.of(args[0]), Options.defaults())) {
      // A failed attempt within the process does not release the lock.
      try (Database second = Database.open(Path.of(args[0]), Options.defaults())) {
        System.out.println("opened twice: " + db.name() + ", " + second.name());
      } catch (DatabaseLockedException e) {
        new ProcessBuilder(command).inheritIO().start().waitFor();
      }
    }
  }
}
