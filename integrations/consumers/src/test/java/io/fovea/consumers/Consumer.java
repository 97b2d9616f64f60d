package io.fovea.consumers;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * An application outside of the build: its sources, and the folder of jars that Maven resolved for
 * it. It is compiled with the JDK of the tests and runs in a separate process.
 */
final class Consumer {
  private static final Path PROJECTS = Path.of("projects");

  private final Path jars;
  private final Path classes;
  private final boolean modular;

  private Consumer(Path jars, Path classes, boolean modular) {
    this.jars = jars;
    this.classes = classes;
    this.modular = modular;
  }

  /** With a module descriptor: the jars are on the module path. */
  static Consumer onModulePath(String jars, Path work, String... projects) throws IOException {
    return compile(Path.of("target", jars), work, true, false, projects);
  }

  /** Without a descriptor: the jars are on the class path. */
  static Consumer onClassPath(String jars, Path work, String... projects) throws IOException {
    return compile(Path.of("target", jars), work, false, false, projects);
  }

  /** On the class path, with preview features. */
  static Consumer withPreview(String jars, Path work, String... projects) throws IOException {
    return compile(Path.of("target", jars), work, false, true, projects);
  }

  /** Compiles the folders with all lint checks. */
  private static Consumer compile(
      Path jars, Path work, boolean modular, boolean preview, String... projects)
      throws IOException {
    Path classes = Files.createDirectories(work.resolve("classes"));
    List<Path> sources = new ArrayList<>();
    for (String project : projects) {
      try (Stream<Path> files = Files.walk(PROJECTS.resolve(project))) {
        files.filter(f -> f.toString().endsWith(".java")).forEach(sources::add);
      }
    }
    Consumer consumer = new Consumer(jars, classes, modular);
    // requires-...: Micrometer has no descriptor, which we can't change.
    List<String> options = new ArrayList<>(preview ? List.of("--enable-preview") : List.of());
    options.addAll(
        List.of(
            "-Xlint:all,-requires-automatic,-requires-transitive-automatic"
                + (preview ? ",-preview" : ""),
            "-Werror",
            "--release",
            Integer.toString(Runtime.version().feature()),
            "-d",
            classes.toString(),
            modular ? "--module-path" : "-classpath",
            consumer.path()));
    JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
    StringWriter said = new StringWriter();
    try (StandardJavaFileManager files =
        javac.getStandardFileManager(null, null, StandardCharsets.UTF_8)) {
      boolean compiled =
          javac
              .getTask(said, files, null, options, null, files.getJavaFileObjectsFromPaths(sources))
              .call();
      // Previews cause a note, whatever the options.
      assertEquals("", preview ? "" : said.toString(), "output of javac");
      assertEquals(true, compiled, said::toString);
    }
    return consumer;
  }

  /** The names of the jars, without versions. */
  List<String> jars() throws IOException {
    try (Stream<Path> files = Files.list(jars)) {
      return files
          .map(f -> f.getFileName().toString().replaceFirst("-[0-9].*", ""))
          .sorted()
          .toList();
    }
  }

  private String path() throws IOException {
    try (Stream<Path> files = Files.list(jars)) {
      return String.join(
          System.getProperty("path.separator"), files.map(Path::toString).sorted().toList());
    }
  }

  /** The result of a run. */
  record Run(int code, String out, String err) {}

  /** Runs a main class with JVM flags. */
  Run run(Path work, List<String> flags, String main, String... arguments) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx128m", "-XX:TieredStopAtLevel=1", "-Duser.language=en"));
    command.addAll(flags);
    String separator = System.getProperty("path.separator");
    command.add(modular ? "--module-path" : "-classpath");
    command.add(path() + separator + classes);
    if (modular) {
      command.add("--module");
      command.add("bank/" + main);
    } else {
      command.add(main);
    }
    command.addAll(List.of(arguments));
    Path out = work.resolve("out");
    Path err = work.resolve("err");
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile());
    // Remove settings of the test JVM, which users do not have.
    builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"));
    Process process = builder.start();
    try {
      if (!process.waitFor(5, TimeUnit.MINUTES)) {
        throw new AssertionError("the process does not end: " + Files.readString(err));
      }
    } finally {
      process.destroyForcibly();
    }
    return new Run(process.exitValue(), Files.readString(out), Files.readString(err));
  }
}
