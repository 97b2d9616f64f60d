package io.fovea.tpcc.bench;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Starts the driver in another JVM. */
public final class Jvm {
  private Jvm() {}

  /**
   * Prepares a command of the driver in a JVM with the options of this one. Excludes the option
   * that records an ahead-of-time cache (JEP 514).
   *
   * @param program the class that has {@code main}
   * @param args the command line after the program's name
   */
  public static ProcessBuilder like(Class<?> program, List<String> args) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    for (String option : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
      if (!option.startsWith("-XX:AOTCacheOutput") && !option.startsWith("-XX:AOTConfiguration")) {
        command.add(option);
      }
    }
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), program.getName()));
    command.addAll(args);
    return new ProcessBuilder(command);
  }
}
