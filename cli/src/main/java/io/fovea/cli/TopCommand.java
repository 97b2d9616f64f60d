package io.fovea.cli;

import com.sun.tools.attach.AttachNotSupportedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.SortedSet;
import java.util.concurrent.TimeUnit;
import javax.management.JMException;
import javax.management.ObjectName;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "top",
    header = "Shows the activity of a process's databases.",
    description = {
      "Shows figures of a running process's databases, one line per interval: transactions,"
          + " aborts, the buffer, the log, the device. The process must have called"
          + " DatabaseBean.register. Its JVM opens a local JMX connector, which stays open.",
      "Ctrl-C ends it. With --json, each line is an object with all figures."
    })
final class TopCommand extends JsonCommand {
  private static final String HEADER =
      "    time  commits/s  aborts/s  active  hit %  reads/s  writes/s  log MiB/s  syncs/s  dirty %"
          + "  database";
  private static final int LINES = 20;

  @Parameters(
      index = "0",
      paramLabel = "PID|FILE",
      description = "The process, by its id or by a database that it has open.")
  String what = "";

  @Option(
      names = "--interval",
      paramLabel = "SECONDS",
      description = "The time between two lines. The default is ${DEFAULT-VALUE}.")
  double interval = 1;

  @Option(
      names = "--count",
      paramLabel = "N",
      description = "The number of lines for each database; 0, the default, for no end.")
  long count;

  private final Map<ObjectName, Map<String, Object>> before = new LinkedHashMap<>();

  @Override
  public Integer call() throws Exception {
    if (!(interval > 0) || interval > TimeUnit.DAYS.toSeconds(1) || count < 0) {
      throw mistake("--interval takes seconds, and --count a number of lines");
    }
    String pid = pid();
    RunningProcess process;
    try {
      process = RunningProcess.connect(pid);
    } catch (AttachNotSupportedException | IOException e) {
      throw mistake("process " + pid + " can't be reached: " + e.getMessage());
    }
    try (process) {
      return show(process, pid);
    }
  }

  /** The given process, or the one that has the file open. */
  private String pid() {
    if (what.matches("\\d+") && !Files.exists(Path.of(what))) {
      return what;
    }
    Path file = Path.of(what);
    if (!Files.exists(file)) {
      throw mistake("there is no file " + what);
    }
    long pid = Holder.of(file);
    if (pid < 0) {
      throw mistake(
          "no process is known to have "
              + what
              + " open for writing: if there is one, give its process id");
    }
    return Long.toString(pid);
  }

  private int show(RunningProcess process, String pid) throws IOException, JMException {
    long lines = 0;
    long last = System.nanoTime();
    for (long n = 0; n <= count || count == 0; n++) {
      SortedSet<ObjectName> beans = process.databases();
      if (beans.isEmpty()) {
        if (n > 0) {
          return Main.OK; // the last one was closed
        }
        throw mistake(
            "process "
                + pid
                + " publishes no databases: it must call DatabaseBean.register for each");
      }
      long now = System.nanoTime();
      double seconds = (now - last) / 1e9;
      last = now;
      for (ObjectName bean : beans) {
        Map<String, Object> figures = process.figures(bean);
        Map<String, Object> old = before.put(bean, figures);
        if (old == null || figures.isEmpty()) {
          continue; // there is no rate yet, or it was just closed
        }
        if (json) {
          out().println(Json.compact(figures));
        } else {
          if (lines++ % LINES == 0) {
            out().println(HEADER);
          }
          out().println(line(RunningProcess.name(bean), old, figures, seconds));
        }
      }
      if (n < count || count == 0) {
        pause();
      }
    }
    return Main.OK;
  }

  private void pause() {
    try {
      Thread.sleep((long) (interval * 1000));
    } catch (InterruptedException e) {
      throw new Session.Stopped();
    }
  }

  private static String line(
      String name, Map<String, Object> old, Map<String, Object> now, double seconds) {
    double hits = rate(old, now, "buffer.hits", seconds);
    double misses = rate(old, now, "buffer.misses", seconds);
    double aborts = 0;
    for (String figure : now.keySet()) {
      if (figure.startsWith("abortsByCause.")) {
        aborts += rate(old, now, figure, seconds);
      }
    }
    long frames = number(now, "buffer.frames");
    return String.format(
        Locale.ROOT,
        "%s  %9.0f  %8.0f  %6d  %5s  %7.0f  %8.0f  %9.1f  %7.0f  %7.0f  %s",
        LocalTime.now().truncatedTo(ChronoUnit.SECONDS).format(DateTimeFormatter.ISO_LOCAL_TIME),
        rate(old, now, "commits", seconds),
        aborts,
        number(now, "activeTransactions"),
        hits + misses == 0 ? "-" : String.format(Locale.ROOT, "%.1f", 100 * hits / (hits + misses)),
        rate(old, now, "io.reads", seconds),
        rate(old, now, "io.writes", seconds),
        rate(old, now, "log.bytes", seconds) / 1048576,
        rate(old, now, "log.syncs", seconds),
        frames == 0 ? 0.0 : 100.0 * number(now, "buffer.framesDirty") / frames,
        name);
  }

  private static double rate(
      Map<String, Object> old, Map<String, Object> now, String figure, double seconds) {
    return (number(now, figure) - number(old, figure)) / seconds;
  }

  /** A figure; 0 if the process's release does not have it. */
  private static long number(Map<String, Object> figures, String name) {
    @Nullable Object value = figures.get(name);
    return value instanceof Number n ? n.longValue() : 0;
  }
}
