package io.fovea.cli;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Runs short commands once, in a JVM that records which classes they load. The build makes a cache
 * of these classes, with which {@code fovea.sh} starts faster: see {@code .mvn/StartupCache.java}.
 */
public final class Training {
  private static final String ORDERS =
      """
      id,customer,amount,paid,at
      1,Ada,12.5,true,2026-11-28T10:00:00Z
      2,"Grace, H.",7,false,2026-11-28T10:00:01Z
      """;

  private Training() {}

  /**
   * Runs the commands.
   *
   * @param args an empty folder for their files
   * @throws IOException if it can't be used
   */
  public static void main(String[] args) throws IOException {
    Path folder = Path.of(args[0]);
    String file = folder.resolve("shop.fovea").toString();
    String input = Files.writeString(folder.resolve("orders.csv"), ORDERS).toString();
    String export = folder.resolve("orders.jsonl").toString();
    for (List<String> words :
        List.of(
            List.of("import", file, "orders", input, "--key", "id"),
            List.of("tables", file),
            List.of("schema", file, "orders"),
            List.of("get", file, "orders", "1"),
            List.of("get", file, "orders", "1", "--json"),
            List.of("scan", file, "orders", "--limit", "1"),
            List.of("count", file, "orders"),
            List.of("put", "--write", file, "orders", "3", "customer=Edsger", "amount=1"),
            List.of("delete", "--write", file, "orders", "3"),
            List.of("export", file, "orders", "--output", export),
            List.of("import", "--write", file, "orders", export),
            List.of("stat", file),
            List.of("verify", file),
            List.of("create", folder.resolve("new.fovea").toString()),
            List.of("--help"))) {
      run(words, "");
    }
    run(List.of(file), "tables\nget orders 1\n");
  }

  private static void run(List<String> words, String in) {
    int code =
        Main.execute(
            new ByteArrayInputStream(in.getBytes(StandardCharsets.UTF_8)),
            new PrintWriter(PrintWriter.nullWriter()),
            new PrintWriter(System.err, true, StandardCharsets.UTF_8),
            words.toArray(String[]::new));
    if (code != Main.OK) {
      throw new IllegalStateException("The exit code of " + words + " is " + code + ".");
    }
  }
}
