package io.fovea.streams.broker;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The child's side of {@link Child}: lines in, lines out; ends the process at the end of the input.
 */
public final class ParentPipe {
  private final PrintStream out;
  private final BlockingQueue<String> in = new LinkedBlockingQueue<>();

  /** Takes over standard output; other output goes to standard error. */
  public ParentPipe() {
    out = System.out;
    System.setOut(System.err);
    Thread reader =
        new Thread(
            () -> {
              try (BufferedReader lines =
                  new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
                lines.lines().forEach(in::add);
              } catch (IOException | RuntimeException e) {
                // the same as the end
              }
              // The parent process is gone.
              Runtime.getRuntime().halt(3);
            },
            "parent");
    reader.setDaemon(true);
    reader.start();
  }

  /** Sends a line to the parent. */
  public synchronized void say(String line) {
    out.println(line);
    out.flush();
  }

  /** Returns the next line of the parent. */
  public String next() throws InterruptedException {
    return in.take();
  }
}
