package io.fovea.spring.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.DatabaseStats;
import io.fovea.Options;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FoveaHealthTest {
  @TempDir Path folder;

  private final Options options = Options.defaults().bufferBytes(8 << 20);

  @Test
  void healthOfAnOpenAndOfAClosedDatabase() {
    Path file = folder.resolve("bank.fovea");
    Database closed;
    try (Database db = Database.open(file, options)) {
      FoveaHealth health = FoveaHealth.of(db);
      assertTrue(health.up());
      assertEquals("bank.fovea", health.details().get("name"));
      assertEquals("running", health.details().get("state"));
      assertEquals(db.stats().storage().bytes(), health.details().get("fileBytes"));
      closed = db;
    }
    FoveaHealth health = FoveaHealth.of(closed);
    assertFalse(health.up());
    assertEquals("closed", health.details().get("state"));
    try (Database db = Database.open(file, options.readOnly(true))) {
      assertTrue(FoveaHealth.of(db).up());
      assertEquals("read-only", FoveaHealth.of(db).details().get("state"));
    }
  }

  @Test
  void onlyAWorkingDatabaseIsUp() {
    for (DatabaseStats.Health health : DatabaseStats.Health.values()) {
      boolean works = health == DatabaseStats.Health.OK;
      assertEquals(works, FoveaHealth.isUp(health));
      assertEquals(!works, FoveaHealth.state(health, false).startsWith("halted: "));
      assertEquals(!works, FoveaHealth.state(health, true).startsWith("halted: "));
    }
  }
}
