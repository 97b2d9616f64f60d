package io.fovea.cli;

import io.fovea.error.FoveaException;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jline.reader.Candidate;
import org.jline.reader.Completer;
import org.jline.reader.LineReader;
import org.jline.reader.ParsedLine;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/**
 * Completes words of a shell's line: commands, options, tables, indexes, fields, files. Not
 * thread-safe.
 */
final class ShellCompleter implements Completer {
  private final Shell shell;
  private final CommandSpec commands;

  ShellCompleter(Shell shell) {
    this.shell = shell;
    this.commands = shell.commands().getCommandSpec();
  }

  @Override
  public void complete(LineReader reader, ParsedLine line, List<Candidate> candidates) {
    try {
      complete(line, candidates);
    } catch (FoveaException e) {
      // Completion reports nothing: the command itself will.
    }
  }

  private void complete(ParsedLine line, List<Candidate> to) {
    if (line.wordIndex() == 0) {
      commands.subcommands().keySet().forEach(name -> to.add(new Candidate(name)));
      return;
    }
    String name = line.words().getFirst();
    CommandLine found = commands.subcommands().get(name);
    if (found == null) {
      return;
    }
    CommandSpec spec = found.getCommandSpec();
    List<String> before = line.words().subList(1, line.wordIndex());
    String word = line.word().substring(0, line.wordCursor());
    OptionSpec option = before.isEmpty() ? null : option(spec, before.getLast());
    List<String> places = places(spec, before);
    if (option != null) {
      values(option, table(places), word, to);
    } else if (word.startsWith("-")) {
      for (OptionSpec o : spec.options()) {
        if (!o.hidden()) {
          to.add(new Candidate(o.longestName()));
        }
      }
    } else {
      place(spec, places, to, word);
    }
  }

  /** Returns the option whose value is the next word; null if there is none. */
  private static @Nullable OptionSpec option(CommandSpec spec, String word) {
    OptionSpec o = spec.findOption(word);
    return o != null && o.arity().max() > 0 ? o : null;
  }

  /** The words that are neither options nor their values. */
  private static List<String> places(CommandSpec spec, List<String> words) {
    List<String> places = new ArrayList<>();
    for (int i = 0; i < words.size(); i++) {
      if (option(spec, words.get(i)) != null) {
        i++;
      } else if (!words.get(i).startsWith("-")) {
        places.add(words.get(i));
      }
    }
    return places;
  }

  /** The table that a line names; null if none. */
  private @Nullable TableSpec table(List<String> places) {
    return places.isEmpty() ? null : shell.session().database().describe(places.getFirst());
  }

  private void values(
      OptionSpec option, @Nullable TableSpec table, String word, List<Candidate> to) {
    switch (option.paramLabel()) {
      case "INDEX" -> {
        if (table != null) {
          table.indexes().stream().map(IndexSpec::name).forEach(n -> to.add(new Candidate(n)));
        }
      }
      case "FIELD" -> {
        if (table != null) {
          fields(table, "", to);
        }
      }
      case "FILE", "PICTURE", "BACKUP" -> files(word, to);
      default -> {
        if (option.completionCandidates() != null) {
          option.completionCandidates().forEach(c -> to.add(new Candidate(c)));
        }
      }
    }
  }

  private void place(CommandSpec spec, List<String> places, List<Candidate> to, String word) {
    int at = places.size() + (Shell.takesFile(spec) ? 1 : 0);
    for (PositionalParamSpec p : spec.positionalParameters()) {
      if (p.index().contains(at) && !p.hidden()) {
        switch (p.paramLabel()) {
          case "TABLE" -> shell.session().database().tables().forEach(t -> to.add(candidate(t)));
          case "COMMAND" ->
              commands.subcommands().keySet().forEach(name -> to.add(new Candidate(name)));
          case "DIRECTORY" -> files(word, to);
          case "WORD" -> {
            TableSpec table = table(places);
            if (table != null && places.size() > table.key().parts().size()) {
              fields(table, "=", to);
            }
          }
          default -> {}
        }
      }
    }
  }

  private static Candidate candidate(String value) {
    return new Candidate(value);
  }

  private static void fields(TableSpec table, String behind, List<Candidate> to) {
    if (table.isBytes()) {
      return;
    }
    List<String> key = table.key().parts().stream().map(Field::name).toList();
    for (Field f : table.layout().fields()) {
      String column = key.contains(f.name()) ? "row." + f.name() : f.name();
      // Incomplete words get no trailing space.
      to.add(
          new Candidate(
              column + behind, column + behind, null, null, null, null, behind.isEmpty()));
    }
  }

  private static void files(String word, List<Candidate> to) {
    int slash = word.lastIndexOf('/');
    String folder = word.substring(0, slash + 1);
    try (DirectoryStream<Path> all =
        Files.newDirectoryStream(Path.of(folder.isEmpty() ? "." : folder))) {
      for (Path p : all) {
        boolean more = Files.isDirectory(p);
        String name = folder + p.getFileName() + (more ? "/" : "");
        to.add(new Candidate(name, name, null, null, null, null, !more));
      }
    } catch (IOException | RuntimeException e) {
      // nothing to complete
    }
  }
}
