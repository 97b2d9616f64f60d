package io.fovea.io;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A process as text: its id, the boot of the system, and its start time in ticks since the boot.
 * Ids are reused by later processes; the three together are not.
 *
 * <p>If the system does not provide the other two, the text is the id alone. Safe for use by any
 * thread.
 */
final class OwnProcess {
  private static final int START_FIELD = 19; // counted after the name: field 22 of proc(5)

  private OwnProcess() {}

  /** Returns the text of this process, one line. */
  static String text() {
    long pid = ProcessHandle.current().pid();
    String start = start(pid);
    String boot = boot();
    return pid + (start.isEmpty() || boot.isEmpty() ? "" : " " + boot + " " + start) + "\n";
  }

  /**
   * Returns the id of a process if it is alive, or -1.
   *
   * @param text a result of {@link #text}
   * @param requireIdentity whether the text must contain more than the id
   */
  static long living(String text, boolean requireIdentity) {
    String[] parts = text.split(" ");
    long pid;
    try {
      pid = Long.parseLong(parts[0]);
    } catch (NumberFormatException e) {
      return -1;
    }
    if (parts.length == 3) {
      return parts[1].equals(boot()) && parts[2].equals(start(pid)) ? pid : -1;
    }
    return !requireIdentity && ProcessHandle.of(pid).isPresent() ? pid : -1;
  }

  private static String boot() {
    return read(Path.of("/proc/sys/kernel/random/boot_id"));
  }

  /** Returns the start time; empty if there is no such process, or it is a zombie. */
  private static String start(long pid) {
    String stat = read(Path.of("/proc/" + pid + "/stat"));
    String[] fields = stat.substring(stat.lastIndexOf(')') + 1).strip().split(" ");
    return fields.length > START_FIELD && !fields[0].equals("Z") && !fields[0].equals("X")
        ? fields[START_FIELD]
        : "";
  }

  private static String read(Path file) {
    try {
      return Files.readString(file, StandardCharsets.ISO_8859_1).strip();
    } catch (IOException | RuntimeException e) {
      return "";
    }
  }
}
