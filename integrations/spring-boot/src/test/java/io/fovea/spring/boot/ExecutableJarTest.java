package io.fovea.spring.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.loader.tools.Library;
import org.springframework.boot.loader.tools.LibraryScope;
import org.springframework.boot.loader.tools.Repackager;

/** The sample as an executable jar in a process, stopped by a signal. */
@Tag("slow")
class ExecutableJarTest {
  private static final Pattern PORT = Pattern.compile("Tomcat started on port (\\d+)");

  @TempDir Path folder;

  @Test
  void jarHasNativeAccessAndStopsCleanly() throws Exception {
    Path jar = jar();
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-XX:TieredStopAtLevel=1");
    if (Runtime.version().feature() >= 24) {
      command.add("--illegal-native-access=deny");
    }
    command.addAll(List.of("-jar", jar.toString(), "--server.port=0"));
    Process process =
        new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true).start();
    try (BufferedReader out = process.inputReader()) {
      String address = "http://localhost:" + port(out);
      assertEquals("200 ", send("POST", address + "/accounts/1?owner=Ada&cents=7500"));
      String health = send("GET", address + "/actuator/health/fovea");
      assertTrue(health.contains("\"state\":\"running\""), health);
      assertFalse(health.contains("java.io"), health); // the device without native access
      process.toHandle().destroy(); // Process.destroy would close the output
      out.lines().forEach(line -> {}); // until it ends
      process.waitFor();
    } finally {
      process.destroyForcibly();
    }
    try (Database db = Database.open(folder.resolve("data/bank.fovea"))) {
      assertEquals(0, db.stats().recovery().logBytes()); // closed, so there was nothing to recover
      assertEquals(1, db.tableSizes().get("accounts").records());
    }
  }

  private static String port(BufferedReader out) throws IOException {
    StringBuilder seen = new StringBuilder();
    for (String line = out.readLine(); line != null; line = out.readLine()) {
      seen.append(line).append('\n');
      Matcher m = PORT.matcher(line);
      if (m.find()) {
        return m.group(1);
      }
    }
    throw new AssertionError("The application ended:\n" + seen);
  }

  private static String send(String method, String uri) throws Exception {
    try (HttpClient client = HttpClient.newHttpClient()) {
      HttpRequest request =
          HttpRequest.newBuilder(URI.create(uri))
              .method(method, HttpRequest.BodyPublishers.noBody())
              .build();
      HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
      return answer.statusCode() + " " + answer.body();
    }
  }

  /** The jar as the build plugin of Spring Boot makes it. */
  private Path jar() throws IOException {
    Path classes = folder.resolve("classes.jar");
    Path tests =
        Path.of(
                URI.create(
                    ExecutableJarTest.class.getResource("/application.properties").toString()))
            .getParent();
    pack(classes, tests, p -> p.startsWith("bank/") || p.equals("application.properties"));
    Path jar = folder.resolve("app.jar");
    Repackager repackager = new Repackager(classes.toFile());
    repackager.setMainClass("bank.BankApplication");
    repackager.repackage(
        jar.toFile(),
        callback -> {
          for (String path : System.getProperty("java.class.path").split(File.pathSeparator)) {
            Path entry = Path.of(path);
            if (Files.isDirectory(entry) && !entry.equals(tests)) {
              Path packed = folder.resolve("classes-" + Math.abs(path.hashCode()) + ".jar");
              pack(packed, entry, p -> true);
              callback.library(new Library(packed.toFile(), LibraryScope.COMPILE));
            } else if (Files.isRegularFile(entry)) {
              callback.library(new Library(entry.toFile(), LibraryScope.COMPILE));
            }
          }
        });
    return jar;
  }

  private static void pack(Path jar, Path directory, Predicate<String> included)
      throws IOException {
    Manifest manifest = new Manifest();
    manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
    manifest.getMainAttributes().putValue("Enable-Native-Access", "ALL-UNNAMED");
    try (OutputStream file = Files.newOutputStream(jar);
        JarOutputStream out = new JarOutputStream(file, manifest);
        Stream<Path> files = Files.walk(directory)) {
      for (Path p : files.filter(Files::isRegularFile).sorted().toList()) {
        String name = directory.relativize(p).toString().replace(File.separatorChar, '/');
        if (included.test(name) && !name.equals("META-INF/MANIFEST.MF")) {
          out.putNextEntry(new JarEntry(name));
          Files.copy(p, out);
          out.closeEntry();
        }
      }
    }
  }
}
