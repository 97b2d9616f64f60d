import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Sets the class file version of a compiled module descriptor to that of Java 9.
 *
 * <p>Maven runs the jar tool of its JDK, and JDK 17's rejects newer descriptors. The format is the
 * same since Java 9, so changing the version suffices.
 */
public final class ModuleInfo {
  private static final int JAVA_9 = 53;

  public static void main(String[] args) throws IOException {
    Path file = Path.of(args[0]);
    byte[] bytes = Files.readAllBytes(file);
    bytes[6] = 0;
    bytes[7] = JAVA_9;
    Files.write(file, bytes);
  }
}
