package io.fovea.examples.pages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.Database;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the commands of docs/guide/startup.md on a small program. */
@Tag("slow")
class StartupPageTest {
  private static final String SHOP =
      """
      import io.fovea.Database;
      import io.fovea.Options;
      import io.fovea.schema.TableSpec;
      import java.nio.file.Files;
      import java.nio.file.Path;

      public class Shop {
        public static void main(String[] args) throws Exception {
          Path folder = Files.createTempDirectory(Path.of(""), "shop");
          try (Database db = Database.open(folder.resolve("db"), Options.defaults())) {
            var orders = db.table(TableSpec.bytes("orders", 20)).bytes();
            db.run(tx -> orders.put(tx, new byte[] {1}, new byte[] {7}));
            System.out.println("order " + db.read(tx -> orders.get(tx, new byte[] {1}))[0]);
          }
        }
      }
      """;

  private static final Pattern BLOCK = Pattern.compile("(?ms)^```sh\\n(.*?)^```$");

  /** A class loaded from a cache. */
  private static final String CACHED = "io.fovea.Database source: shared objects file";

  @TempDir Path dir;

  @Test
  void aheadOfTimeCache() throws Exception {
    assumeTrue(Runtime.version().feature() >= 25);
    runs(0);
  }

  @Test
  void dynamicArchive() throws Exception {
    runs(1);
  }

  /** Runs a block of the page. */
  private void runs(int block) throws Exception {
    makeProgram();
    List<String> blocks =
        BLOCK
            .matcher(Files.readString(PagesTest.root().resolve("docs/guide/startup.md")))
            .results()
            .map(m -> m.group(1))
            .toList();
    assertEquals(2, blocks.size());
    List<String> commands = blocks.get(block).lines().toList();
    assertEquals(2, commands.size());
    for (String command : commands) {
      run(command);
    }
    String loaded = Files.readString(dir.resolve("loaded"));
    assertTrue(loaded.contains(CACHED), "from the cache: " + commands.getLast());
  }

  private void makeProgram() throws Exception {
    Path source = Files.writeString(dir.resolve("Shop.java"), SHOP);
    Path classes = Files.createDirectory(dir.resolve("classes"));
    Path engine = codeOf(Database.class);
    Path bindings = codeOf(Class.forName("io.fovea.bindings.Libc"));
    int code =
        ToolProvider.getSystemJavaCompiler()
            .run(
                null,
                null,
                null,
                "-proc:none",
                "-d",
                classes.toString(),
                "-cp",
                engine.toString(),
                source.toString());
    assertEquals(0, code);
    Path lib = Files.createDirectory(dir.resolve("lib"));
    jar(classes, dir.resolve("shop.jar"));
    jar(engine, lib.resolve("fovea-engine.jar"));
    jar(bindings, lib.resolve("fovea-bindings.jar"));
  }

  private static Path codeOf(Class<?> c) throws URISyntaxException {
    return Path.of(c.getProtectionDomain().getCodeSource().getLocation().toURI());
  }

  /** Makes a jar of a folder, or copies one. */
  private static void jar(Path from, Path to) throws IOException {
    if (Files.isRegularFile(from)) {
      Files.copy(from, to);
      return;
    }
    try (OutputStream file = Files.newOutputStream(to);
        JarOutputStream jar = new JarOutputStream(file);
        Stream<Path> all = Files.walk(from)) {
      for (Path p : all.filter(Files::isRegularFile).sorted().toList()) {
        jar.putNextEntry(new JarEntry(from.relativize(p).toString().replace('\\', '/')));
        Files.copy(p, jar);
      }
    }
  }

  private void run(String command) throws IOException, InterruptedException {
    Path out = dir.resolve("out");
    Path log = dir.resolve("loaded");
    ProcessBuilder builder = new ProcessBuilder("sh", "-c", command);
    builder.directory(dir.toFile());
    Path bin = Path.of(System.getProperty("java.home"), "bin");
    builder.environment().put("PATH", bin + ":" + System.getenv("PATH"));
    builder.environment().put("JAVA_TOOL_OPTIONS", "-Xlog:class+load:file=" + log);
    Process p = builder.redirectErrorStream(true).redirectOutput(out.toFile()).start();
    assertEquals(0, p.waitFor(), () -> command + ": " + read(out));
    assertTrue(read(out).contains("order 7"), () -> command + ": " + read(out));
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }
}
