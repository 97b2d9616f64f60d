package io.fovea.tpcc.bench;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Measures how long each thread of this process ran on a processor, and how long it was ready but
 * had none, as counted by Linux ({@code /proc/self/task/N/schedstat}). The rest of the time it
 * slept, waiting for the device, another thread, or work.
 *
 * <p>Empty on other systems, and if the kernel does not count. One thread.
 */
public final class ThreadTimes {
  private static final Path TASKS = Path.of("/proc/self/task");

  /** By thread id: the name, and the nanoseconds running and ready. */
  private final Map<String, Sample> begin = samples();

  private record Sample(String name, long processorNanos, long readyNanos) {}

  /**
   * Threads whose names differ only in their numbers.
   *
   * @param name without the number; truncated by Linux to fifteen characters
   * @param threads the number of threads
   * @param processorSeconds total time on a processor
   * @param readySeconds total time ready without a processor
   */
  public record Group(String name, int threads, double processorSeconds, double readySeconds) {}

  /** Returns the times since this object was created, without threads that have ended since. */
  public List<Group> since() {
    Map<String, List<Sample>> groups = new TreeMap<>();
    samples()
        .forEach(
            (number, s) -> {
              Sample from = begin.getOrDefault(number, new Sample(s.name, 0, 0));
              groups
                  .computeIfAbsent(s.name.replaceFirst("[-# ]*\\d*$", ""), k -> new ArrayList<>())
                  .add(
                      new Sample(
                          s.name,
                          s.processorNanos - from.processorNanos,
                          s.readyNanos - from.readyNanos));
            });
    return groups.entrySet().stream()
        .map(
            e ->
                new Group(
                    e.getKey(),
                    e.getValue().size(),
                    e.getValue().stream().mapToLong(Sample::processorNanos).sum() / 1e9,
                    e.getValue().stream().mapToLong(Sample::readyNanos).sum() / 1e9))
        .toList();
  }

  /** Returns the groups for a report, without idle threads. */
  public static JsonArray json(List<Group> groups) {
    JsonArray list = new JsonArray();
    for (Group g : groups) {
      if (g.processorSeconds >= 0.001) {
        JsonObject o = new JsonObject();
        o.addProperty("name", g.name);
        o.addProperty("threads", g.threads);
        o.addProperty("processorSeconds", JsonReport.round(g.processorSeconds));
        o.addProperty("readySeconds", JsonReport.round(g.readySeconds));
        list.add(o);
      }
    }
    return list;
  }

  private static Map<String, Sample> samples() {
    Map<String, Sample> samples = new HashMap<>();
    try (DirectoryStream<Path> tasks = Files.newDirectoryStream(TASKS)) {
      for (Path task : tasks) {
        sample(task, samples);
      }
    } catch (IOException e) {
      return Map.of(); // not Linux
    }
    return samples;
  }

  private static void sample(Path task, Map<String, Sample> samples) {
    try {
      String[] counted = Files.readString(task.resolve("schedstat")).strip().split(" ");
      String name = Files.readString(task.resolve("comm")).strip();
      samples.put(
          task.getFileName().toString(),
          new Sample(name, Long.parseLong(counted[0]), Long.parseLong(counted[1])));
    } catch (IOException | RuntimeException e) {
      // The thread has ended, or the kernel does not count.
    }
  }
}
