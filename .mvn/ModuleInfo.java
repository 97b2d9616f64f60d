import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Marks a compiled module descriptor as one of Java 9.
 *
 * <p>Maven makes a modular jar with the jar tool of the JDK that Maven itself runs on, and the tool
 * of a JDK 17 refuses the descriptor of a newer release. Nothing in a descriptor's format has
 * changed since 9, so its version is all there is to change.
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
