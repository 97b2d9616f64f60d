package io.fovea.tpcc.settings;

import io.fovea.Database;
import io.fovea.config.Durability;
import io.fovea.error.UncleanShutdownException;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.bench.Progress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;

/**
 * Opens a subcommand's own database of records, and loads them if they are missing.
 *
 * <p>A load into a file runs without a log, whatever the durability of the run, and then closes the
 * database. An interrupted load starts over.
 */
public final class Opening {
  private final Path path;
  private final EngineSettings engine;
  private final int clients;
  private final boolean named;
  private final boolean fresh;
  private final Contents contents;
  private final Progress progress;

  /**
   * Stores the parameters; opens nothing.
   *
   * @param path the file; null for a database in memory
   * @param clients the most clients of any run on the database
   * @param given the record options: whether the user named the file (the driver then must not
   *     delete it), and whether to recreate it
   */
  public Opening(
      Path path,
      EngineSettings engine,
      int clients,
      RecordOptions given,
      Contents contents,
      Progress progress) {
    this.path = path;
    this.engine = engine;
    this.clients = clients;
    this.named = given.path != null;
    this.fresh = given.fresh;
    this.contents = contents;
    this.progress = progress;
  }

  /** Tells what a database contains. */
  public interface Contents {
    /** Returns the subcommand that owns the records. */
    String owner();

    /** Tells whether the database has tables of another owner. */

    boolean foreign(Database db);

    /**
     * Tells whether the database has the wanted records. Throws DriverException if it has others instead.
     */
    boolean complete(Database db);

    /** Drops the result of an interrupted load. */

    void drop(Database db);
  }

  /** Opens a database with the records, loading them if necessary. */
  public Database ready(Consumer<Database> load) {
    if (path == null) {
      return filled(load);
    }
    Database db = loaded();
    if (db != null) {
      return db;
    }
    load(load);
    return open(engine.durability());
  }

  private Database filled(Consumer<Database> load) {
    Database db = open(engine.durability());
    try {
      load.accept(db);
      return db;
    } catch (RuntimeException e) {
      db.close();
      throw e;
    }
  }

  /** Loads a file, and closes it. */
  public void load(Consumer<Database> load) {
    try (Database db = open(Durability.NONE)) {
      contents.drop(db);
      load.accept(db);
    }
  }

  /** Opens a file with the records; returns null, with the file closed, if they must be loaded. */
  public Database loaded() {
    if (!Files.exists(path)) {
      return null;
    }
    Database db;
    try {
      db = open(engine.durability());
    } catch (UncleanShutdownException e) {
      if (named && !fresh) {
        throw new DriverException(
            Exit.UNUSABLE, e.getMessage() + " Use --fresh to delete it and load it again.");
      }
      progress.say("%s was in use without a log when its process died; it is loaded again", path);
      DatabaseFile.deleteUnusable(path);
      return null;
    }
    boolean kept = false;
    try {
      kept = !fresh && contents.complete(db);
      if (!kept && contents.foreign(db)) {
        throw new DriverException(
            Exit.UNUSABLE,
            path
                + " has tables that do not belong to "
                + contents.owner()
                + "; choose another --path");
      }
    } finally {
      if (!kept) {
        db.close();
      }
    }
    if (fresh) {
      DatabaseFile.delete(path);
    }
    return kept ? db : null;
  }

  private Database open(Durability durability) {
    return DatabaseFile.open(path, engine.with(durability).options(clients));
  }
}
