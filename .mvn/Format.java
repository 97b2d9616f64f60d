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
 * Checks or rewrites the layout of all Java files below the given folders, with google-java-format.
 *
 * <p>Run as a single source file by the JDK that compiles the project. Spotless runs the formatter
 * in Maven's own JVM, which may be a JDK 17 whose javac cannot parse Java 22.
 *
 * <p>Usage: {@code Format check|write FOLDER...}. A check exits with 1 if a file is not formatted.
 */
public final class Format {
  /** Output of jextract, left as generated. */
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
      System.err.println("Not formatted (run mvn -q -N -Pformat process-sources):");
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
