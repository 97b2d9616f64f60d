package io.fovea.examples.pages;

import static io.fovea.junit.FoveaDatabase.Location.TEMPORARY_FOLDER;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.ObjectSpec;
import io.fovea.Options;
import io.fovea.Table;
import io.fovea.junit.FoveaDatabase;
import io.fovea.schema.Id;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** The code of docs/guide/testing.md. */
class TestingPageTest {
  record Login(@Id long user, String device, Instant used) {}

  static final ObjectSpec<Long, Login> LOGINS =
      ObjectSpec.of("logins", Long.class, Login.class).expireAfter("used", Duration.ofMinutes(30));

  // begin docs/guide/testing.md
  static final AtomicReference<Instant> NOW =
      new AtomicReference<>(Instant.parse("2030-01-01T00:00:00Z"));

  static Options withClock(Options options) {
    return options.expiry(e -> e.clock(NOW::get).sweepInterval(Duration.ZERO));
  }

  @Test
  void loginsExpire(@FoveaDatabase(optionsMethod = "withClock") Database db) {
    Table<Long, Login> logins = db.table(LOGINS);
    db.run(tx -> logins.put(tx, new Login(7, "phone", NOW.get())));
    NOW.set(NOW.get().plus(Duration.ofDays(1)));
    db.sweepExpired();
    assertTrue(logins.asMap().isEmpty());
  }

  // end
  // begin docs/guide/testing.md
  @Test
  void survivesARestart(
      @FoveaDatabase(location = TEMPORARY_FOLDER) Database db, @FoveaDatabase Path file) {
    Table<Long, Login> logins = db.table(LOGINS);
    db.run(tx -> logins.put(tx, new Login(7, "phone", Instant.now())));
    db.close();
    try (Database again = Database.open(file)) {
      assertEquals(Set.of(7L), again.table(LOGINS).asMap().keySet());
    }
  }
  // end
}
