package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Checks documents against the repository.
 *
 * <ol>
 *   <li>Each relative link of each Markdown file names a file, and its anchor to a heading there.
 *   <li>Each {@code docs/….md} that a Java file names exists, with its anchor.
 *   <li>{@code docs/ARCHITECTURE.md} has each package of the engine in its map.
 *   <li>Each type, member and package that one of the pages {@link #NAMING} names exists.
 *   <li>Each page of {@code docs/internals} is listed in {@code docs/ARCHITECTURE.md}, and ends
 *       with the tests that attack it.
 *   <li>{@code docs/benchmarks/README.md} has each page of its folder and figures 1 to 31 of the
 *       papers, each with a page that exists, parts of {@code run.sh} that exist, and one of the
 *       verdicts that it explains.
 * </ol>
 *
 * What counts as a name, inside of single backticks:
 *
 * <ul>
 *   <li>{@code io.fovea.xyz}: a package, or a package and a type.
 *   <li>{@code UpperCamelCase} with a small letter in it: a type of any module, tests included.
 *   <li>{@code Type.member}, {@code Type#member}: the type's file has the word {@code member}.
 *   <li>{@code package.Type}, {@code package/Type}: that package of the engine has the type.
 *   <li>{@code lowerCamelCase}, with at least one capital: a word in some Java file.
 *   <li>{@code group.option}, with a group of {@link Options}: a method of the group, or a meter.
 *   <li>{@code CAPITALS}: a word in some Java file or script.
 *   <li>{@code --option}: in some Java file or script.
 * </ul>
 *
 * Any other text in backticks isn't a name: file names, expressions. In a block of code only words
 * with a capital inside count as types ({@code BTreeNode}); in the map of ARCHITECTURE each
 * capitalized word does.
 */
class DocsTest {
  /** Pages whose names are checked against the code; a folder stands for its pages. */
  private static final List<String> NAMING =
      List.of(
          "README.md",
          "CONTRIBUTING.md",
          "examples/README.md",
          "integrations/ratis/README.md",
          "integrations/streams/README.md",
          "tpcc/README.md",
          "tpcc/YCSB.md",
          "docs/ARCHITECTURE.md",
          "docs/PAPERS.md",
          "docs/benchmarks",
          "docs/reference/command-line.md",
          "docs/reference/errors.md",
          "docs/reference/glossary.md",
          "docs/reference/limits.md",
          "docs/reference/meters.md",
          "docs/reference/options.md",
          "docs/reference/file-format.md",
          "docs/guide",
          "docs/internals");

  /** Names of the JDK and of other systems, and words that look like names. */
  private static final Set<String> FOREIGN =
      Set.of(
          "OutOfMemoryError",
          "StackOverflowError",
          "InternalError",
          "IndexOutOfBoundsException",
          "Thread",
          "Arena",
          "MemorySegment",
          "VarHandle",
          "TreeMap",
          "MeterRegistry",
          "Recreate",
          "Tier4",
          "CICompilerCount",
          "MaxDirectMemorySize",
          "FileChannel",
          "RandomAccessFile",
          "StampedLock",
          "DataOutput",
          "LSNs",
          "--link-dest",
          "--ulimit",
          "--enable-monitoring",
          "WARN_AND_RETURN",
          "DskipTests",
          "GiB",
          "MiB");

  private static final List<String> JDK =
      List.of(
          "java.lang",
          "java.lang.invoke",
          "java.math",
          "java.time",
          "java.util",
          "java.util.concurrent");

  private static final Pattern FENCE = Pattern.compile("(?ms)^ *```[^\\n]*\\n(.*?)^ *```");
  private static final Pattern SPAN = Pattern.compile("`([^`\\n]+)`");
  private static final Pattern LINK =
      Pattern.compile("\\]\\(([^)\\s]+)(?:\\s+\"[^\"]*\")?\\)|(?:href|src)=\"([^\"]+)\"");
  private static final Pattern HEADING = Pattern.compile("(?m)^#{1,6} +(.+?) *#*$");
  private static final Pattern ID = Pattern.compile("(?:id|name)=\"([^\"]+)\"");
  private static final Pattern IN_JAVA = Pattern.compile("\\b(docs/[\\w./-]+?\\.md)(#[\\w-]+)?");
  private static final Pattern EXTENDS = Pattern.compile("class \\w+ extends (\\w+)");
  private static final Pattern TYPE =
      Pattern.compile("\\b(?:class|interface|record|enum)\\s+([A-Z]\\w*)");
  private static final Pattern MODULE = Pattern.compile("(?m)^(?:open )?module ([\\w.]+)");
  private static final Pattern WORD = Pattern.compile("[A-Za-z_]\\w*");

  private static final String CAMEL = "[A-Z]\\w*[a-z]\\w*";
  private static final Pattern NAME =
      Pattern.compile("(?:([a-z]+)[./])?(" + CAMEL + ")((?:[.#]\\w+)*)(?:\\(.*\\))?(?:<.*>)?");
  private static final Pattern MEMBER = Pattern.compile("\\.?([a-z]+[A-Z]\\w*)(?:\\(.*\\))?");
  private static final Pattern PACKAGE = Pattern.compile("io\\.fovea(?:\\.[a-z]\\w*)*");
  private static final Pattern INNER_CAPITAL =
      Pattern.compile("\\b[A-Z]+[a-z0-9]+[A-Z]\\w*\\b|\\b[A-Z]{2,}[a-z]\\w*\\b");

  /** Groups of options, and the types whose methods they are. */
  private static final Map<String, String> GROUPS =
      Map.of(
          "memory", "MemoryOptions",
          "device", "DeviceOptions",
          "log", "LogOptions",
          "transactions", "TransactionOptions",
          "experiments", "ExperimentOptions",
          "snapshots", "SnapshotOptions",
          "expiry", "ExpiryOptions");

  private static final Pattern GROUPED =
      Pattern.compile("(" + String.join("|", GROUPS.keySet()) + ")\\.([a-z]\\w+)");
  private static final Pattern CAPITALS = Pattern.compile("[A-Z][A-Z0-9_]{2,}");
  private static final Pattern OPTION = Pattern.compile("(--[a-z][-a-z]+)");

  private final Path root = root();
  private final List<Path> scripts = new ArrayList<>();
  private final List<Path> pages = new ArrayList<>();
  private final List<Path> sources = new ArrayList<>();
  private final TreeSet<String> wrong = new TreeSet<>();

  DocsTest() throws IOException {
    Files.walkFileTree(
        root,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path dir, BasicFileAttributes attributes) {
            String name = dir.getFileName().toString();
            boolean skip = !dir.equals(root) && (name.equals("target") || name.startsWith("."));
            return skip ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            if (file.toString().endsWith(".md")) {
              pages.add(file);
            } else if (file.toString().endsWith(".java")) {
              sources.add(file);
            } else if (file.toString().matches(".*\\.(sh|py|xml|yml)")) {
              scripts.add(file);
            }
            return FileVisitResult.CONTINUE;
          }
        });
    assertTrue(pages.size() > 40 && sources.size() > 400, "found " + pages.size() + " pages");
  }

  @Test
  void linksLeadSomewhere() {
    for (Path page : pages) {
      String text = SPAN.matcher(FENCE.matcher(read(page)).replaceAll("")).replaceAll("");
      each(LINK, text, m -> checkLink(page, page, m.group(1) != null ? m.group(1) : m.group(2)));
    }
    nothingWrong();
  }

  @Test
  void pagesThatTheCodeNamesExist() {
    Path here = root.resolve("engine/src/test/java/io/fovea/DocsTest.java");
    for (Path source : sources) {
      if (!source.equals(here)) {
        String text = read(source);
        each(IN_JAVA, text, m -> checkLink(source, root.resolve("README.md"), m.group()));
      }
    }
    nothingWrong();
  }

  @Test
  void theMapHasEachPackageOfTheEngine() {
    Set<String> packages = new TreeSet<>();
    Path main = root.resolve("engine/src/main/java");
    for (Path source : sources) {
      if (source.startsWith(main) && !source.getParent().equals(main)) {
        packages.add(main.relativize(source.getParent()).toString().replace('/', '.'));
      }
    }
    Set<String> inMap = new TreeSet<>();
    each(PACKAGE, map(), m -> inMap.add(m.group()));
    assertEquals(packages, inMap, "packages of the engine and those in ARCHITECTURE's map");
  }

  @Test
  void namesInPagesExist() {
    Code code = new Code();
    String map = map();
    for (Path page : namingPages()) {
      String text = read(page);
      each(
          FENCE,
          isOfUsers(page) ? "" : text, // PagesTest compiles it
          fence -> {
            boolean isMap = fence.group(1).equals(map);
            Pattern types = isMap ? Pattern.compile("\\b" + CAMEL + "\\b") : INNER_CAPITAL;
            each(types, fence.group(1), m -> code.checkType(page, m.group()));
          });
      each(SPAN, FENCE.matcher(text).replaceAll(""), m -> code.check(page, m.group(1)));
    }
    nothingWrong();
  }

  @Test
  void internalsAreListedAndEndWithTheirTests() {
    Path folder = root.resolve("docs/internals");
    String contents = read(root.resolve("docs/ARCHITECTURE.md"));
    for (Path page : pages) {
      if (page.startsWith(folder)) {
        if (!contents.contains("(internals/" + page.getFileName() + ")")) {
          wrong.add(where(page) + ": not listed in docs/ARCHITECTURE.md");
        }
        String text = read(page);
        String end = text.substring(text.lastIndexOf("\n## ") + 1);
        if (!end.startsWith("## Attacked by\n") || !end.contains("Test`")) {
          wrong.add(where(page) + ": does not end with \"Attacked by\" and a test");
        }
      }
    }
    nothingWrong();
  }

  /** The columns of the lists of figures. */
  private static final int NUMBER = 1;

  private static final int VERDICT = 6;
  private static final int PAGE = 7;
  private static final int COMMAND = 8;
  private static final int CELLS = 9;
  private static final int FIGURES = 31;

  @Test
  void figuresOfThePapersAreListed() {
    Path folder = root.resolve("docs/benchmarks");
    Path list = folder.resolve("README.md");
    String text = read(list);
    for (Path page : pages) {
      if (page.getParent().equals(folder)
          && !page.equals(list)
          && !text.contains("(" + page.getFileName() + ")")) {
        wrong.add(where(page) + ": not in the list of docs/benchmarks/README.md");
      }
    }
    Set<String> parts = new HashSet<>();
    each(
        Pattern.compile("(?m)^    ([a-z][-\\w.]*)\\) "),
        read(folder.resolve("run.sh")),
        m -> parts.add(m.group(1)));
    Set<String> verdicts = new HashSet<>();
    String explained = text.substring(text.indexOf("| verdict | means |"), text.indexOf("\n## "));
    each(Pattern.compile("(?m)^\\| ([a-z ]+) \\| "), explained, m -> verdicts.add(m.group(1)));
    verdicts.remove("verdict");
    assertEquals(5, verdicts.size(), "verdicts: " + verdicts);
    TreeSet<Integer> numbers = new TreeSet<>();
    for (String line : text.lines().toList()) {
      String[] cells = line.split("(?<!\\\\)\\|", -1);
      if (cells.length == CELLS + 1 && cells[NUMBER].strip().matches("\\d+|–")) {
        checkFigure(line, cells, parts, verdicts);
        if (!cells[NUMBER].strip().equals("–")
            && !numbers.add(Integer.parseInt(cells[NUMBER].strip()))) {
          wrong.add("twice: " + line);
        }
      }
    }
    nothingWrong();
    assertEquals(FIGURES, numbers.size());
    assertEquals(FIGURES, numbers.last());
  }

  private void checkFigure(String line, String[] cells, Set<String> parts, Set<String> verdicts) {
    String verdict = cells[VERDICT].strip();
    boolean known = verdicts.stream().anyMatch(verdict::startsWith);
    boolean numbered = !cells[NUMBER].strip().equals("–");
    if (numbered && !known) {
      wrong.add("no verdict: " + line);
    }
    if (!numbered && !known && !verdict.startsWith("see ") && !verdict.startsWith("not ")) {
      wrong.add("no verdict: " + line);
    }
    if (verdict.startsWith("not ")) {
      return; // not reproduced, and needs no command
    }
    if (!LINK.matcher(cells[PAGE]).find()) {
      wrong.add("no page: " + line);
    }
    Matcher command = Pattern.compile("`run\\.sh ([^`]+)`").matcher(cells[COMMAND]);
    if (!command.find()) {
      wrong.add("no command: " + line);
      return;
    }
    for (String part : command.group(1).split(" ")) {
      if (!parts.contains(part)) {
        wrong.add("run.sh has no part " + part + ": " + line);
      }
    }
  }

  private final class Code {
    private final Map<String, List<Path>> types = new HashMap<>();
    private final Map<Path, Set<String>> words = new HashMap<>();
    private final Map<Path, String> above = new HashMap<>();
    private final Set<String> allWords = new HashSet<>();
    private final Set<String> options = new HashSet<>();
    private final Set<String> meters = new HashSet<>();
    private final Set<String> packages = new HashSet<>();

    Code() {
      for (Path script : scripts) {
        String text = read(script);
        each(WORD, text, m -> allWords.add(m.group()));
        each(OPTION, text, m -> options.add(m.group()));
      }
      for (Path source : sources) {
        String text = read(source);
        each(OPTION, text, m -> options.add(m.group()));
        if (source.endsWith("FoveaMetrics.java")) {
          each(Pattern.compile("\"([a-z.]+)\""), text, m -> meters.add(m.group(1)));
        }
        Set<String> here = new HashSet<>();
        each(WORD, text, m -> here.add(m.group()));
        words.put(source, here);
        each(EXTENDS, text, m -> above.put(source, m.group(1)));
        allWords.addAll(here);
        each(
            TYPE, text, m -> types.computeIfAbsent(m.group(1), k -> new ArrayList<>()).add(source));
        String folder = source.getParent().toString();
        int at = folder.indexOf("/io/fovea");
        if (at >= 0) {
          packages.add(folder.substring(at + 1).replace('/', '.'));
        }
        if (source.endsWith("module-info.java")) {
          each(MODULE, text, m -> packages.add(m.group(1)));
        }
      }
    }

    /** Whether a type's file, or that of a superclass, contains a word. */
    private boolean has(Path file, String word) {
      return words.get(file).contains(word)
          || types.getOrDefault(above.get(file), List.of()).stream()
              .anyMatch(f -> !f.equals(file) && has(f, word));
    }

    void check(Path page, String span) {
      Matcher name = NAME.matcher(span);
      Matcher member = MEMBER.matcher(span);
      each(OPTION, span, m -> checkOption(page, m.group()));
      Matcher grouped = GROUPED.matcher(span);
      if (grouped.matches()) {
        Path of = types.get(GROUPS.get(grouped.group(1))).getFirst();
        if (!has(of, grouped.group(2)) && !meters.contains(span)) {
          wrong.add(where(page) + ": no option or meter " + span);
        }
      } else if (CAPITALS.matcher(span).matches()) {
        if (!allWords.contains(span) && !FOREIGN.contains(span)) {
          wrong.add(where(page) + ": no source has " + span);
        }
      } else if (span.startsWith("io.fovea.") || span.equals("io.fovea")) {
        Matcher found = PACKAGE.matcher(span);
        if (!found.lookingAt() || !packages.contains(found.group())) {
          wrong.add(where(page) + ": no package " + span);
        } else if (found.end() < span.length()) {
          check(page, span.substring(found.end() + 1));
        }
      } else if (name.matches()) {
        List<Path> files = types.get(name.group(2));
        if (FOREIGN.contains(name.group(2))) {
          return;
        }
        checkType(page, name.group(2));
        if (files == null) {
          return;
        }
        String room = name.group(1);
        if (room != null && files.stream().noneMatch(f -> f.getParent().endsWith(room))) {
          wrong.add(where(page) + ": no type " + name.group(2) + " in package " + room);
        }
        each(
            WORD,
            name.group(3),
            m -> {
              if (files.stream().noneMatch(f -> has(f, m.group()))) {
                wrong.add(where(page) + ": " + name.group(2) + " has no " + m.group());
              }
            });
      } else if (member.matches() && !allWords.contains(member.group(1))) {
        wrong.add(where(page) + ": no source has the word " + member.group(1));
      }
    }

    private void checkOption(Path page, String option) {
      if (!options.contains(option) && !FOREIGN.contains(option)) {
        wrong.add(where(page) + ": no source has " + option);
      }
    }

    void checkType(Path page, String name) {
      if (!types.containsKey(name) && !FOREIGN.contains(name) && !isOfTheJdk(name)) {
        wrong.add(where(page) + ": no type " + name);
      }
    }
  }

  private boolean isOfUsers(Path page) {
    return page.startsWith(root.resolve("docs/guide"))
        || page.startsWith(root.resolve("docs/reference"));
  }

  private static boolean isOfTheJdk(String name) {
    for (String room : JDK) {
      try {
        Class.forName(room + "." + name);
        return true;
      } catch (ClassNotFoundException e) {
        // in another module, or missing
      }
    }
    return false;
  }

  private void checkLink(Path from, Path base, String link) {
    if (link.matches("[a-z]+:.*")) {
      return;
    }
    int hash = link.indexOf('#');
    String path = hash < 0 ? link : link.substring(0, hash);
    Path target = path.isEmpty() ? base : base.getParent().resolve(path).normalize();
    if (!Files.exists(target)) {
      wrong.add(where(from) + ": no file for " + link);
    } else if (hash >= 0 && !anchors(target).contains(link.substring(hash + 1))) {
      wrong.add(where(from) + ": no heading for " + link);
    }
  }

  /** Returns GitHub's anchors of the headings, and explicit ids. */
  private Set<String> anchors(Path page) {
    String text = FENCE.matcher(read(page)).replaceAll("");
    Set<String> anchors = new HashSet<>();
    each(
        HEADING,
        text,
        m -> {
          String words = m.group(1).replaceAll("\\[([^\\]]*)\\]\\([^)]*\\)", "$1");
          String anchor =
              words.toLowerCase(Locale.ROOT).replaceAll("[^\\p{L}\\p{N} _-]", "").replace(' ', '-');
          String distinct = anchor;
          for (int i = 1; !anchors.add(distinct); i++) {
            distinct = anchor + "-" + i;
          }
        });
    each(ID, text, m -> anchors.add(m.group(1)));
    return anchors;
  }

  private String map() {
    List<String> maps = new ArrayList<>();
    each(
        FENCE,
        read(root.resolve("docs/ARCHITECTURE.md")),
        m -> {
          if (m.group(1).stripLeading().startsWith("io.fovea ")) {
            maps.add(m.group(1));
          }
        });
    assertEquals(1, maps.size(), "blocks of ARCHITECTURE that begin with io.fovea");
    return maps.get(0);
  }

  private List<Path> namingPages() {
    List<Path> found = new ArrayList<>();
    for (String name : NAMING) {
      Path path = root.resolve(name);
      if (Files.isDirectory(path)) {
        pages.stream()
            .filter(p -> p.startsWith(path) && !p.endsWith("kafka-streams.md")) // names of Kafka
            .forEach(found::add);
      } else {
        found.add(path); // one that does not exist fails when it is read
      }
    }
    return found;
  }

  private void nothingWrong() {
    assertTrue(wrong.isEmpty(), () -> String.join("\n", wrong));
  }

  private String where(Path file) {
    return root.relativize(file).toString();
  }

  private static void each(Pattern pattern, String text, Consumer<Matcher> action) {
    for (Matcher m = pattern.matcher(text); m.find(); ) {
      action.accept(m);
    }
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Path root() {
    return Stream.iterate(Path.of("").toAbsolutePath(), p -> p != null, Path::getParent)
        .filter(p -> Files.exists(p.resolve("docs/ARCHITECTURE.md")))
        .findFirst()
        .orElseThrow();
  }
}
