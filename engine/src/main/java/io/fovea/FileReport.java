package io.fovea;

import io.fovea.error.DatabaseLockedException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.StorageException;
import io.fovea.inspection.FileFindings;
import io.fovea.inspection.Inspection;
import io.fovea.recovery.PageScan;
import io.fovea.recovery.Superblock;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.UUID;

/**
 * Describes the file of a database that no process has open: its properties, its use of space, and
 * its damage. Created by {@link #inspect} and {@link #verify}. A value; safe for any thread.
 *
 * @param header the contents of the superblock
 * @param files the sizes of the files
 * @param log the contents of the log
 * @param trees the space of the catalog, of each table and of each index
 * @param freePages the number of free pages
 * @param unwrittenPages pages below the high-water mark that are zeros: never written, or punched
 *     out
 * @param records the records of all tables; 0 if they were not counted
 * @param problems descriptions of the first problems found; empty if there are none
 * @since 0.1.0
 */
public record FileReport(
    Header header,
    Files files,
    Log log,
    List<Tree> trees,
    long freePages,
    long unwrittenPages,
    long records,
    List<String> problems) {
  /** Copies the lists. */
  public FileReport {
    trees = List.copyOf(Objects.requireNonNull(trees, "trees"));
    problems = List.copyOf(Objects.requireNonNull(problems, "problems"));
  }

  /**
   * Describes the file of a database that no process has open, without changing anything on disk. A
   * file that was not closed is recovered in memory, which takes memory for every page that
   * recovery changes; the report shows the recovered state.
   *
   * @param file the data file
   * @param options the memory to use; the page size is that of the file
   * @return the report; damage is part of it, not an exception
   * @throws IncompatibleFormatException if there is no such file, or it is not a database
   * @throws DatabaseLockedException if it is open
   * @throws StorageException if it can't be read at all
   */
  public static FileReport inspect(Path file, Options options) {
    Objects.requireNonNull(file, "file");
    Objects.requireNonNull(options, "options");
    return FileReport.of(Inspection.run(file, options.toStoreConfig(), false));
  }

  /**
   * Verifies the file of a database that no process has open: every page, every tree, and the log
   * as far as recovery would read it. For indexes by extractors, only the structure is checked,
   * since the file does not contain the extractors. Otherwise like {@link #inspect}, including its
   * exceptions.
   *
   * @param file the data file
   * @param options the memory to use; the page size is that of the file
   * @return the report; damage is part of it, not an exception
   * @throws OperationInterruptedException if the thread is interrupted; the flag stays set
   */
  public static FileReport verify(Path file, Options options) {
    Objects.requireNonNull(file, "file");
    Objects.requireNonNull(options, "options");
    return FileReport.of(Inspection.run(file, options.toStoreConfig(), true));
  }

  /** The state in which a file was left. */
  public enum State {
    /** Closed and complete. */
    CLEAN,
    /** Not closed, but complete together with its log. The next opening recovers it. */
    NEEDS_RECOVERY,
    /** Not closed, and written without a log: it can't be opened. */
    UNCLEAN
  }

  /**
   * The superblock.
   *
   * @param id the identity of the database
   * @param created the time of creation
   * @param formatVersion the version of the file format
   * @param pageSize the size of a page, in bytes
   * @param pages pages ever allocated, including superblocks; counted after recovery if that is
   *     needed
   * @param state the state in which the file was left
   * @param sequence how often the superblock was written
   * @param incarnation how often the log was opened; 0 if there never was a log
   * @param redoLsn where recovery starts reading the log; 0 if there never was a log
   */
  public record Header(
      UUID id,
      Instant created,
      int formatVersion,
      int pageSize,
      long pages,
      State state,
      long sequence,
      long incarnation,
      long redoLsn) {}

  /**
   * The sizes of the files, in bytes.
   *
   * @param dataBytes the data file
   * @param logBytes the log; 0 if there is none
   * @param doubleWriteBytes the double-write area; 0 if there is none
   */
  public record Files(long dataBytes, long logBytes, long doubleWriteBytes) {}

  /**
   * The part of the log that recovery reads, from the redo point. The log of a closed file is not
   * needed, and is not read.
   *
   * @param endLsn its end; 0 if it was not read
   * @param records its records
   * @param commits commits among these
   */
  public record Log(long endLsn, long records, long commits) {}

  /**
   * The space of a tree.
   *
   * @param table the table's name; empty for the catalog
   * @param index the index's name; empty for the table itself
   * @param treeId the number that its pages carry
   * @param rootPid the page id of its root
   * @param levels the number of levels, including the leaves
   * @param entries records, or entries of the index
   * @param leafPages leaves
   * @param innerPages inner nodes
   * @param longPages pages of values too long for a leaf
   * @param usedBytes the bytes in use in leaves
   * @param capacityBytes the capacity of leaves, in bytes
   */
  public record Tree(
      String table,
      String index,
      int treeId,
      long rootPid,
      int levels,
      long entries,
      long leafPages,
      long innerPages,
      long longPages,
      long usedBytes,
      long capacityBytes) {
    /** {@return the number of its pages} */
    public long pages() {
      return leafPages + innerPages + longPages;
    }
  }

  static FileReport of(FileFindings f) {
    Superblock s = f.superblock();
    return new FileReport(
        header(s, f.pages()),
        new Files(f.dataBytes(), f.logBytes(), f.doubleWriteBytes()),
        new Log(f.logEnd(), f.logRecords(), f.logCommits()),
        f.trees().stream().map(FileReport::tree).toList(),
        f.freePages(),
        f.unwrittenPages(),
        f.records(),
        f.problems());
  }

  static Header header(Superblock s, long pages) {
    return new Header(
        s.id(),
        Instant.ofEpochMilli(s.createdMillis()),
        Superblock.FORMAT_VERSION,
        s.pageSize(),
        pages,
        switch (s.state()) {
          case Superblock.CLEAN -> State.CLEAN;
          case Superblock.LOGGED -> State.NEEDS_RECOVERY;
          default -> State.UNCLEAN;
        },
        s.sequence(),
        s.incarnation(),
        s.redoLsn());
  }

  private static Tree tree(FileFindings.Tree t) {
    PageScan.Sum sum = t.sum();
    return new Tree(
        t.table(),
        t.index(),
        t.treeId(),
        t.rootPid(),
        sum.levels(),
        sum.entries(),
        sum.leafPages(),
        sum.innerPages(),
        sum.longPages(),
        sum.usedBytes(),
        sum.capacityBytes());
  }

  /** {@return whether there are no problems} */
  public boolean ok() {
    return problems.isEmpty();
  }
}
