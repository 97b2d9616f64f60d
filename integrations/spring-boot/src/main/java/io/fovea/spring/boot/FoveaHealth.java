package io.fovea.spring.boot;

import io.fovea.Database;
import io.fovea.DatabaseStats;
import io.fovea.error.DatabaseClosedException;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The health of a database, for the health APIs of both lines of Spring Boot.
 *
 * @param up whether transactions can run
 * @param details the name and the state; of an open database also figures
 */
record FoveaHealth(boolean up, Map<String, Object> details) {
  static FoveaHealth of(Database database) {
    Map<String, Object> details = new LinkedHashMap<>();
    details.put("name", database.name());
    try {
      DatabaseStats stats = database.stats();
      details.put("state", state(stats.health(), database.options().readOnly()));
      details.put("durability", database.options().durability());
      details.put("device", stats.io().kind());
      details.put("fileBytes", stats.storage().bytes());
      details.put("freeBytes", stats.storage().freeBytes());
      details.put("logBytes", stats.storage().logBytes());
      details.put("activeTransactions", stats.activeTransactions());
      return new FoveaHealth(isUp(stats.health()), details);
    } catch (DatabaseClosedException e) {
      details.put("state", "closed");
      return new FoveaHealth(false, details);
    }
  }

  static boolean isUp(DatabaseStats.Health health) {
    return health == DatabaseStats.Health.OK;
  }

  static String state(DatabaseStats.Health health, boolean readOnly) {
    return switch (health) {
      case OK -> readOnly ? "read-only" : "running";
      case DURABILITY_LOST -> "halted: nothing can become durable; restart the application";
      case STOPPED -> "halted: a commit failed halfway; restart the application";
    };
  }
}
