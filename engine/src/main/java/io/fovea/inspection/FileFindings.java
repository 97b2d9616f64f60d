package io.fovea.inspection;

import io.fovea.recovery.PageScan;
import io.fovea.recovery.Superblock;
import java.util.List;

/**
 * What an {@link Inspection} has found in the files of a database.
 *
 * @param superblock as it was found
 * @param pages of the data file, once it was recovered
 * @param dataBytes of the data file
 * @param logBytes of the log's file
 * @param doubleWriteBytes of the double-write area's file
 * @param logEnd where the log ends, 0 where that is not known
 * @param logRecords from the redo point to there
 * @param logCommits of those
 * @param trees what takes the space
 * @param freePages those that are free
 * @param unwrittenPages those that are zeros: given out and never written, or free and punched out
 *     of the file
 * @param records of all tables, where everything was checked
 * @param problems in words
 */
public record FileFindings(
    Superblock superblock,
    long pages,
    long dataBytes,
    long logBytes,
    long doubleWriteBytes,
    long logEnd,
    long logRecords,
    long logCommits,
    List<Tree> trees,
    long freePages,
    long unwrittenPages,
    long records,
    List<String> problems) {
  /**
   * A tree.
   *
   * @param table its table; empty for the catalog, a question mark where nobody knows it
   * @param index its index; empty for a table
   * @param treeId its id
   * @param rootPid its root
   * @param sum what its pages add up to
   */
  public record Tree(String table, String index, int treeId, long rootPid, PageScan.Sum sum) {}
}
