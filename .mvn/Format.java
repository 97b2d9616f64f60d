import com.google.googlejavaformat.java.Formatter;
import com.google.googlejavaformat.java.FormatterException;
import com.google.googlejavaformat.java.ImportOrderer;
import com.google.googlejavaformat.java.JavaFormatterOptions;
import com.google.googlejavaformat.java.RemoveUnusedImports;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Checks or rewrites the layout of every Java file below the given folders, with
 * google-java-format.
 *
 * <p>The build starts this as a single source file on the JDK that it compiles with. Spotless would
 * run the formatter inside Maven's own JVM, which may be a JDK 17 whose javac cannot parse the
 * syntax of Java 22.
 *
 * <p>Usage: {@code Format check|write FOLDER...}; exits with 1 where a check finds a file that is
 * not formatted.
 */
public final class Format {
  /** Written by jextract and kept as it wrote them. */
  private static final Path GENERATED = Path.of("io", "fovea", "bindings", "generated");

  public static void main(String[] args) throws IOException {
    boolean write = args[0].equals("write");
    Formatter formatter =
        new Formatter(
            JavaFormatterOptions.builder().formatJavadoc(true).reorderModifiers(true).build());
    List<String> complaints = new ArrayList<>();
    for (int i = 1; i < args.length; i++) {
      Path folder = Path.of(args[i]);
      if (!Files.isDirectory(folder)) {
        continue;
      }
      List<Path> files;
      try (var found = Files.walk(folder)) {
        files =
            found.filter(f -> f.toString().endsWith(".java") && !isGenerated(f)).sorted().toList();
      }
      for (Path file : files) {
        String before = Files.readString(file);
        String after;
        try {
          after =
              formatter.formatSource(
                  RemoveUnusedImports.removeUnusedImports(
                      ImportOrderer.reorderImports(before, JavaFormatterOptions.Style.GOOGLE)));
        } catch (FormatterException e) {
          complaints.add(file + ": " + e.getMessage());
          continue;
        }
        if (!after.equals(before)) {
          if (write) {
            Files.writeString(file, after);
            System.out.println("formatted " + file);
          } else {
            complaints.add(file.toString());
          }
        }
      }
    }
    if (!complaints.isEmpty()) {
      System.err.println("Not formatted (mvn -Pformat process-sources mends it):");
      complaints.forEach(c -> System.err.println("  " + c));
      System.exit(1);
    }
  }

  private static boolean isGenerated(Path file) {
    for (int i = 0; i + GENERATED.getNameCount() < file.getNameCount(); i++) {
      if (file.subpath(i, i + GENERATED.getNameCount()).equals(GENERATED)) {
        return true;
      }
    }
    return false;
  }
}
