package io.fovea.tpcc.settings;

import java.nio.file.Path;
import picocli.CommandLine.Option;

/** Which records a subcommand keeps for itself, and where; null where not given. */
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
      description = "delete the database and load it anew, also where it has the right records")
  public boolean fresh;

  @Option(
      names = "--records",
      paramLabel = "N",
      description = "how many; must be those of FILE where it has some (default: 1000000)")
  public long records = DEFAULT_RECORDS;

  /** What is wrong with them, or with how many work on them; or null. */
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

  /** What is wrong with where they are, or null. */
  public String mistake(EngineOptions engine) {
    return engine.inMemory() && (path != null || fresh)
        ? "--io memory excludes --path and --fresh"
        : engine.mistake();
  }

  /** Where they are; null for a database in memory. */
  public Path path(EngineOptions engine, Path otherwise) {
    return engine.inMemory() ? null : path != null ? path : otherwise;
  }
}
