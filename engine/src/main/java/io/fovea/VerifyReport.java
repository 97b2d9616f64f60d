package io.fovea;

import io.fovea.inspection.Verification;
import java.util.List;
import java.util.Objects;

/**
 * The result of a verification of a whole database.
 *
 * <p>Immutable and thread-safe.
 *
 * @param pages the pages of the file, including superblocks
 * @param freePages the pages free for reuse
 * @param trees the trees verified: the catalog, tables and indexes
 * @param records the records of all tables, without index entries
 * @param problems descriptions of the first problems found; empty if there are none
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

  /** {@return whether no problems were found} */
  public boolean ok() {
    return problems.isEmpty();
  }
}
