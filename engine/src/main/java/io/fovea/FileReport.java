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
 * The file of a database that no process has open: its description, the use of its space, and its
 * damage.
 *
 * <p>Made by {@link #inspect} and {@link #verify}. A value; any thread.
 *
 * @param header what the superblock says
 * @param files the sizes of the files
 * @param log what the log has
 * @param trees the space of the catalog, of each table and of each index
 * @param freePages pages that wait to be used again
 * @param unwrittenPages pages below the high-water mark that are zeros: never written, or free ones
 *     whose space was given back
 * @param records the records of all tables; 0 if they were not counted
 * @param problems what is wrong, in words, the first of it; empty if nothing is
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
   * Looks at the file of a database that no process has open: its description, and the use of its
   * space. Nothing on disk changes. A file that was not closed is recovered in memory, which takes
   * as much memory as recovery changes pages; the report shows the recovered state.
   *
   * @param file the file
   * @param options how much memory to use; the page size is that of the file
   * @return what was found; damage is a part of it, not an exception
   * @throws IncompatibleFormatException if there is no such file, or it is no database
   * @throws DatabaseLockedException if it is open
   * @throws StorageException if it can't be read at all
   */
  public static FileReport inspect(Path file, Options options) {
    Objects.requireNonNull(file, "file");
    Objects.requireNonNull(options, "options");
    return FileReport.of(Inspection.run(file, options.toStore(), false));
  }

  /**
   * Verifies the file of a database that no process has open: every page, every tree, the log as
   * far as recovery would read it. Nothing on disk changes, as in {@link #inspect}. Indexes by
   * extractors are checked for their structure only, since a file does not hold the extractors.
   *
   * @param file the file
   * @param options how much memory to use; the page size is that of the file
   * @return what was found; damage is a part of it, not an exception
   * @throws IncompatibleFormatException if there is no such file, or it is no database
   * @throws DatabaseLockedException if it is open
   * @throws OperationInterruptedException if the thread is interrupted; the flag stays set
   * @throws StorageException if it can't be read at all
   */
  public static FileReport verify(Path file, Options options) {
    Objects.requireNonNull(file, "file");
    Objects.requireNonNull(options, "options");
    return FileReport.of(Inspection.run(file, options.toStore(), true));
  }

  /** How a file was left. */
  public enum State {
    /** Closed and complete. */
    CLEAN,
    /** Not closed: complete together with its log. Opening it recovers it. */
    NEEDS_RECOVERY,
    /** Not closed, and made without a log: it can't be opened. */
    UNCLEAN
  }

  /**
   * The superblock.
   *
   * @param id tells one database from another
   * @param created when it was made
   * @param formatVersion the version of the file format
   * @param pageSize the size of its pages, in bytes
   * @param pages how many pages were ever given out, superblocks included; after recovery, where
   *     that is needed
   * @param state how it was left
   * @param sequence how often the superblock was written
   * @param incarnation how often its log was opened; 0 where it never had one
   * @param redoLsn where recovery begins to read the log; 0 where it never had one
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
   * @param dataBytes the pages
   * @param logBytes the log; 0 where there is none
   * @param doubleWriteBytes the double-write area; 0 where there is none
   */
  public record Files(long dataBytes, long logBytes, long doubleWriteBytes) {}

  /**
   * The log, from the redo point on. The log of a file that was closed is not needed, and not read.
   *
   * @param endLsn where it ends; 0 where nothing was read
   * @param records how many records it has
   * @param commits how many commits are among them
   */
  public record Log(long endLsn, long records, long commits) {}

  /**
   * The space of a tree.
   *
   * @param table the table's name; empty for the catalog
   * @param index the index's name; empty for the table itself
   * @param treeId the number that its pages carry
   * @param rootPid its root
   * @param levels levels, leaves included
   * @param entries records, or entries of the index
   * @param leafPages leaves
   * @param innerPages inner nodes
   * @param longPages pages of values that are too long for a leaf
   * @param usedBytes bytes of leaves that are taken
   * @param roomBytes bytes of leaves that can be taken
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
      long roomBytes) {
    /**
     * All its pages.
     *
     * @return how many
     */
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

  /** The superblock in the words of the API. */
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
        sum.roomBytes());
  }

  /**
   * Whether nothing is wrong.
   *
   * @return true if there are no problems
   */
  public boolean ok() {
    return problems.isEmpty();
  }
}
