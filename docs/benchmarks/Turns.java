import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Compares the device reads of several programs, each run for a slice of time while the others are
 * stopped. If the speed of the device varies from minute to minute, all get the same share of it.
 *
 * <pre>
 *   java docs/benchmarks/Turns.java SLICE ROUNDS WARMUP COMMAND COMMAND...
 *   java docs/benchmarks/Turns.java 1 12 8 'fio --thread ...' 'tpcc/tpcc.sh lookups ...'
 * </pre>
 *
 * SLICE and WARMUP are in seconds. Each command but the first is warmed up alone; a JVM needs more
 * than 5 s. Then there are ROUNDS rounds. Commands must run for longer than all of it, and are then
 * killed. Their output is not used: reads are {@code read_bytes} of {@code /proc/PID/io} divided by
 * 4 KiB, processor time is from {@code /proc/PID/stat}, both of all threads of the process (fio needs
 * {@code --thread}). Each command has a line with the medians of its slices, and the median and
 * quartiles of the ratios to the first command's slices of the same rounds.
 */
final class Turns {
  private static final double TICKS = 100;
  private static final double PAGE = 4096;

  private record Sample(double reads, double cpuMicros) {}

  private Turns() {}

  public static void main(String[] args) throws Exception {
    if (args.length < 4) {
      System.err.println("Turns SLICE ROUNDS WARMUP COMMAND COMMAND...");
      System.exit(1);
    }
    double slice = Double.parseDouble(args[0]);
    int rounds = Integer.parseInt(args[1]);
    double warmup = Double.parseDouble(args[2]);
    List<Process> processes = new ArrayList<>();
    List<List<Sample>> samples = new ArrayList<>();
    Runtime.getRuntime()
        .addShutdownHook(new Thread(() -> processes.forEach(Process::destroyForcibly)));
    for (int i = 3; i < args.length; i++) {
      // exec, here and in tpcc.sh: the process must be the program's.
      Process process =
          new ProcessBuilder("sh", "-c", "exec " + args[i])
              .redirectErrorStream(true)
              .redirectOutput(Path.of("turns-" + (i - 2) + ".txt").toFile())
              .start();
      processes.add(process);
      samples.add(new ArrayList<>());
      sleep(i == 3 ? 0.5 : warmup);
      signal("STOP", process);
    }
    for (int round = 0; round < rounds; round++) {
      for (int i = 0; i < processes.size(); i++) {
        samples.get(i).add(slice(processes.get(i), slice));
      }
    }
    System.out.println("| command | reads/s | CPU, us a read | of the first | quartiles | |");
    System.out.println("|---|---|---|---|---|---|");
    for (int i = 0; i < processes.size(); i++) {
      double[] ratios = new double[rounds];
      for (int round = 0; round < rounds; round++) {
        ratios[round] = samples.get(i).get(round).reads / samples.get(0).get(round).reads;
      }
      double middle = median(ratios); // and sorted
      System.out.printf(
          Locale.ROOT,
          "| %d | %,.0f | %.1f | %.2f | %.2f | %.2f |%n",
          i + 1,
          median(samples.get(i).stream().mapToDouble(Sample::reads).toArray()),
          median(samples.get(i).stream().mapToDouble(Sample::cpuMicros).toArray()),
          middle,
          ratios[rounds / 4],
          ratios[(3 * rounds - 1) / 4]);
    }
  }

  private static Sample slice(Process process, double seconds)
      throws IOException, InterruptedException {
    signal("CONT", process);
    double reads = reads(process);
    double cpu = cpuMicros(process);
    long begin = System.nanoTime();
    sleep(seconds);
    reads = reads(process) - reads;
    cpu = cpuMicros(process) - cpu;
    double took = (System.nanoTime() - begin) / 1e9;
    signal("STOP", process);
    return new Sample(reads / took, cpu / Math.max(1, reads));
  }

  private static double reads(Process process) throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/" + process.pid() + "/io"))) {
      if (line.startsWith("read_bytes: ")) {
        return Long.parseLong(line.substring(12)) / PAGE;
      }
    }
    throw new IOException("no read_bytes of " + process.pid());
  }

  private static double cpuMicros(Process process) throws IOException {
    String stat = Files.readString(Path.of("/proc/" + process.pid() + "/stat"));
    // After the name, which may contain blanks: state is field 3, user and system time 14 and 15.
    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) * 1e6 / TICKS;
  }

  private static double median(double[] values) {
    Arrays.sort(values);
    return values[values.length / 2];
  }

  private static void signal(String name, Process process)
      throws IOException, InterruptedException {
    new ProcessBuilder("kill", "-" + name, String.valueOf(process.pid())).start().waitFor();
  }

  private static void sleep(double seconds) throws InterruptedException {
    Thread.sleep((long) (seconds * 1000));
  }
}
