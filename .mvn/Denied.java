import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Writes a file of arguments for a JVM that denies native access.
 *
 * <p>Until JDK 23, naming anything at all denied it to the rest; JDK 24 has a flag, which an older
 * JVM refuses to start with. The build starts this on the JDK that runs the tests; Maven itself may
 * run on another.
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
