package io.fovea.cli;

import io.fovea.FileDump;
import io.fovea.FileReport;
import io.fovea.error.OperationInterruptedException;
import io.fovea.schema.NameText;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Reads all pages of a file for a map. For one thread; the count of pages for any. */
final class ConsolePages {
  /** The map has no more cells than the page can show. */
  private static final int CELLS_MAX = 16_000;

  /** How full a page is, in steps of a tenth. */
  private static final int STEPS = 10;

  private final AtomicLong done = new AtomicLong();

  /** The kinds of pages by name, with their numbers. */
  private final Map<String, Integer> kinds = new LinkedHashMap<>();

  private final List<Long> pagesOfKind = new ArrayList<>();
  private final List<Long> usedOfKind = new ArrayList<>();
  private final List<Long> capacityOfKind = new ArrayList<>();

  /** The pages read so far. */
  long done() {
    return done.get();
  }

  /** Describes a file that no other process changes. */
  Map<String, @Nullable Object> read(Path file) {
    Map<Integer, String> names = new HashMap<>();
    for (FileReport.Tree t : FileReport.inspect(file, Opening.options()).trees()) {
      names.put(
          t.treeId(),
          t.table().isEmpty()
              ? "catalog"
              : t.index().isEmpty()
                  ? NameText.of(t.table())
                  : NameText.of(t.table()) + "." + NameText.of(t.index()));
    }
    try (FileDump dump = FileDump.open(file)) {
      long pages = dump.pages();
      long perCell = Math.max(1, Math.ceilDiv(pages, CELLS_MAX));
      List<Integer> cells = new ArrayList<>();
      List<Integer> fills = new ArrayList<>();
      for (long first = 0; first < pages; first += perCell) {
        cell(dump, names, first, Math.min(pages, first + perCell), cells, fills);
      }
      Map<String, @Nullable Object> m = new LinkedHashMap<>();
      m.put("pages", pages);
      m.put("pageSize", dump.header().pageSize());
      m.put("pagesPerCell", perCell);
      m.put("kinds", kinds());
      m.put("cells", cells);
      m.put("fills", fills);
      return m;
    }
  }

  /** Adds the cell of some pages: their most frequent kind, and how full they are. */
  private void cell(
      FileDump dump,
      Map<Integer, String> names,
      long from,
      long to,
      List<Integer> cells,
      List<Integer> fills) {
    Map<Integer, Integer> counts = new HashMap<>();
    long used = 0;
    long capacity = 0;
    for (long page = from; page < to; page++) {
      if (Thread.interrupted()) {
        throw new OperationInterruptedException("The map was cancelled.");
      }
      Map<String, @Nullable Object> p = dump.page(page);
      int kind = kinds.computeIfAbsent(kind(p, names), k -> kinds.size());
      if (kind == pagesOfKind.size()) {
        pagesOfKind.add(0L);
        usedOfKind.add(0L);
        capacityOfKind.add(0L);
      }
      counts.merge(kind, 1, Integer::sum);
      pagesOfKind.set(kind, pagesOfKind.get(kind) + 1);
      usedOfKind.set(kind, usedOfKind.get(kind) + number(p, "usedBytes"));
      capacityOfKind.set(kind, capacityOfKind.get(kind) + number(p, "capacityBytes"));
      used += number(p, "usedBytes");
      capacity += number(p, "capacityBytes");
      done.incrementAndGet();
    }
    cells.add(counts.entrySet().stream().max(Map.Entry.comparingByValue()).get().getKey());
    fills.add(capacity == 0 ? -1 : (int) Math.min(STEPS, used * STEPS / capacity));
  }

  private List<Map<String, Object>> kinds() {
    List<Map<String, Object>> all = new ArrayList<>();
    kinds.forEach(
        (name, i) -> {
          String[] parts = name.split("\n");
          Map<String, Object> m = new LinkedHashMap<>();
          m.put("tree", parts.length > 1 ? parts[0] : "");
          m.put("type", parts[parts.length - 1]);
          m.put("pages", pagesOfKind.get(i));
          m.put("usedBytes", usedOfKind.get(i));
          m.put("capacityBytes", capacityOfKind.get(i));
          all.add(m);
        });
    return all;
  }

  /** The tree and the type of a page, on one line each; only the type if it belongs to no tree. */
  private static String kind(Map<String, @Nullable Object> page, Map<Integer, String> names) {
    if (Boolean.FALSE.equals(page.get("whole")) || page.containsKey("damaged")) {
      return "damaged";
    }
    String type = String.valueOf(page.get("type"));
    return switch (type) {
      case "never written", "free", "superblock" -> type;
      default -> {
        int id = (int) number(page, "treeId");
        yield names.getOrDefault(id, "tree " + id) + "\n" + type;
      }
    };
  }

  private static long number(Map<String, @Nullable Object> page, String name) {
    return page.get(name) instanceof Number n ? n.longValue() : 0;
  }
}
