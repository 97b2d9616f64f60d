package io.fovea;

import io.fovea.inspection.Verification;
import java.util.List;
import java.util.Objects;

/**
 * The result of a verification of a whole database.
 *
 * <p>A value; any thread.
 *
 * @param pages the pages of the file, superblocks included
 * @param freePages the pages that wait to be used again
 * @param trees the trees looked at: the catalog, tables and indexes
 * @param records the records of all tables; entries of indexes don't count
 * @param problems what is wrong, in words, the first of it; empty if nothing is
 * @since 0.1.0
 */
public record VerifyReport(
    long pages, long freePages, int trees, long records, List<String> problems) {
  /** Copies the list. */
  public VerifyReport {
    problems = List.copyOf(Objects.requireNonNull(problems, "problems"));
  }

  static VerifyReport of(Verification.Result r) {
    return new VerifyReport(r.pages(), r.freePages(), r.trees(), r.records(), r.problems());
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
