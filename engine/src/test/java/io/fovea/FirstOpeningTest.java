package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Limits the number of classes that the JVM generates for the first database of a process. Each
 * lambda, method handle shape and downcall shape needs one or several, and together they took half
 * of the time of a first opening. JDK 25 generates 96 and 166; older ones generate other numbers.
 */
class FirstOpeningTest {
  private static final int FORMS_MAX = 150;
  private static final int LAMBDAS_MAX = 200;

  /** Opens a database, creates a table, commits one record and closes. */
  static final class Opens {
    private Opens() {}

    public static void main(String[] args) {
      try (Database db = Database.open(Path.of(args[0]))) {
        Table<byte[], byte[]> table = db.table(TableSpec.bytes("t", 20)).bytes();
        db.run(tx -> table.put(tx, new byte[] {1}, new byte[100]));
      }
    }
  }

  @Tag("slow")
  @Test
  void fewClassesAreGenerated(@TempDir Path folder) throws IOException, InterruptedException {
    Path log = folder.resolve("classes");
    Path output = folder.resolve("output");
    Process child =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-Xlog:class+load:file=" + log,
                "-cp",
                System.getProperty("java.class.path"),
                Opens.class.getName(),
                folder.resolve("db").toString())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    assertEquals(0, child.waitFor(), () -> "see " + output);
    List<String> loaded = Files.readAllLines(log);
    long forms = count(loaded, "java.lang.invoke.LambdaForm$");
    long lambdas = count(loaded, "$$Lambda");
    long own = loaded.stream().filter(line -> line.contains(" io.fovea.")).count();
    String counts = forms + " forms, " + lambdas + " lambdas, " + own + " classes of the engine";
    assertTrue(own > 100, counts);
    assertTrue(forms <= FORMS_MAX && lambdas <= LAMBDAS_MAX, counts);
  }

  private static long count(List<String> lines, String part) {
    return lines.stream().filter(line -> line.contains(part)).count();
  }
}
