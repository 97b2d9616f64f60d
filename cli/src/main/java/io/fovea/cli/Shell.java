package io.fovea.cli;

import java.io.InputStream;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/**
 * Runs the lines of a shell.
 *
 * <p>Its commands are those of the command line without FILE, which the shell inserts after the
 * name of the command. So each command is one class with one description. In addition there are the
 * commands for transactions, {@code help} and {@code exit}. Not thread-safe.
 */
final class Shell {
  /** Commands that start a shell or are useless in one. */
  private static final List<String> NOT_HERE =
      List.of("shell", "restore", "top", "serve", "completion");

  private final Session session;
  private final PrintWriter out;
  private final PrintWriter err;
  private final boolean json;

  /** Set by {@code exit}. */
  private boolean ends;

  Shell(Session session, PrintWriter out, PrintWriter err, boolean json) {
    this.session = session;
    this.out = out;
    this.err = err;
    this.json = json;
  }

  boolean ends() {
    return ends;
  }

  Session session() {
    return session;
  }

  /** All commands of a shell. Created for each line, because commands keep their arguments. */
  CommandLine commands() {
    CommandLine line =
        Main.commandLine(new Main(InputStream.nullInputStream(), out, err, session), "");
    CommandSpec spec = line.getCommandSpec();
    NOT_HERE.forEach(
        name -> {
          if (spec.subcommands().containsKey(name)) {
            spec.removeSubcommand(name);
          }
        });
    for (CommandLine each : spec.subcommands().values()) {
      withoutFile(each.getCommandSpec());
    }
    spec.addSubcommand("begin", new CommandLine(new Begin()));
    spec.addSubcommand("commit", new CommandLine(new Commit()));
    spec.addSubcommand("rollback", new CommandLine(new Rollback()));
    spec.addSubcommand("help", new CommandLine(new Help(line)));
    spec.addSubcommand("exit", new CommandLine(new Exit()));
    return Main.configured(line, err);
  }

  /** Removes from the help of a command what the shell inserts. */
  private static void withoutFile(CommandSpec spec) {
    spec.usageMessage().synopsisHeading("Usage:"); // the shell adds a space, without a name
    OptionSpec copy = spec.findOption("--copy");
    if (copy != null) {
      spec.remove(copy); // an option of the shell itself
    }
    for (PositionalParamSpec p : List.copyOf(spec.positionalParameters())) {
      if (takesFile(spec) && p.index().min() == 0) {
        spec.remove(p);
        spec.addPositional(PositionalParamSpec.builder(p).hidden(true).build());
      }
    }
  }

  /** Whether the first parameter of a command is the file of the database. */
  static boolean takesFile(CommandSpec spec) {
    return spec.userObject() instanceof FileCommand;
  }

  /** Runs a line; returns its exit code. */
  int run(String text) {
    Words words = Words.of(text);
    if (words.isOpen()) {
      err.println("fovea: unclosed quote at the end of the line");
      return Main.MISTAKE;
    }
    List<String> args = words.all();
    if (args.isEmpty()) {
      return Main.OK;
    }
    CommandLine line = commands();
    CommandLine command = line.getSubcommands().get(args.getFirst());
    if (command != null && takesFile(command.getCommandSpec())) {
      args.add(1, session.file().toAbsolutePath().toString());
    }
    if (json && command != null && command.getCommand() instanceof JsonCommand) {
      args.add(1, "--json");
    }
    if (command != null && command.getCommand() instanceof WholeFile && !isHelp(args)) {
      if (session.inTransaction()) {
        err.println(
            "fovea: a transaction is open, and "
                + args.getFirst()
                + " opens the file itself: commit or roll back first");
        return Main.MISTAKE;
      }
      session.release();
    }
    int code = run(line, args);
    if (session.hasLost()) {
      err.println("fovea: the transaction was rolled back");
    }
    out.flush();
    err.flush();
    return code;
  }

  private static boolean isHelp(List<String> args) {
    return args.contains("--help") || args.contains("-h");
  }

  private int run(CommandLine line, List<String> args) {
    try {
      return session.run(() -> line.execute(args.toArray(String[]::new)));
    } catch (Exception e) {
      return Main.failed(e, err, session);
    }
  }

  // --------------------------------------------------------------- commands that only a shell has

  @Command(
      name = "begin",
      header = "Begins a transaction.",
      mixinStandardHelpOptions = true,
      description =
          "Begins a transaction: everything up to 'commit' or 'rollback' takes effect together"
              + " or not at all. Without one, each command is a separate transaction.")
  private final class Begin implements Callable<Integer> {
    @Override
    public Integer call() {
      if (session.inTransaction()) {
        return wrong("a transaction is already open");
      }
      session.begin();
      return Main.OK;
    }
  }

  @Command(
      name = "commit",
      header = "Commits the transaction.",
      mixinStandardHelpOptions = true,
      description = "Commits the transaction.")
  private final class Commit implements Callable<Integer> {
    @Override
    public Integer call() {
      if (!session.inTransaction()) {
        return wrong("no transaction is open: 'begin' starts one");
      }
      session.commit();
      return Main.OK;
    }
  }

  @Command(
      name = "rollback",
      header = "Rolls the transaction back.",
      mixinStandardHelpOptions = true,
      description = "Rolls the transaction back.")
  private final class Rollback implements Callable<Integer> {
    @Override
    public Integer call() {
      if (!session.inTransaction()) {
        return wrong("no transaction is open: 'begin' starts one");
      }
      session.rollback();
      return Main.OK;
    }
  }

  @Command(
      name = "exit",
      header = "Ends the shell.",
      aliases = "quit",
      mixinStandardHelpOptions = true,
      description = "Ends the shell. A transaction that was not committed is rolled back.")
  private final class Exit implements Callable<Integer> {
    @Override
    public Integer call() {
      ends = true;
      return Main.OK;
    }
  }

  @Command(
      name = "help",
      header = "Lists the commands, or describes one.",
      mixinStandardHelpOptions = true,
      description = "Lists the commands, or describes one.")
  private final class Help implements Callable<Integer> {
    @CommandLine.Parameters(
        arity = "0..1",
        paramLabel = "COMMAND",
        description = "The command; all commands without it.")
    @Nullable String command;

    private final CommandLine line;

    Help(CommandLine line) {
      this.line = line;
    }

    @Override
    public Integer call() {
      if (command != null) {
        CommandLine of = line.getSubcommands().get(command);
        if (of == null) {
          return wrong("there is no command '" + command + "'; 'help' lists them");
        }
        of.usage(out);
        return Main.OK;
      }
      List<List<String>> rows = new ArrayList<>();
      for (Map.Entry<String, CommandLine> e : line.getSubcommands().entrySet()) {
        CommandSpec spec = e.getValue().getCommandSpec();
        if (e.getKey().equals(spec.name())) {
          rows.add(List.of(e.getKey(), String.join(" ", spec.usageMessage().header())));
        }
      }
      int width = rows.stream().mapToInt(r -> r.getFirst().length()).max().orElse(0);
      for (List<String> row : rows) {
        String pad = " ".repeat(width - row.getFirst().length() + 2);
        out.println(row.getFirst() + pad + row.getLast());
      }
      out.println("'help COMMAND' describes one. Quote words that contain spaces.");
      return Main.OK;
    }
  }

  private int wrong(String text) {
    err.println("fovea: " + text);
    return Main.MISTAKE;
  }
}
