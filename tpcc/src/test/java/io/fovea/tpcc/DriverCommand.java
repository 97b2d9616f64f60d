package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;

/** Runs the program in this JVM, for tests of other packages. */
public final class DriverCommand {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  /** Runs a command and returns its exit code. */
  public int run(List<String> args) {
    out.getBuffer().setLength(0);
    err.getBuffer().setLength(0);
    return Main.execute(
        SmallDatabase.SCALE,
        new PrintWriter(out),
        new PrintWriter(err),
        args.toArray(String[]::new));
  }

  /** Returns the output of the last command. */
  public String out() {
    return out.toString();
  }

  /** Returns the error output of the last command. */
  public String err() {
    return err.toString();
  }

  /** Fails with the output of the last command if the codes differ. */
  public void expect(int code, int found) {
    assertEquals(code, found, () -> out + "\n" + err);
  }
}
