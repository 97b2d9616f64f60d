package io.fovea.consumers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.consumers.Consumer.Run;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Scopes of {@code java.util.concurrent.StructuredTaskScope}. This is a preview API, so an
 * application outside of the build uses it, compiled and run with {@code --enable-preview}. Its
 * source is for JDK 25; with another API the test is skipped.
 *
 * <p>{@code -Dcrash.seed=N} sets the seed.
 */
class StructuredConcurrencyTest {
  private static final String SEED = System.getProperty("crash.seed", "1");

  @TempDir Path work;

  @Test
  void tenThousandClientsInScopes() throws Exception {
    assumeTrue(isThere(), "StructuredTaskScope is not that of JDK 25 in " + Runtime.version());
    Consumer scopes = Consumer.withPreview("engine-path", work, "structured");
    Run run =
        scopes.run(
            work,
            List.of("--enable-preview", "--enable-native-access=ALL-UNNAMED"),
            "bank.Scopes",
            work.resolve("scopes.fovea").toString(),
            SEED);
    assertEquals(0, run.code(), run::err);
    assertEquals(
        "sum 100000\nactive 0\nverify ok\nsuccesses true\nfailures true\n"
            + "cancelled scopes true\n",
        run.out(),
        run::err);
  }

  private static boolean isThere() {
    try {
      Class.forName("java.util.concurrent.StructuredTaskScope").getMethod("open");
      return true;
    } catch (ReflectiveOperationException e) {
      return false;
    }
  }
}
