package io.fovea.cli;

import io.fovea.Change;
import io.fovea.ChangeBatch;
import io.fovea.ChangePosition;
import io.fovea.FileChanges;
import io.fovea.schema.NameText;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "tail",
    header = "Shows commits from the log.",
    description = {
      "Shows the changes of commits in log order: the position after each commit, then its"
          + " tables and records. Another process may have FILE open; it must have been opened"
          + " with LogOptions.changeRetentionBytes, which sets how much is kept. Nothing on disk"
          + " changes.",
      "Records are decoded with the current schema; those of dropped tables are shown as bytes."
          + " With --json, each commit is one line.",
      "In a shell, --follow closes the database while it runs, so that an application can open"
          + " it."
    })
final class TailCommand extends FileCommand {
  private static final String START = "start";
  private static final String END = "end";
  private static final long PAUSE_MILLIS = 100;

  @Parameters(
      index = "1..*",
      arity = "0..*",
      paramLabel = "TABLE",
      description = "Only changes of these tables, by their names at the commit.")
  List<String> tables = new ArrayList<>();

  @Option(
      names = "--from",
      paramLabel = "POSITION",
      description = {
        "Starts after this position, as shown here or stored by an application; 'start' for"
            + " everything in the log, 'end' for new commits only. The default is start; with"
            + " --follow, end."
      })
  @Nullable String from;

  @Option(
      names = {"-f", "--follow"},
      description = "Continues with new commits until it is stopped.")
  boolean follow;

  @Option(
      names = "--limit",
      paramLabel = "N",
      description = "The maximum number of commits; 0, the default, for all of them.")
  long limit;

  @Option(
      names = "--copy",
      description = {
        "Copies the database first, to the temporary directory, to read its schema, and removes"
            + " the copy at the end. Without it the catalog is read from the files, which"
            + " frequent checkpoints of another process may prevent."
      })
  boolean copy;

  @Mixin final HexOption hex = new HexOption();

  /** The last position that was shown. */
  private @Nullable ChangePosition shown;

  @Override
  public Integer call() {
    if (limit < 0) {
      throw mistake("--limit takes a number of commits, or 0 for all");
    }
    letGo();
    try (FileChanges changes = open();
        FollowedTables known = FollowedTables.of(this, changes, copy, follow, hex.hex)) {
      long n = 0;
      while (limit == 0 || n < limit) {
        goOn();
        ChangeBatch batch = changes.poll();
        if (batch != null) {
          known.batch(batch);
          n += show(batch, known) ? 1 : 0;
        } else if (follow) {
          pause();
        } else {
          end(changes.position());
          break;
        }
      }
    }
    return Main.OK;
  }

  /** In a shell, --follow closes the database so that it blocks no other process. */
  private void letGo() {
    Session session = session();
    if (session == null || !follow) {
      return;
    }
    if (session.inTransaction()) {
      throw mistake(
          "a transaction is open, and tail --follow closes the database: commit or roll back"
              + " first");
    }
    session.release();
  }

  /** A shell on a copy follows the original. */
  private Path followed() {
    Session session = session();
    return session == null ? file() : session.original();
  }

  private FileChanges open() {
    String at = from == null ? follow ? END : START : from;
    switch (at) {
      case START -> {
        return FileChanges.first(followed());
      }
      case END -> {
        return FileChanges.last(followed());
      }
      default -> {
        ChangePosition position;
        try {
          position = ChangePosition.parse(at);
        } catch (IllegalArgumentException e) {
          throw mistake("'" + at + "' is not a position: use one shown by tail, or start, or end");
        }
        return FileChanges.from(followed(), position);
      }
    }
  }

  private static void pause() {
    try {
      Thread.sleep(PAUSE_MILLIS);
    } catch (InterruptedException e) {
      throw new Session.Stopped();
    }
  }

  /** Shows a commit; returns whether it changed a requested table. */
  private boolean show(ChangeBatch batch, FollowedTables known) {
    List<Change> wanted = new ArrayList<>();
    for (Change c : batch.changes()) {
      if (tables.isEmpty()
          || tables.contains(c.table())
          || c.newName() != null && tables.contains(c.newName())) {
        wanted.add(c);
      }
    }
    if (wanted.isEmpty()) {
      return false;
    }
    if (json) {
      line(batch.position(), wanted.stream().map(c -> map(c, known)).toList());
    } else {
      position(batch.position());
      for (Change c : wanted) {
        out().println("  " + text(c, known));
      }
    }
    return true;
  }

  /**
   * Shows a position after the last commit if commits without table changes followed it, so that
   * they need not be read again.
   */
  private void end(ChangePosition at) {
    if (at.equals(shown)) {
      return;
    }
    if (json) {
      line(at, List.of());
    } else {
      position(at);
    }
  }

  private void position(ChangePosition at) {
    shown = at;
    out().println("position " + at);
  }

  private void line(ChangePosition at, List<Map<String, @Nullable Object>> changes) {
    shown = at;
    Map<String, @Nullable Object> m = new LinkedHashMap<>();
    m.put("position", at.toString());
    m.put("changes", changes);
    out().println(Json.compact(m));
  }

  private static Map<String, @Nullable Object> map(Change c, FollowedTables known) {
    Map<String, @Nullable Object> m = new LinkedHashMap<>();
    m.put("change", c.kind().name());
    m.put("table", c.table());
    switch (c.kind()) {
      case PUT -> {
        m.put("key", known.key(c));
        m.put("value", known.value(c));
      }
      case DELETE -> m.put("key", known.key(c));
      case RENAMED -> m.put("newName", c.newName());
      case CREATED, LOADED, DROPPED -> {}
    }
    return m;
  }

  private static String text(Change c, FollowedTables known) {
    String start = String.format("%-7s  %s", c.kind(), NameText.of(c.table()));
    return switch (c.kind()) {
      case PUT ->
          start + "  " + Text.line(known.key(c), false) + "  " + Text.line(known.value(c), false);
      case DELETE -> start + "  " + Text.line(known.key(c), false);
      case RENAMED -> start + "  to " + NameText.of(String.valueOf(c.newName()));
      case CREATED, LOADED, DROPPED -> start;
    };
  }
}
