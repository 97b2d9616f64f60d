package io.fovea;

import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.UUID;

/**
 * What is in the file of a database that nobody has open: what it says about itself, what takes its
 * space, what is wrong with it.
 *
 * <p>Made by {@link Database#inspect} and {@link Database#verify(java.nio.file.Path, Options)}. A
 * value; any thread.
 *
 * @param header what the superblock says
 * @param files the sizes of the files
 * @param log what the log has
 * @param trees the space of the catalog, of each table and of each index
 * @param freePages pages that wait to be used again
 * @param unwrittenPages pages below the high-water mark that were never written
 * @param records the records of all tables; 0 if nobody counted
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
   * What the superblock says.
   *
   * @param id tells one database from another
   * @param created when it was made
   * @param formatVersion the version of the file format
   * @param pageSize the size of its pages, in bytes
   * @param pages how many pages were ever given out, superblocks included
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
   * What the log has, from where recovery begins to read. Of a file that was closed nothing is
   * needed, and nothing is read.
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

  /**
   * Whether nothing is wrong.
   *
   * @return true if there are no problems
   */
  public boolean ok() {
    return problems.isEmpty();
  }
}
