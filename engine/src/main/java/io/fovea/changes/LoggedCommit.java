package io.fovea.changes;

import java.util.List;

/**
 * The changes of a commit.
 *
 * @param changes changes of tables first, then of records
 * @param next the position after it
 */
public record LoggedCommit(List<LoggedChange> changes, ChangePoint next) {}
