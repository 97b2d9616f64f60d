package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.TimestampStore;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The JDK, java.io and libc resolve a name to the same file, or it is rejected. Runs in processes
 * whose working directory is not {@code user.dir}, or whose encoding lacks characters of a name.
 */
@Tag("slow")
class FileNamesTest {
  @TempDir Path folder;

  private static Options options() {
    return Options.defaults()
        .bufferBytes(4 << 20)
        .memory(mem -> mem.timestampBytes(1 << 20))
        .experiments(exp -> exp.timestamps(TimestampStore.DISK));
  }

  /** A relative name creates the file where the JDK resolves the name, and nowhere else. */
  @Test
  void relativeNamesResolveLikeInTheJdk() throws IOException, InterruptedException {
    Path working = Files.createDirectory(folder.resolve("working"));
    Path user = Files.createDirectory(folder.resolve("user"));
    String said = child(working, "C.UTF-8", List.of("-Duser.dir=" + user), "use");
    assertEquals(List.of(), list(working), said);
    assertTrue(list(user).containsAll(List.of("rel", "rel.log", "restored", "backup")), said);
    assertEquals(List.of("rel", "rel.log", "rel.manifest"), list(user.resolve("backup")), said);
  }

  /** A name that the process's encoding cannot represent is rejected; no file is created. */
  @Test
  void namesThatCannotBeEncodedAreRefused() throws IOException, InterruptedException {
    Path working = Files.createDirectory(folder.resolve("d\u00fcrr"));
    String said = child(working, "C", List.of(), "refused", folder.toString());
    assertEquals(List.of(), list(working), said);
    assertEquals(List.of("d\u00fcrr", "logging.properties", "output"), list(folder), said);
  }

  private static List<String> list(Path directory) throws IOException {
    try (Stream<Path> all = Files.list(directory)) {
      return all.map(f -> f.getFileName().toString())
          .filter(f -> !f.endsWith(".dwb"))
          .sorted()
          .toList();
    }
  }

  private String child(Path working, String locale, List<String> flags, String... args)
      throws IOException, InterruptedException {
    Path output = folder.resolve("output");
    Path quiet = Files.writeString(folder.resolve("logging.properties"), ".level=SEVERE\n");
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("-Djava.util.logging.config.file=" + quiet);
    command.add("-XX:TieredStopAtLevel=1");
    command.addAll(flags);
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(Child.class.getName());
    command.addAll(List.of(args));
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(working.toFile())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile());
    builder.environment().put("LC_ALL", locale);
    Process child = builder.start();
    int rc = child.waitFor();
    String said = Files.readString(output, StandardCharsets.ISO_8859_1);
    assertEquals(0, rc, said);
    return said;
  }

  static final class Child {
    private Child() {}

    public static void main(String[] args) throws IOException {
      if (args[0].equals("use")) {
        use();
        return;
      }
      refused(Path.of("rel"));
      int directories = 0;
      try (Stream<Path> all = Files.list(Path.of(args[1]))) {
        for (Path path : all.filter(Files::isDirectory).toList()) {
          refused(path.resolve("db"));
          directories++;
        }
      }
      if (directories != 1) {
        throw new AssertionError(directories + " directories");
      }
    }

    private static void refused(Path path) {
      try {
        Database.open(path, options()).close();
      } catch (InvalidUseException e) {
        if (!e.getMessage().contains("encoding")) {
          throw e;
        }
        return;
      }
      throw new AssertionError("opened " + path);
    }

    private static void use() {
      Path file = Path.of("rel");
      try (Database db = Database.open(file, options())) {
        Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 16)).bytes();
        db.run(tx -> t.put(tx, new byte[] {1}, new byte[100]));
        db.backup(Path.of("backup"));
      }
      FileReport restored = Restore.from(Path.of("backup")).to(Path.of("restored"), options());
      if (!restored.ok() || !FileReport.verify(file, options()).ok()) {
        throw new AssertionError(restored.toString());
      }
      FileDump.open(file).close();
      Database.open(file, options().readOnly(true)).close();
    }
  }
}
