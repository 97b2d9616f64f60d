package io.fovea;

import io.fovea.btree.KeyLocationCache;
import io.fovea.btree.PlacePoison;
import io.fovea.buffer.TestLatches;
import io.fovea.catalog.Schema;
import io.fovea.index.IndexCore;
import io.fovea.index.TableCore;
import io.fovea.io.Storage;
import io.fovea.store.Journal;
import io.fovea.store.Opening;
import io.fovea.store.StoreConfig;
import io.fovea.support.Records;
import io.fovea.support.Surroundings;
import io.fovea.txn.FaultInjection;
import io.fovea.txn.TestLocks;
import io.fovea.txn.TxConfig;
import io.fovea.txn.TxEngine;
import io.fovea.wal.TestSpace;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Gives tests of other packages access to internals of a database. */
public final class SimDatabase {
  private SimDatabase() {}

  public static Database open(Storage storage, Options options) {
    return Database.open(storage, options);
  }

  /** Opens a database that wrongly writes pages before the log; tests must detect it. */
  public static Database openPageBeforeLog(Storage storage, Options options) {
    return FaultInjection.without(FaultInjection.Step.LOG_BEFORE_PAGE)
        .during(() -> Database.open(storage, options));
  }

  /** Opens a database in given surroundings: with hints, without, or with wrong ones. */
  public static Database open(Storage storage, Options options, Surroundings surroundings) {
    boolean off = !surroundings.hints();
    boolean poisoned = surroundings.wrongHints();
    Hints hints = off ? Hints.NONE : poisoned ? Hints.ALL : options.experiments().hints();
    Options how = options.experiments(exp -> exp.hints(hints));
    return surroundings.making(() -> Database.open(storage, how));
  }

  /** Opens a database with faults or with settings that no option has. */
  public static Database open(
      Storage storage, Options options, FaultInjection faults, UnaryOperator<TxConfig> settings) {
    StoreConfig c = options.toStore();
    StoreConfig config = Records.with(c, "transactions", settings.apply(c.transactions()));
    return faults.during(() -> Database.made(options, Opening.on(storage, config, Schema.CATALOG)));
  }

  public static void poisonPlaces(Database db, Random random) {
    KeyLocationCache places =
        db.store().locationCacheBytes() == 0 ? null : db.store().keyLocations();
    if (places != null) {
      PlacePoison.poison(places, random);
    }
  }

  /** Describes what prevents a checkpoint: held sessions, and the pages newer than the file. */
  public static String stuck(Database db) {
    Journal j = db.store().journal();
    return held(db)
        + (j == null
            ? ""
            : ", log to " + j.log().tail() + ", oldest session " + j.log().minActive() + ": ")
        + TestLatches.dirty(db.store().pool());
  }

  /** Describes what is latched or locked in an idle database; empty if nothing. */
  public static String held(Database db) {
    return TestLatches.held(db.store().pool())
        + TestLocks.held(db.store().engine())
        + heldBack(db.store().journal());
  }

  /** Returns the current root page of a table. */
  public static long root(Database db, String table) {
    return Objects.requireNonNull(db.schema().core(table)).tree.rootPid();
  }

  /** Returns the indexes of a table, whatever its specification says; null if there is no table. */
  public static @Nullable Set<String> indexes(Database db, String table) {
    TableCore core = db.schema().core(table);
    return core == null
        ? null
        : core.readable().stream().map(i -> i.name).collect(Collectors.toCollection(TreeSet::new));
  }

  /** Returns the root pages of a database that isn't being changed. */
  public static Set<Long> roots(Database db) {
    Set<Long> all = new TreeSet<>();
    for (TableCore table : db.schema().tables()) {
      all.add(table.tree.rootPid());
      for (IndexCore index : table.readable()) {
        all.add(index.tree.rootPid());
      }
    }
    return all;
  }

  /** Describes what holds back the log's redo point or its space; empty if nothing does. */
  private static String heldBack(@Nullable Journal journal) {
    for (int round = 0; journal != null && round < 3_000; round++) {
      if (journal.log().minActive() == Long.MAX_VALUE && TestSpace.held(journal.log()) == 0) {
        return "";
      }
      LockSupport.parkNanos(1_000_000);
    }
    return journal == null
        ? ""
        : " the redo point: "
            + journal.log().minActive()
            + ", of the log's space: "
            + TestSpace.held(journal.log());
  }

  /**
   * Describes the log space that operations have and do not use, in an idle database; empty if
   * none. Operations that failed halfway have none either: others would wait for it.
   */
  public static String heldLogSpace(Database db) {
    Journal journal = db.store().journal();
    for (int round = 0; journal != null && round < 3_000; round++) {
      if (TestSpace.held(journal.log()) == 0) {
        return "";
      }
      LockSupport.parkNanos(1_000_000);
    }
    return journal == null ? "" : TestSpace.held(journal.log()) + " bytes of the log's space";
  }

  /** Returns the tables and indexes whose row count is unknown; empty if there are none. */
  public static String uncounted(Database db) {
    StringBuilder all = new StringBuilder();
    for (TableCore table : db.schema().tables()) {
      all.append(table.tree.counts().isKnown() ? "" : " " + table.name);
      for (IndexCore index : table.indexes()) {
        all.append(index.tree.counts().isKnown() ? "" : " " + table.name + "." + index.name);
      }
    }
    return all.toString();
  }

  public static int version(Database db, String table) {
    TableCore core = db.schema().core(table);
    return core.layout == null ? 1 : core.history().version();
  }

  public static TxEngine engine(Database db) {
    return db.store().engine();
  }

  public static void checkpoint(Database db) {
    db.checkpoint();
  }

  /** Ends the database like a kill: writes and marks nothing. */
  public static void abandon(Database db) {
    db.abandon();
  }
}
