package io.fovea.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.bindings.Availability;
import io.fovea.btree.KeyLocationCache;
import io.fovea.memory.KernelFacts;
import io.fovea.memory.MemoryFiles;
import io.fovea.memory.RefusingFiles;
import io.fovea.memory.RefusingFiles.Call;
import io.fovea.support.Logged;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** If the kernel refuses a shortcut directory, the cache is flat and a warning is logged. */
@Isolated("the test captures the log")
class ShortcutFallbackTest {
  private static final String LINE =
      "the key location cache has the layout FLAT, since SHORTCUT is not possible. ";

  private static List<String> logged(Runnable work) {
    return Logged.warnings(work).stream().filter(line -> line.contains(LINE)).toList();
  }

  private static void closes(KeyLocations keyLocations, KeyLocationCache table) {
    assertSame(table, keyLocations.cache());
    assertTrue(keyLocations.bytes() >= KeyLocationCache.BYTES_MIN);
    keyLocations.close();
    assertEquals(0, keyLocations.bytes());
  }

  @ParameterizedTest
  @EnumSource
  void isFlatIfRefused(Call call) {
    Assumptions.assumeTrue(KernelFacts.memoryFiles() instanceof Availability.Available);
    RefusingFiles files = new RefusingFiles(call, 0);
    List<String> lines =
        logged(
            () -> {
              KeyLocations keyLocations = new KeyLocations("shop", 3 << 20, 4096, true, files);
              KeyLocationCache table = keyLocations.cache();
              assertNotNull(table);
              assertEquals(2 << 20, keyLocations.maxBytes(), "a power of two");
              closes(keyLocations, table);
            });
    assertEquals(1, lines.size(), lines::toString);
    assertTrue(lines.getFirst().startsWith("shop: " + LINE), lines::toString);
    assertEquals(0, files.open());
  }

  @Test
  void hasAShortcutIfPossible() {
    Assumptions.assumeTrue(KernelFacts.memoryFiles() instanceof Availability.Available);
    List<String> lines =
        logged(
            () -> {
              KeyLocations keyLocations =
                  new KeyLocations("shop", 3 << 20, 4096, true, MemoryFiles.KERNEL);
              KeyLocationCache table = keyLocations.cache();
              assertNotNull(table);
              assertEquals(3 << 20, keyLocations.maxBytes(), "granules");
              closes(keyLocations, table);
            });
    assertEquals(List.of(), lines);
  }

  @Test
  void isFlatByDefault() {
    RefusingFiles files = new RefusingFiles(Call.CREATE, 0);
    KeyLocations keyLocations = new KeyLocations("shop", 3 << 20, 4096, false, files);
    assertNotNull(keyLocations.cache());
    assertEquals(0, files.refusals());
    keyLocations.close();
  }
}
