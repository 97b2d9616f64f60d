package io.fovea.jmh;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Options;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Task;
import io.fovea.Transaction;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Lists the methods of point operations that the JIT compiler did not inline, and where.
 *
 * <ul>
 *   <li><i>hot method too big</i>: it has more than 325 bytecodes.
 *   <li><i>already compiled into a big method</i>: its own code has more than about 2,500 bytes, so
 *       it is called.
 *   <li><i>NodeCountInliningCutoff</i>: earlier inlining made the graph of the compiled method too
 *       large. From then on <i>nothing</i> is inlined, not even a single load: this is the
 *       expensive case. An access to native memory consists of a dozen small methods of the JDK and
 *       uses up much of the budget; the remedy is a call where it costs least.
 * </ul>
 *
 * <p>A call costs two nanoseconds and hides information from the compiler, so it should be
 * deliberate.
 *
 * <p>Starts a second JVM that runs point reads and updates with -XX:+PrintInlining, and filters its
 * output: first the compiled method, then the call path to the refused one. Run it with the
 * benchmarks jar:
 *
 * <pre>
 *   java -cp jmh/target/benchmarks.jar io.fovea.jmh.InliningCheck [JVM option ...]
 * </pre>
 *
 * <p>The exit code is 1 if a method of {@link #HOT} was refused in the compilation of another. The
 * option {@code -ea} shows the effect of assertions, whose bytecodes count.
 */
public final class InliningCheck {
  /** The methods of a point read through the API, as class, dot, method. */
  static final List<String> HOT =
      List.of(
          "io.fovea.RowTable.get",
          "io.fovea.RowTable.read",
          "io.fovea.Transaction.enter",
          "io.fovea.Transaction.exit",
          "io.fovea.Key.set",
          "io.fovea.Row.read",
          "io.fovea.txn.Tx.get",
          "io.fovea.txn.TxReads.get",
          "io.fovea.txn.TxReads.read",
          "io.fovea.txn.TxReads.enterRead",
          "io.fovea.txn.ReadSet.find",
          "io.fovea.txn.ReadSet.add",
          "io.fovea.txn.WriteSet.find",
          "io.fovea.txn.Timestamps.pin",
          "io.fovea.txn.Timestamps.hold",
          "io.fovea.txn.Timestamps.word",
          "io.fovea.txn.Timestamps.extend",
          "io.fovea.btree.BTree.keyHash",
          "io.fovea.btree.BTree.find",
          "io.fovea.btree.BTree.locate",
          "io.fovea.btree.BTree.valid",
          "io.fovea.btree.BTree.copyValue",
          "io.fovea.btree.Descent.descendTo",
          "io.fovea.btree.Descent.enterChild",
          "io.fovea.btree.Descent.locate",
          "io.fovea.btree.Descent.locateAtHint",
          "io.fovea.btree.NodeSearch.covers",
          "io.fovea.buffer.BufferPool.predict",
          "io.fovea.buffer.BufferPool.predictChild",
          "io.fovea.buffer.BufferPool.optimisticChild",
          "io.fovea.buffer.BufferPool.isStale",
          "io.fovea.buffer.BufferPool.optimistic",
          "io.fovea.buffer.BufferPool.validate",
          "io.fovea.buffer.Translator.predict",
          "io.fovea.buffer.Latch.validate",
          "io.fovea.memory.Hash.hash",
          "io.fovea.memory.Mem.getLong",
          "io.fovea.memory.Mem.getLongBE");

  /**
   * Methods that are calls, deliberately or inevitably: each exceeds every inlining limit, and has
   * its own graph into which the above methods are inlined.
   */
  static final List<String> WALLS =
      List.of(
          "io.fovea.btree.Descent.descend",
          "io.fovea.btree.NodeSearch.searchInner",
          "io.fovea.btree.NodeSearch.searchLeaf",
          "io.fovea.btree.NodeSearch.searchHinted");

  /** {@code 4236 1824 b 4 io.fovea.btree.BTree::locate (32 bytes)}: a compiled method; 4 is C2. */
  private static final Pattern COMPILED =
      Pattern.compile("^\\s*\\d+\\s+\\d+\\s+[^\\d@]*(\\d)\\s+(\\S+)::(\\S+) \\(\\d+ bytes\\)\\s*$");

  /** {@code @ 12 io.fovea.btree.BTree::find (31 bytes) ...}, indented by its depth. */
  private static final Pattern CALL =
      Pattern.compile("^[\\s!]*@ \\d+\\s+(\\S+)::(\\S+) \\((\\d+) bytes\\)\\s+(.*)$");

  private static final Pattern REFUSED =
      Pattern.compile(
          "failed to inline: (hot method too big|already compiled into a big method"
              + "|NodeCountInliningCutoff|size > DesiredMethodLimit|inlining too deep)");

  private static final int RECORDS = 100_000;
  private static final int TRANSACTIONS = 60_000;
  private static final int OPERATIONS = 32;

  /** Orders inserted before the oldest ones are deleted. */
  private static final int LAG = 2_000;

  private InliningCheck() {}

  /**
   * Starts the second JVM, or runs its work.
   *
   * @param args options of the second JVM
   * @throws IOException if it cannot be started
   * @throws InterruptedException if this thread is interrupted
   */
  public static void main(String[] args) throws IOException, InterruptedException {
    if (Boolean.getBoolean("fovea.inlining.child")) {
      work();
      return;
    }
    List<Refusal> all = refusals(List.of(args));
    List<Refusal> hot = all.stream().filter(Refusal::isHot).toList();
    print("Elsewhere", all.stream().filter(r -> !r.isHot()));
    print("Calls of hot methods", hot.stream().filter(Refusal::isBoundary));
    List<Refusal> bad = hot.stream().filter(r -> !r.isBoundary()).toList();
    print("Hot methods that should have been inlined", bad.stream());
    System.exit(bad.isEmpty() ? 0 : 1);
  }

  private static void print(String title, Stream<Refusal> refusals) {
    System.out.println(title + ':');
    List<String> lines = refusals.map(Refusal::toString).distinct().toList();
    lines.forEach(line -> System.out.println("  " + line));
    System.out.println(lines.isEmpty() ? "  none" : "");
  }

  /**
   * A method that was not inlined.
   *
   * @param root the compiled method
   * @param way the call path from there; the refused method is last
   */
  record Refusal(String root, List<String> way, String why) {
    boolean isHot() {
      return HOT.contains(way.getLast()) || isWall();
    }

    private boolean isWall() {
      return WALLS.contains(way.getLast());
    }

    /** Tells whether it is called because its own code is large. */
    boolean isBoundary() {
      return why.startsWith("already compiled") || isWall() && why.equals("hot method too big");
    }

    @Override
    public String toString() {
      StringBuilder s = new StringBuilder(shortName(root));
      for (String w : way) {
        s.append(" > ").append(shortName(w));
      }
      return s + ": " + why;
    }

    private static String shortName(String method) {
      return method.substring(method.lastIndexOf('.', method.lastIndexOf('.') - 1) + 1);
    }
  }

  /** Returns what C2 refused in methods of the engine because of size. */
  static List<Refusal> refusals(List<String> jvmOptions) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-XX:+UnlockDiagnosticVMOptions");
    command.add("-XX:+PrintCompilation");
    command.add("-XX:+PrintInlining");
    // Otherwise compilations and their inlining could be far apart in the output.
    command.add("-XX:-BackgroundCompilation");
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("-Xmx512m");
    command.add("-Dfovea.inlining.child=true");
    command.addAll(jvmOptions);
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(InliningCheck.class.getName());
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    // The last compilation of a method replaces earlier ones, whose code no longer runs.
    Map<String, List<Refusal>> refusals = new TreeMap<>();
    Deque<String> tail = new ArrayDeque<>();
    try (BufferedReader out =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      Tree tree = new Tree();
      for (String line = out.readLine(); line != null; line = out.readLine()) {
        if (tree.isNew(line)) {
          refusals.put(tree.root, new ArrayList<>());
        }
        Refusal refusal = tree.read(line);
        if (refusal != null) {
          refusals.get(tree.root).add(refusal);
        }
        tail.addLast(line);
        if (tail.size() > 20) {
          tail.removeFirst();
        }
      }
    }
    int code = process.waitFor();
    if (code != 0) {
      throw new IOException("the JVM ended with " + code + ":\n" + String.join("\n", tail));
    }
    return refusals.values().stream().flatMap(List::stream).toList();
  }

  /** The position in the compiler's output. */
  private static final class Tree {
    private String root = "";
    private final List<String> way = new ArrayList<>();
    private final List<Integer> indents = new ArrayList<>();

    /** Tells whether a line begins another method; {@link #root} is its name, or empty. */
    boolean isNew(String line) {
      Matcher compiled = COMPILED.matcher(line);
      if (!compiled.matches()) {
        return false;
      }
      root = compiled.group(1).equals("4") ? name(compiled) : "";
      way.clear();
      indents.clear();
      return true;
    }

    Refusal read(String line) {
      Matcher call = CALL.matcher(line);
      if (root.isEmpty() || !call.matches()) {
        return null;
      }
      int indent = line.indexOf('@');
      while (!indents.isEmpty() && indents.getLast() >= indent) {
        indents.removeLast();
        way.removeLast();
      }
      indents.add(indent);
      way.add(call.group(1) + '.' + call.group(2));
      Matcher refused = REFUSED.matcher(call.group(4));
      boolean ours = root.startsWith("io.fovea.") && call.group(1).startsWith("io.fovea.");
      return ours && refused.find() ? new Refusal(root, List.copyOf(way), refused.group(1)) : null;
    }

    private static String name(Matcher compiled) {
      return compiled.group(2) + '.' + compiled.group(3);
    }
  }

  /** Runs every kind of operation long enough to be fully compiled. */
  private static void work() {
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(128L << 20))) {
      Work work = new Work(BudgetTables.loadStock(db, RECORDS), db.table(BudgetTables.ORDER_LINE));
      for (int i = 0; i < TRANSACTIONS; i++) {
        db.run(work.reads);
        if ((i & 3) == 0) {
          db.run(work.updates);
          db.run(work.inserts);
          work.inserted++;
        }
        if ((i & 7) == 0) {
          db.run(work.scan);
        }
        if (work.inserted - work.deleted > LAG) {
          db.run(work.deletes);
          work.deleted++;
        }
      }
    }
  }

  private static final class Work {
    private final Task<RuntimeException> reads = this::reads;
    private final Task<RuntimeException> updates = this::updates;
    private final Task<RuntimeException> inserts = this::inserts;
    private final Task<RuntimeException> deletes = this::deletes;
    private final Task<RuntimeException> scan = this::scan;
    private final KeyChooser chooser = new KeyChooser(RECORDS, "uniform", 1);
    private final RowTable stock;
    private final Key key;
    private final Row row;
    private final RowTable lines;
    private final Key lineKey;
    private final Row line;
    private final Key from;
    private final Range range;
    private int inserted;
    private int deleted;
    private long sum;

    Work(RowTable stock, RowTable lines) {
      this.stock = stock;
      this.key = stock.key();
      this.row = stock.row();
      this.lines = lines;
      this.lineKey = lines.key();
      this.line = lines.row();
      this.from = lines.key();
      this.range = Range.prefix(from);
      BudgetTables.fillLine(line, 1);
    }

    private void reads(Transaction tx) {
      for (int i = 0; i < OPERATIONS; i++) {
        stock.get(tx, BudgetTables.stockKey(key, chooser.next()), row);
        sum += row.getInt(BudgetTables.QUANTITY);
      }
    }

    private void updates(Transaction tx) {
      for (int i = 0; i < OPERATIONS; i++) {
        stock.get(tx, BudgetTables.stockKey(key, chooser.next()), row);
        row.setInt(BudgetTables.ORDERS, row.getInt(BudgetTables.ORDERS) + 1);
        stock.update(tx, row);
      }
    }

    private void inserts(Transaction tx) {
      for (int i = 1; i <= BudgetTables.LINES; i++) {
        lines.insert(tx, BudgetTables.lineKey(lineKey, inserted % 100, inserted, i), line);
      }
    }

    private void deletes(Transaction tx) {
      for (int i = 1; i <= BudgetTables.LINES; i++) {
        lines.delete(tx, BudgetTables.lineKey(lineKey, deleted % 100, deleted, i));
      }
    }

    private void scan(Transaction tx) {
      int order = Math.max(0, inserted - 1);
      int district = order % 100;
      from.set(district / BudgetTables.DISTRICTS + 1, district % BudgetTables.DISTRICTS + 1);
      try (RowCursor cursor = lines.scan(tx, range, ScanOrder.ASCENDING)) {
        for (int i = 0; i < OPERATIONS && cursor.next(); i++) {
          sum += cursor.row().getLong(BudgetTables.AMOUNT);
        }
      }
    }
  }
}
