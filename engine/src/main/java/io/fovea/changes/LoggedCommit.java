package io.fovea.changes;

import java.util.List;

/**
 * What a commit has changed.
 *
 * @param changes tables first, then records
 * @param next where whoever has taken it goes on
 */
public record LoggedCommit(List<LoggedChange> changes, ChangePoint next) {}
