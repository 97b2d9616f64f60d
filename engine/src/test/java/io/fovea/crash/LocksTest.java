package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.support.Sample;
import io.fovea.support.SoakReport;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Processes with and without native access exclude each other, whatever the holder does meanwhile.
 * The holder's second openings, copies, dumps and followers close descriptors of the file, which
 * releases the record locks that its process holds on it.
 */
class LocksTest {
  private static final List<String> DEEDS =
      List.of("nothing", "refused", "loader", "reader", "dump", "changes", "verify", "copy");

  /**
   * Half of the operations of each holder and half of the competing openings, as on a chessboard:
   * each operation meets both kinds of holder, and each holder both kinds of competitor.
   */
  private static final Sample HALF = Sample.oneOf(2);

  @TempDir Path dir;

  private static final class Client implements AutoCloseable {
    final Process process;
    final BufferedReader out;
    final PrintStream in;

    Client(boolean raw) throws IOException {
      process =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  raw ? "--enable-native-access=ALL-UNNAMED" : "--illegal-native-access=deny",
                  "-Xmx128m",
                  "-XX:+UseSerialGC",
                  "-XX:TieredStopAtLevel=1",
                  "-cp",
                  System.getProperty("java.class.path"),
                  LockClient.class.getName())
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      out =
          new BufferedReader(
              new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
      in = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
    }

    String tell(String what, Object of) throws IOException {
      in.println(what + " " + of);
      for (String line; (line = out.readLine()) != null; ) {
        if (line.startsWith("= ")) {
          return line.substring(2);
        }
      }
      return "ended";
    }

    @Override
    public void close() {
      process.destroyForcibly().onExit().join();
    }
  }

  @Test
  void holderExcludesOthersDuringAllOperations() throws Exception {
    assumeTrue(Runtime.version().feature() >= 24, "older JVMs can't deny native access");
    List<String> problems = new ArrayList<>();
    int tried = 0;
    int keys = 0;
    Path file = dir.resolve("db");
    try (Client raw = new Client(true);
        Client denied = new Client(false);
        Client otherRaw = new Client(true);
        Client otherDenied = new Client(false)) {
      assertEquals("opened", denied.tell("write", file));
      assertEquals("put", denied.tell("put", "k" + keys++));
      assertEquals("closed", denied.tell("close", ""));
      for (Client holder : List.of(raw, denied)) {
        for (String how : List.of("write", "read")) {
          for (int d = 0; d < DEEDS.size(); d++) {
            int row = d + (holder == raw ? 0 : 1) + (how.equals("write") ? 0 : 1);
            if (!HALF.has(row)) {
              continue;
            }
            String deed = DEEDS.get(d);
            String what = (holder == raw ? "native " : "denied ") + how + ", " + deed;
            assertEquals("opened", holder.tell(how, file), what);
            String did = holder.tell(deed, file);
            if (did.contains("Exception") && !(deed.equals("changes") && how.equals("read"))) {
              problems.add(what + ": " + did);
            }
            for (Client other : List.of(otherRaw, otherDenied)) {
              for (String wants : List.of("write", "read")) {
                int column = (other == otherRaw ? 0 : 1) + (wants.equals("write") ? 0 : 1);
                if (!HALF.has(column + d / 2)) {
                  continue;
                }
                tried++;
                String answer = other.tell(wants, file);
                String expected =
                    how.equals("read") && wants.equals("read")
                        ? "opened"
                        : "locked by " + (how.equals("write") ? holder.process.pid() : -1);
                if (!answer.equals(expected)) {
                  problems.add(
                      what
                          + ", then "
                          + (other == otherRaw ? "native " : "denied ")
                          + wants
                          + ": "
                          + answer
                          + " instead of "
                          + expected);
                }
                if (answer.equals("opened")) {
                  other.tell("close", "");
                }
              }
            }
            if (how.equals("write")) {
              assertEquals("put", holder.tell("put", "k" + keys++), what);
            }
            assertEquals("closed", holder.tell("close", ""), what);
          }
        }
      }
      assertEquals("opened", otherDenied.tell("read", file));
      assertEquals("true " + keys, otherDenied.tell("count", ""));
      otherDenied.tell("close", "");
      // A killed holder excludes no process, although its lock file remains.
      for (Client killed : List.of(denied, raw)) {
        assertEquals("opened", killed.tell("write", file));
        killed.close();
        assertTrue(Files.exists(dir.resolve("db.lock")), "the lock file remains");
        for (Client other : List.of(otherRaw, otherDenied)) {
          assertEquals("opened", other.tell("write", file));
          assertEquals("true " + keys, other.tell("count", ""));
          assertEquals("closed", other.tell("close", ""));
        }
        assertTrue(!Files.exists(dir.resolve("db.lock")), "the lock file is deleted");
      }
    }
    SoakReport.line("LocksTest", tried + " competing openings, " + problems.size() + " problems");
    assertEquals("", String.join("\n", problems), "-Dsample.seed=" + Sample.seed());
  }
}
