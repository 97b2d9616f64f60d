package io.fovea.tpcc.bench;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The driver once more. */
public final class Jvm {
  private Jvm() {}

  /**
   * A command of the driver in a JVM with the options of this one, not yet started. One that writes
   * down what it has learned (JEP 514) does so alone.
   *
   * @param program the class that has {@code main}
   * @param args what follows the program's name on a command line
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
