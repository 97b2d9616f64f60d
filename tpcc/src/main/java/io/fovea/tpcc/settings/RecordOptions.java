package io.fovea.tpcc.settings;

import java.nio.file.Path;
import picocli.CommandLine.Option;

/** The records of a subcommand and their file; null if not given. */
public final class RecordOptions {
  public static final long DEFAULT_RECORDS = 1_000_000;
  private static final long MAX_RECORDS = 100_000_000_000L;

  @Option(
      names = "--path",
      paramLabel = "FILE",
      description =
          "the database (default: one in the current folder, named after the number of records and"
              + " their size)")
  public Path path;

  @Option(
      names = "--fresh",
      description = "delete the database and load it again, even if it has the right records")
  public boolean fresh;

  @Option(
      names = "--records",
      paramLabel = "N",
      description = "number of records; must match those of an existing FILE (default: 1000000)")
  public long records = DEFAULT_RECORDS;

  /** Returns a message for a mistake in these options, or in the threads and clients, or null. */
  public String mistake(WorkOptions work, RunOptions run) {
    if (records < 1 || records > MAX_RECORDS) {
      return "--records: 1 to " + MAX_RECORDS;
    }
    if (work.mistake() != null) {
      return work.mistake();
    }
    if (run.clients != null
        && (run.clients < work.threads() || run.clients > WorkOptions.MAX_THREADS)) {
      return "--clients: from --threads to " + WorkOptions.MAX_THREADS;
    }
    return null;
  }

  /** Returns a message for a mistake in the location, or null. */
  public String mistake(EngineOptions engine) {
    return engine.inMemory() && (path != null || fresh)
        ? "--io memory excludes --path and --fresh"
        : engine.mistake();
  }

  /** Returns the file; null for a database in memory. */
  public Path path(EngineOptions engine, Path otherwise) {
    return engine.inMemory() ? null : path != null ? path : otherwise;
  }
}
