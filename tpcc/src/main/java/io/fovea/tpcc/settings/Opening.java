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
 * Opens a database of records that a subcommand keeps for itself, which are loaded where they are
 * not there.
 *
 * <p>A load into a file runs without a log, whatever the durability of the run is, and closes the
 * database afterwards: it is done again where it was cut short.
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
   * Opens nothing yet.
   *
   * @param path the file; null for a database in memory
   * @param clients the most that any run on the database has
   * @param given whether the user has named the file, so that it is not the driver's to delete, and
   *     wants it made anew
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

  /** What a database is found to hold. */
  public interface Contents {
    /** The subcommand that the records are of. */
    String owner();

    /** Whether it holds tables of something else. */
    boolean foreign(Database db);

    /**
     * Whether it holds the records that are wanted.
     *
     * @throws DriverException if it has others instead
     */
    boolean complete(Database db);

    /** Drops what a load that was cut short has left. */
    void drop(Database db);
  }

  /** Opens a database that has the records. */
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

  /** Opens a file that has the records; null, and closed, where they are to be loaded. */
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
            Exit.UNUSABLE, e.getMessage() + " --fresh deletes it and loads it anew.");
      }
      progress.say("%s was left without a log: it is loaded again", path);
      DatabaseFile.deleteUnusable(path);
      return null;
    }
    boolean kept = false;
    try {
      kept = !fresh && contents.complete(db);
      if (!kept && contents.foreign(db)) {
        throw new DriverException(
            Exit.UNUSABLE,
            path + " has other tables than those of " + contents.owner() + "; give another --path");
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
