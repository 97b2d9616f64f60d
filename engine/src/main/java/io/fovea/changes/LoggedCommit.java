package io.fovea.changes;

import java.util.List;

/**
 * The changes of a commit.
 *
 * @param changes the changes: first those of tables, then those of records
 * @param next the position after the commit
 */
public record LoggedCommit(List<LoggedChange> changes, ChangePoint next) {}
