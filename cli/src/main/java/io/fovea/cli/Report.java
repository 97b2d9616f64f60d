package io.fovea.cli;

import io.fovea.FileReport;
import io.fovea.schema.NameText;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Prints a {@link FileReport} as text or JSON. */
final class Report {
  private Report() {}

  /** The answer of {@code verify --json}. */
  static Map<String, @Nullable Object> verified(FileReport r) {
    Map<String, @Nullable Object> m = new LinkedHashMap<>();
    m.put("ok", r.ok());
    m.put("problems", r.problems());
    m.put("state", r.header().state());
    m.put("pages", r.header().pages());
    m.put("freePages", r.freePages());
    m.put("trees", r.trees().size());
    m.put("records", r.records());
    m.put("log", r.log());
    return m;
  }

  /** The answer of {@code stat --json}. */
  static Map<String, @Nullable Object> all(FileReport r) {
    Map<String, @Nullable Object> m = new LinkedHashMap<>();
    m.put("header", r.header());
    m.put("files", r.files());
    m.put("log", r.log());
    List<Map<String, @Nullable Object>> trees = new ArrayList<>();
    for (FileReport.Tree t : r.trees()) {
      Map<String, @Nullable Object> tree = Json.components(t);
      tree.put("pages", t.pages());
      tree.put("bytes", t.pages() * r.header().pageSize());
      trees.add(tree);
    }
    m.put("trees", trees);
    m.put("freePages", r.freePages());
    m.put("unwrittenPages", r.unwrittenPages());
    m.put("problems", r.problems());
    return m;
  }

  /** The first line of {@code verify}. */
  static String summary(Path file, FileReport r) {
    return String.format(
        Locale.ROOT,
        "%s: %s; %d pages, %d of them free; %d trees, %d records%s",
        file,
        state(r),
        r.header().pages(),
        r.freePages(),
        r.trees().size(),
        r.records(),
        r.header().state() == FileReport.State.NEEDS_RECOVERY
            ? String.format(
                Locale.ROOT,
                "; log of %d records, %d commits",
                r.log().records(),
                r.log().commits())
            : "");
  }

  private static String state(FileReport r) {
    return switch (r.header().state()) {
      case CLEAN -> "closed";
      case NEEDS_RECOVERY -> "needs recovery";
      case UNCLEAN -> "not closed, and without a log";
    };
  }

  /** Prints the answer of {@code stat}. */
  static void print(PrintWriter out, Path file, FileReport r) {
    FileReport.Header h = r.header();
    Map<String, @Nullable Object> facts = new LinkedHashMap<>();
    facts.put("file", file);
    facts.put("id", h.id());
    facts.put("created", h.created());
    facts.put("format", h.formatVersion());
    facts.put("state", state(r));
    facts.put("superblock writes", h.sequence());
    facts.put("page size", h.pageSize());
    facts.put("pages", h.pages());
    facts.put("free pages", r.freePages());
    facts.put("never written or holes", r.unwrittenPages());
    facts.put("data bytes", r.files().dataBytes());
    facts.put("log bytes", r.files().logBytes());
    facts.put("double-write bytes", r.files().doubleWriteBytes());
    if (h.incarnation() > 0) {
      facts.put("log incarnation", h.incarnation());
      facts.put("redo from", h.redoLsn());
      facts.put("log ends at", r.log().endLsn());
      facts.put("log records", r.log().records() + ", " + r.log().commits() + " of them commits");
    }
    Text.lines(out, facts, "", true);
    out.println();
    List<List<String>> rows = new ArrayList<>();
    rows.add(
        List.of(
            "tree", "id", "pages", "leaves", "inner", "long", "levels", "entries", "fill", "MiB"));
    for (FileReport.Tree t : r.trees()) {
      rows.add(
          List.of(
              name(t),
              "" + t.treeId(),
              "" + t.pages(),
              "" + t.leafPages(),
              "" + t.innerPages(),
              "" + t.longPages(),
              "" + t.levels(),
              "" + t.entries(),
              t.capacityBytes() == 0 ? "-" : 100 * t.usedBytes() / t.capacityBytes() + " %",
              String.format(Locale.ROOT, "%.1f", t.pages() * h.pageSize() / 1048576.0)));
    }
    Text.table(out, rows);
  }

  private static String name(FileReport.Tree t) {
    if (t.table().isEmpty()) {
      return "(catalog)";
    }
    String table = NameText.of(t.table());
    return t.index().isEmpty() ? table : table + "." + NameText.of(t.index());
  }
}
