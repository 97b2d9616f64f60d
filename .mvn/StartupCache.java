import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Makes the cache of classes with which {@code cli/fovea.sh} starts faster: {@code fovea.aot} (JEP
 * 514), or before JDK 25 {@code fovea.jsa}, a dynamic archive. {@code fovea.jvm} names the JVM that
 * can use it.
 *
 * <p>The options must be those of {@code fovea.sh}. A failure is reported, and does not fail the
 * build: the command works without a cache.
 */
public final class StartupCache {
  private static final long SECONDS_MAX = 120;

  private StartupCache() {}

  /** Takes the jar and the name of the cache without its extension. */
  public static void main(String[] args) throws IOException, InterruptedException {
    Path jar = Path.of(args[0]);
    String name = args[1];
    if (!Files.exists(jar)) {
      return; // the build leaves out executable jars
    }
    Path home = Path.of(System.getProperty("java.home"));
    boolean aot = Runtime.version().feature() >= 25;
    Path cache = Path.of(name + (aot ? ".aot" : ".jsa"));
    Path jvm = Path.of(name + ".jvm");
    for (String extension : List.of(".aot", ".jsa", ".jvm")) {
      Files.deleteIfExists(Path.of(name + extension));
    }
    Path folder = Files.createTempDirectory("fovea-cache");
    try {
      List<String> command = new ArrayList<>();
      command.add(home.resolve("bin").resolve("java").toString());
      command.addAll(List.of("-Xms32m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
      command.add("--enable-native-access=ALL-UNNAMED");
      command.add((aot ? "-XX:AOTCacheOutput=" : "-XX:ArchiveClassesAtExit=") + cache);
      command.addAll(List.of("-Xlog:disable", "-cp", jar.toString()));
      command.addAll(List.of("io.fovea.cli.Training", folder.toString()));
      Path log = folder.resolve("log");
      Process p =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(log.toFile())
              .start();
      boolean ended = p.waitFor(SECONDS_MAX, TimeUnit.SECONDS);
      if (!ended) {
        p.destroyForcibly().waitFor();
      }
      if (ended && p.exitValue() == 0 && Files.exists(cache)) {
        Files.copy(home.resolve("release"), jvm, StandardCopyOption.REPLACE_EXISTING);
      } else {
        System.err.println("No startup cache for " + jar + ": " + Files.readString(log).strip());
      }
    } catch (IOException e) {
      System.err.println("No startup cache for " + jar + ": " + e);
    } finally {
      try (Stream<Path> files = Files.list(folder)) {
        for (Path p : files.toList()) {
          Files.deleteIfExists(p);
        }
      }
      Files.deleteIfExists(folder);
    }
  }
}
