package io.fovea.translations;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * vmcache's program (Leis et al., Virtual-Memory Assisted Buffer Management, SIGMOD 2023), built
 * separately: random lookups of records of 8 + 120 bytes, in memory. It is stopped between its
 * turns. See {@link Engine}.
 *
 * <pre>
 *   vmcache RECORDS THREADS     the arguments: its program, and the number of records
 *   run THREADS NANOS           lookups, nanoseconds: always those of one second
 * </pre>
 *
 * <p>It reports once per second. The first line after a stop covers a partial second; the second
 * one is complete.
 */
final class VmcacheEngine {
  private static final int GIB = 16;

  private final Process process;
  private final BufferedReader lines;

  private VmcacheEngine(String program, long records, String threads, Path file)
      throws IOException {
    try (RandomAccessFile f = new RandomAccessFile(file.toFile(), "rw")) {
      f.setLength((long) GIB << 30); // sparse: nothing is evicted
    }
    ProcessBuilder b = new ProcessBuilder(program).redirectError(ProcessBuilder.Redirect.INHERIT);
    b.environment()
        .putAll(
            Map.of(
                "RNDREAD", "1",
                "THREADS", threads,
                "DATASIZE", String.valueOf(records),
                "RUNFOR", "1000000",
                "PHYSGB", String.valueOf(Math.max(1, records * 200 >> 30) + 1),
                "VIRTGB", String.valueOf(GIB),
                "BLOCK", file.toString()));
    process = b.start();
    lines = process.inputReader();
  }

  /** Returns the lookups of one second; skips the header of the table. */
  private double line() {
    try {
      while (true) {
        String line = lines.readLine();
        if (line == null) {
          throw new IllegalStateException("vmcache has ended.");
        }
        if (Character.isDigit(line.charAt(0))) {
          return Double.parseDouble(line.split(",")[1]);
        }
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private double[] run() {
    signal("CONT");
    line();
    double lookups = line();
    signal("STOP");
    return new double[] {lookups, 1e9};
  }

  private void signal(String name) {
    try {
      new ProcessBuilder(List.of("kill", "-" + name, String.valueOf(process.pid())))
          .start()
          .waitFor();
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The process. */
  public static void main(String[] args) throws IOException {
    Path file = Files.createTempFile("vmcache", "");
    try {
      VmcacheEngine engine = new VmcacheEngine(args[0], Long.parseLong(args[1]), args[2], file);
      try {
        engine.line();
        engine.signal("STOP");
        Engine.serve(words -> engine.run());
      } finally {
        engine.process.destroyForcibly();
      }
    } finally {
      Files.deleteIfExists(file);
    }
  }
}
