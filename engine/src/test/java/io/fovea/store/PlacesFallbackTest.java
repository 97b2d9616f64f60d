package io.fovea.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.bindings.Availability;
import io.fovea.btree.PlaceTable;
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

/** A directory that the kernel refuses is a flat one, and the log says so. */
@Isolated("it listens to the log")
class PlacesFallbackTest {
  private static final String LINE = "the places of records have no shortcut, and are flat. ";

  private static List<String> logged(Runnable work) {
    return Logged.warnings(work).stream().filter(line -> line.contains(LINE)).toList();
  }

  private static void closes(Places places, PlaceTable table) {
    assertSame(table, places.table());
    assertTrue(places.bytes() >= PlaceTable.BYTES_MIN);
    places.close();
    assertEquals(0, places.bytes());
  }

  @ParameterizedTest
  @EnumSource
  void isFlatWhereItIsRefused(Call call) {
    Assumptions.assumeTrue(KernelFacts.memoryFiles() instanceof Availability.Available);
    RefusingFiles files = new RefusingFiles(call, 0);
    List<String> lines =
        logged(
            () -> {
              Places places = new Places("shop", 3 << 20, 4096, true, files);
              PlaceTable table = places.table();
              assertNotNull(table);
              assertEquals(2 << 20, places.bytesMax(), "a power of two");
              closes(places, table);
            });
    assertEquals(1, lines.size(), lines::toString);
    assertTrue(lines.getFirst().startsWith("shop: " + LINE), lines::toString);
    assertEquals(0, files.open());
  }

  @Test
  void hasAShortcutWhereItCan() {
    Assumptions.assumeTrue(KernelFacts.memoryFiles() instanceof Availability.Available);
    List<String> lines =
        logged(
            () -> {
              Places places = new Places("shop", 3 << 20, 4096, true, MemoryFiles.KERNEL);
              PlaceTable table = places.table();
              assertNotNull(table);
              assertEquals(3 << 20, places.bytesMax(), "granules");
              closes(places, table);
            });
    assertEquals(List.of(), lines);
  }

  @Test
  void isFlatWhereNobodyAsks() {
    RefusingFiles files = new RefusingFiles(Call.CREATE, 0);
    Places places = new Places("shop", 3 << 20, 4096, false, files);
    assertNotNull(places.table());
    assertEquals(0, files.refusals());
    places.close();
  }
}
