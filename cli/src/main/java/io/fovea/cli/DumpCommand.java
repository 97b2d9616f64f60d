package io.fovea.cli;

import io.fovea.FileDump;
import io.fovea.error.CorruptionException;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "dump",
    header = "Shows a page, or records of the log.",
    description = {
      "Shows a page, or records of the log, decoded, as they are on disk. Nothing on disk"
          + " changes."
    })
final class DumpCommand extends FileCommand {
  /** Exclusive options. */
  static final class What {
    @Option(names = "--page", paramLabel = "N", required = true, description = "The page number.")
    @Nullable Long page;

    @Option(
        names = "--log",
        paramLabel = "FROM..TO",
        required = true,
        description = {
          "The records that begin in this range of LSNs. FROM may be omitted: the start of"
              + " recovery. TO may be omitted: the end of the log."
        })
    @Nullable String log;
  }

  @ArgGroup(multiplicity = "1")
  @Nullable What what;

  @Option(names = "--hex", description = "Shows all bytes too.")
  boolean hex;

  @Override
  public Integer call() {
    What w = Objects.requireNonNull(what);
    try (FileDump raw = FileDump.open(file())) {
      if (w.page != null) {
        return page(raw, w.page);
      }
      String range = String.valueOf(w.log);
      int dots = range.indexOf("..");
      if (dots < 0) {
        throw mistake("--log takes a range of LSNs, as in --log 4096..8192 or --log ..");
      }
      long from = lsn(range.substring(0, dots), -1);
      long to = lsn(range.substring(dots + 2), Long.MAX_VALUE);
      return log(raw, from, to);
    }
  }

  private long lsn(String text, long absent) {
    try {
      return text.isEmpty() ? absent : Long.decode(text);
    } catch (NumberFormatException e) {
      throw mistake("\"" + text + "\" is not an LSN: expected a number of bytes, as shown by dump");
    }
  }

  private int page(FileDump raw, long page) {
    Map<String, @Nullable Object> dump = raw.page(page);
    if (json) {
      if (hex) {
        dump.put("bytes", raw.bytes(page));
      }
      out().println(Json.of(dump));
    } else {
      Text.lines(out(), dump, "", hex);
      if (hex) {
        Text.hex(out(), raw.bytes(page));
      }
    }
    return Boolean.FALSE.equals(dump.get("whole")) || dump.containsKey("damaged")
        ? Main.PROBLEMS
        : Main.OK;
  }

  private int log(FileDump raw, long from, long to) {
    String[] separator = {"["};
    int[] code = {Main.OK};
    try {
      raw.log(
          from,
          to,
          hex,
          record -> {
            if (json) {
              out().println(separator[0]);
              out().print(Json.of(record));
              separator[0] = ",";
            } else {
              Text.record(out(), record, hex);
              if (hex && record.get("body") instanceof byte[] body) {
                Text.hex(out(), body);
              }
            }
            code[0] = record.containsKey("damaged") ? Main.PROBLEMS : code[0];
          });
    } catch (CorruptionException e) {
      err().println("fovea: " + e.getMessage());
      code[0] = Main.PROBLEMS;
    }
    if (json) {
      out().println(separator[0].equals("[") ? "[]" : "\n]");
    }
    return code[0];
  }
}
