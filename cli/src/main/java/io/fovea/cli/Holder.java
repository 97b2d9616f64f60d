package io.fovea.cli;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Finds the process that has a database open for writing, by the note that a writer keeps in {@code
 * FILE.lock}: its process id, and, where the system has them, the id of the boot and the start of
 * the process. Takes no lock: to try to open the file would do so for a moment, and another process
 * that opens the file meanwhile would be refused.
 */
final class Holder {
  private static final Path BOOT = Path.of("/proc/sys/kernel/random/boot_id");

  /** The start of a process, counted after its name: field 22 of proc(5). */
  private static final int START = 19;

  private Holder() {}

  /** Returns the id of a live process; -1 if there is none, or it is unknown. */
  static long of(Path file) {
    Path real;
    try {
      real = file.toRealPath();
    } catch (IOException e) {
      real = file.toAbsolutePath();
    }
    String[] note = text(real.resolveSibling(real.getFileName() + ".lock")).split(" ");
    long pid;
    try {
      pid = Long.parseLong(note[0]);
    } catch (NumberFormatException e) {
      return -1;
    }
    boolean lives =
        note.length == 3
            ? note[1].equals(text(BOOT)) && note[2].equals(start(pid))
            : ProcessHandle.of(pid).isPresent();
    return lives ? pid : -1;
  }

  private static String start(long pid) {
    String stat = text(Path.of("/proc", Long.toString(pid), "stat"));
    String[] fields = stat.substring(stat.lastIndexOf(')') + 1).strip().split(" ");
    return fields.length > START && !fields[0].equals("Z") ? fields[START] : "";
  }

  private static String text(Path file) {
    try {
      return Files.readString(file, StandardCharsets.ISO_8859_1).strip();
    } catch (IOException e) {
      return "";
    }
  }
}
