import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Writes an argument file for a JVM that denies native access.
 *
 * <p>JDK 24 has a flag for this. Up to JDK 23, granting access to any module denies it to all
 * others. Run by the JDK that runs the tests, which may not be the one that runs Maven.
 *
 * <p>Usage: {@code Denied FILE}
 */
public final class Denied {
  public static void main(String[] args) throws IOException {
    Files.writeString(
        Path.of(args[0]),
        Runtime.version().feature() >= 24
            ? "--illegal-native-access=deny\n"
            : "--enable-native-access=java.base\n");
  }
}
