package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;

/** The program in this JVM, for tests of other packages: what a user types, sees and gets back. */
public final class DriverCommand {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  /** Runs a command and gives its exit code. */
  public int run(List<String> args) {
    out.getBuffer().setLength(0);
    err.getBuffer().setLength(0);
    return Main.execute(
        SmallDatabase.SCALE,
        new PrintWriter(out),
        new PrintWriter(err),
        args.toArray(String[]::new));
  }

  /** What the last command printed. */
  public String out() {
    return out.toString();
  }

  /** What it complained of. */
  public String err() {
    return err.toString();
  }

  /** Fails with what the last command printed. */
  public void expect(int code, int found) {
    assertEquals(code, found, () -> out + "\n" + err);
  }
}
