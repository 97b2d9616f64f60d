package io.fovea.cli;

import io.fovea.FileDump;
import io.fovea.FileReport;
import io.fovea.schema.NameText;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "picture",
    header = "Draws the file as a map of its pages.",
    description = {
      "Draws the file of a database that no process has open as a map of its pages, in file"
          + " order: one cell per page, or per group of pages so that there are at most 250,000"
          + " cells, with the most frequent color of the group. Prints the meaning of the colors,"
          + " and the number of pages of each.",
      "Pages are shown as they are on disk: if the file was not closed, without the changes in"
          + " its log. Nothing on disk changes except the new picture."
    })
final class PictureCommand extends FileCommand implements WholeFile {
  @Mixin final CopyOption copy = new CopyOption();

  private static final int CELLS_MAX = 250_000;
  private static final int STEPS = 5;

  /** The meaning of colors. */
  enum By {
    /** The tree of a page: dark for inner nodes, pale for long values. */
    TREE,
    /** How much of a page is in use, from pale to dark. */
    FILL,
    /** The LSN of a page's last change, from pale to dark. */
    AGE
  }

  @Option(
      names = {"-o", "--output"},
      paramLabel = "PICTURE",
      required = true,
      description = "The new picture file: *.svg or *.png.")
  @Nullable Path output;

  @Option(
      names = "--by",
      paramLabel = "WHAT",
      description =
          "The meaning of colors: ${COMPLETION-CANDIDATES}. The default is" + " ${DEFAULT-VALUE}.")
  By by = By.TREE;

  /** Each color's meaning and number of pages. */
  private final Map<PageMap.Colour, Long> legend = new TreeMap<>();

  @Override
  public Integer call() throws IOException {
    Path to = Objects.requireNonNull(output);
    String name = to.toString().toLowerCase(Locale.ROOT);
    if (!name.endsWith(".svg") && !name.endsWith(".png")) {
      throw mistake("a picture is *.svg or *.png, not " + to);
    }
    if (Files.exists(to)) {
      throw mistake("the file " + to + " exists");
    }
    PageMap map = looking(copy, this::map);
    byte[] picture = name.endsWith(".svg") ? map.svg(List.copyOf(legend.keySet())) : map.png();
    write(to, picture);
    say(map);
    return Main.OK;
  }

  /** Writes a new file; removes it after a failure. */
  private void write(Path to, byte[] picture) throws IOException {
    OutputStream created;
    try {
      created = Files.newOutputStream(to, StandardOpenOption.CREATE_NEW);
    } catch (IOException e) {
      throw mistake("the file " + to + " can't be created: " + Text.why(e));
    }
    try (created) {
      created.write(picture);
    } catch (IOException e) {
      Files.deleteIfExists(to);
      throw Output.Failed.of(to, e);
    }
  }

  private PageMap map(Path of) {
    Map<Integer, String> names = by == By.TREE ? names(of) : Map.of();
    try (FileDump dump = FileDump.open(of)) {
      PageMap map = new PageMap(dump.pages(), CELLS_MAX);
      long newest = by == By.AGE ? newest(dump) : 0;
      for (long page = 0; page < dump.pages(); page++) {
        PageMap.Colour colour = colour(dump.page(page), names, newest);
        map.add(colour);
        legend.merge(colour, 1L, Long::sum);
      }
      return map;
    }
  }

  private void say(PageMap map) {
    if (json) {
      Map<String, @Nullable Object> m = new LinkedHashMap<>();
      m.put("pagesPerCell", map.pagesPerCell());
      m.put("columns", map.columns());
      m.put(
          "colours",
          legend.entrySet().stream()
              .map(
                  e ->
                      Map.of(
                          "colour",
                          e.getKey().css(),
                          "what",
                          e.getKey().what(),
                          "pages",
                          e.getValue()))
              .toList());
      out().println(Json.of(m));
    } else {
      legend.forEach(
          (colour, pages) ->
              out().println(colour.css() + "  " + colour.what() + ": " + pages + " pages"));
      out()
          .println(
              map.columns()
                  + " cells a line, "
                  + (map.pagesPerCell() == 1 ? "a page" : map.pagesPerCell() + " pages")
                  + " each");
    }
  }

  /** Names of trees, from the catalog. */
  private Map<Integer, String> names(Path of) {
    Map<Integer, String> names = new LinkedHashMap<>();
    for (FileReport.Tree t : FileReport.inspect(of, Opening.options()).trees()) {
      names.put(
          t.treeId(),
          t.table().isEmpty()
              ? "catalog"
              : t.index().isEmpty()
                  ? "table " + NameText.of(t.table())
                  : "index " + NameText.of(t.index()) + " of " + NameText.of(t.table()));
    }
    return names;
  }

  private static long newest(FileDump dump) {
    long newest = 1;
    for (long page = 0; page < dump.pages(); page++) {
      newest = Math.max(newest, number(dump.page(page), "pageLsn"));
    }
    return newest;
  }

  private static long number(Map<String, @Nullable Object> page, String name) {
    return page.get(name) instanceof Number n ? n.longValue() : 0;
  }

  private PageMap.Colour colour(
      Map<String, @Nullable Object> page, Map<Integer, String> names, long newest) {
    String type = String.valueOf(page.get("type"));
    if (Boolean.FALSE.equals(page.get("whole")) || page.containsKey("damaged")) {
      return new PageMap.Colour(0xD00000, "damaged");
    }
    return switch (type) {
      case "never written" -> new PageMap.Colour(0xFFFFFF, type);
      case "free" -> new PageMap.Colour(0xE4E4E4, type);
      case "superblock" -> new PageMap.Colour(0x000000, type);
      default ->
          switch (by) {
            case TREE -> tree((int) number(page, "treeId"), type, names);
            case FILL -> fill(page);
            case AGE -> step(number(page, "pageLsn"), newest, "of the age of the log");
          };
    };
  }

  private static PageMap.Colour tree(int id, String type, Map<Integer, String> names) {
    double darkness = type.equals("inner node") ? 0.35 : type.equals("leaf") ? 0.6 : 0.8;
    String name = names.getOrDefault(id, "tree " + id);
    return PageMap.Colour.hue(id, darkness, name + ", " + type);
  }

  private static PageMap.Colour fill(Map<String, @Nullable Object> page) {
    long room = number(page, "capacityBytes");
    return room == 0
        ? new PageMap.Colour(0x9090C0, "part of a long value")
        : step(number(page, "usedBytes"), room, "in use");
  }

  /** A step between pale and dark. */
  private static PageMap.Colour step(long n, long of, String what) {
    int step = (int) Math.min(STEPS - 1, n * STEPS / of);
    int pale = 215 - step * 45;
    return new PageMap.Colour(
        pale << 16 | Math.min(255, pale + 30) << 8 | pale,
        step * 100 / STEPS + " to " + (step + 1) * 100 / STEPS + " % " + what);
  }
}
