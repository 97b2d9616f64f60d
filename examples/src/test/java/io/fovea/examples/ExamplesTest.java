package io.fovea.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.FileReport;
import io.fovea.Options;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Runs each program as a user does, and checks its output and files. */
@Isolated("captures standard output")
class ExamplesTest {
  private interface Program {
    void main(String[] args) throws Exception;
  }

  @TempDir Path folder;

  @Test
  void bank() throws Exception {
    List<String> said = run(Bank::main, "bank.fovea");
    assertTrue(said.get(0).startsWith("transfers: "), said::toString);
    assertEquals("sum: 20000", said.get(2));
    assertEquals(20, records("bank.fovea"));
  }

  @Test
  void inventory() throws Exception {
    assertEquals(
        List.of(
            "the same EAN again: refused",
            "books up to 20.00: [Bible, small, Kant, Critique]",
            "to reorder: [C-1, B-2]",
            "EAN 9783438010421: Bible, small"),
        run(Inventory::main, "inventory.fovea"));
    assertEquals(4, records("inventory.fovea"));
  }

  @Test
  void jobQueue() throws Exception {
    assertEquals(
        List.of("claimed by a worker that died: 8", "done: 200", "late: refused"),
        run(JobQueue::main, "jobs.fovea"));
    assertEquals(200, records("jobs.fovea"), "results, and no job");
  }

  @Test
  void timeSeries() throws Exception {
    assertEquals(
        List.of(
            "mean from 6 to 7: " + String.format("%.2f", 19.94),
            "latest: 2025-06-01T23:59:00Z",
            "removed: 360",
            "left: 1080",
            "left of the other: 1440"),
        run(TimeSeries::main, "series.fovea"));
    assertEquals(1080 + 1440, records("series.fovea"));
  }

  @Test
  void cache() throws Exception {
    assertEquals(
        List.of("loads: 38, entries: 10", "loads: 38, entries: 10", "expired: true"),
        run(Cache::main, "cache.fovea"));
    assertEquals(10, records("cache.fovea"));
  }

  @Test
  void readModel() throws Exception {
    assertEquals(
        List.of(
            "taken: 300, right: true",
            "corrected: right: true",
            "too late: true",
            "restarted: right: true"),
        run(ReadModel::main, "orders.fovea"));
    assertEquals(300, records("orders.fovea"));
    assertEquals(300 + 7 + 1, records("model.fovea"));
  }

  private List<String> run(Program program, String file) throws Exception {
    PrintStream before = System.out;
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    try (PrintStream out = new PrintStream(said, true, StandardCharsets.UTF_8)) {
      System.setOut(out);
      program.main(new String[] {folder.toString()});
    } finally {
      System.setOut(before);
    }
    FileReport report = verify(file);
    assertEquals(List.of(), report.problems());
    assertEquals(FileReport.State.CLEAN, report.header().state());
    return said.toString(StandardCharsets.UTF_8).lines().toList();
  }

  private long records(String file) {
    return verify(file).records();
  }

  private FileReport verify(String file) {
    return FileReport.verify(folder.resolve(file), Options.defaults().bufferBytes(16 << 20));
  }
}
