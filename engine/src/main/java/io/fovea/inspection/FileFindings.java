package io.fovea.inspection;

import io.fovea.recovery.PageScan;
import io.fovea.recovery.Superblock;
import java.util.List;

/**
 * The result of an {@link Inspection} of the files of a database.
 *
 * @param superblock the superblock as found
 * @param pages the number of pages of the data file after recovery
 * @param dataBytes the size of the data file
 * @param logBytes the size of the log file
 * @param doubleWriteBytes the size of the double-write area's file
 * @param logEnd the end of the log; 0 if unknown
 * @param logRecords the number of log records from the redo point to that end
 * @param logCommits the number of commits among these records
 * @param trees the space used by each tree
 * @param freePages the number of free pages
 * @param unwrittenPages the number of pages of zeros: allocated but never written, or free and
 *     punched out of the file
 * @param records the number of records of all tables, if everything was checked
 * @param problems the problems found, as text
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
   * @param table its table; empty for the catalog, a question mark if unknown
   * @param index its index; empty for a table
   * @param treeId its id
   * @param rootPid its root
   * @param sum the totals of its pages
   */
  public record Tree(String table, String index, int treeId, long rootPid, PageScan.Sum sum) {}
}
