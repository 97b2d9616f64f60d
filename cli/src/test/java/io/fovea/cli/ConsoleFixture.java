package io.fovea.cli;

import io.fovea.Database;
import io.fovea.ObjectSpec;
import io.fovea.Options;
import io.fovea.RowTable;
import io.fovea.config.Durability;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A database with hostile names and values, and a console for it on another thread. */
final class ConsoleFixture {
  static final int ROWS = 10_000;
  static final String HOSTILE = "<script>window.hacked = 1</script>";

  private static final Layout.Definition B = Layout.define();
  private static final Field NAME = B.text("name", 60);
  private static final Field QUANTITY = B.nullable().int32("quantity");
  private static final TableSpec STOCK =
      TableSpec.of("stock", KeySpec.builder().int32("shop").int32("item").build(), B.build())
          .with(IndexSpec.on("by_quantity", QUANTITY))
          .with(IndexSpec.on("by_name", NAME));

  record Thing(String name, int size, List<String> tags) {}

  private static final ObjectSpec<String, Thing> THINGS =
      ObjectSpec.of("things", String.class, Thing.class);

  private ConsoleFixture() {}

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static Path make(Path dir) {
    Path file = dir.resolve("shop.fovea");
    Options options = Options.defaults().durability(Durability.NONE).bufferBytes(8 << 20);
    try (Database db = Database.open(file, options)) {
      RowTable t = db.table(STOCK);
      db.run(
          tx -> {
            for (int i = 0; i < ROWS; i++) {
              t.put(
                  tx,
                  t.key().set(i / 1000, i),
                  i % 10 == 0
                      ? t.row().setText(NAME, "item " + i).setNull(QUANTITY)
                      : t.row().setText(NAME, "item " + i).setInt(QUANTITY, i % 7));
            }
            t.put(tx, t.key().set(99, 1), t.row().setText(NAME, HOSTILE).setInt(QUANTITY, 7));
          });
      var things = db.table(THINGS);
      db.run(
          tx -> {
            for (int i = 0; i < 200; i++) {
              things.put(tx, "thing " + i, new Thing("n" + i, i, List.of("a", HOSTILE)));
            }
          });
      var files = db.table(TableSpec.bytes("files", 60)).bytes();
      db.run(
          tx -> {
            files.put(tx, bytes(HOSTILE), bytes("<b>value</b>"));
            files.put(tx, new byte[] {0, (byte) 0xFF, 1}, new byte[] {(byte) 0x80, 0});
            files.put(tx, new byte[] {(byte) 0xFF, (byte) 0xFF}, new byte[0]);
            files.put(tx, bytes("long"), new byte[300_000]);
          });
      db.table(TableSpec.bytes("<img src=x onerror=window.hacked=2>", 20));
    }
    return file;
  }

  /** A running {@code fovea serve}. */
  static final class Served implements AutoCloseable {
    private final CompletableFuture<String> url = new CompletableFuture<>();
    private final CompletableFuture<Integer> code = new CompletableFuture<>();
    private final StringWriter err = new StringWriter();
    private final Thread thread;

    Served(Path file, String... options) {
      List<String> words = new ArrayList<>(List.of("serve", file.toString()));
      words.addAll(List.of(options));
      Writer out =
          new StringWriter() {
            @Override
            public void flush() {
              toString().lines().filter(l -> l.contains("#token=")).forEach(url::complete);
            }
          };
      this.thread =
          new Thread(
              () -> {
                code.complete(
                    Main.execute(
                        InputStream.nullInputStream(),
                        new PrintWriter(out),
                        new PrintWriter(err),
                        words.toArray(String[]::new)));
                url.completeExceptionally(new IllegalStateException("ended: " + err));
              });
      thread.start();
    }

    /** The URL with the token. */
    String url() {
      return url.join();
    }

    /** The URL without the token. */
    String base() {
      return url().substring(0, url().indexOf("/#"));
    }

    /** Ends it as Ctrl-C does; returns the exit code. */
    int end() {
      thread.interrupt();
      return code.join();
    }

    @Override
    public void close() {
      end();
    }
  }
}
