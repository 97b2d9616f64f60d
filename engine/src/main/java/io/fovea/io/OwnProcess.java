package io.fovea.io;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A process in words: its id, the boot of the system, and when it was started, in ticks since the
 * boot. Ids are given to later processes again, the three together are not.
 *
 * <p>Where the system does not say the other two, it is the id alone. Any thread.
 */
final class OwnProcess {
  private static final int START_FIELD = 19; // behind the name: field 22 of proc(5)

  private OwnProcess() {}

  /** This process; a line. */
  static String text() {
    long pid = ProcessHandle.current().pid();
    String start = start(pid);
    String boot = boot();
    return pid + (start.isEmpty() || boot.isEmpty() ? "" : " " + boot + " " + start) + "\n";
  }

  /**
   * The id of a process if it lives, or -1.
   *
   * @param text what {@link #text} said
   * @param surely whether the id alone does not do
   */
  static long living(String text, boolean surely) {
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
    return !surely && ProcessHandle.of(pid).isPresent() ? pid : -1;
  }

  private static String boot() {
    return read(Path.of("/proc/sys/kernel/random/boot_id"));
  }

  /** Empty where there is no such process, or it has ended and its parent has not asked yet. */
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
