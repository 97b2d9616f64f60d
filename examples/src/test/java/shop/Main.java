package shop;

import com.sun.net.httpserver.HttpServer;
import io.fovea.BackupReport;
import io.fovea.Database;
import io.fovea.Options;
import io.fovea.error.DuplicateKeyException;
import io.fovea.micrometer.FoveaMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.NoSuchElementException;
import java.util.concurrent.Executors;

/** The HTTP service, with a virtual thread for each request. */
public final class Main implements AutoCloseable {
  private interface Answer {
    Object to(String[] path);
  }

  final HttpServer http;
  private final Database db;

  Main(Path folder, int port) throws IOException {
    folder.toFile().mkdirs();
    Options options = Options.defaults().bufferBytes(64 << 20);
    db = Database.open(folder.resolve("shop.fovea"), options);
    SimpleMeterRegistry meters = new SimpleMeterRegistry();
    new FoveaMetrics(db).bindTo(meters);
    Shop shop = new Shop(db);

    http = HttpServer.create(new InetSocketAddress("localhost", port), 0);
    http.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    on("/register", path -> shop.register(path[2], path[3]));
    on("/order", path -> shop.order(path[2], path[3], Long.parseLong(path[4])));
    on("/orders", path -> String.join("\n", shop.orders(path[2])));
    on("/backup", path -> backup(folder.resolve("backup-" + System.currentTimeMillis())));
    on("/meters", path -> meters.getMetersAsString());
    http.start();
  }

  public static void main(String[] args) throws IOException {
    Main main = new Main(Path.of("data"), 8080);
    Runtime.getRuntime().addShutdownHook(new Thread(main::close));
    System.out.println("http://localhost:8080");
  }

  /** Copies the database while it is in use. */
  private String backup(Path to) {
    BackupReport report = db.backup(to);
    return report.pages() + " pages are in " + to;
  }

  private void on(String name, Answer answer) {
    http.createContext(
        name,
        exchange -> {
          int code = 200;
          String text;
          try {
            text = answer.to(exchange.getRequestURI().getPath().split("/")).toString();
          } catch (DuplicateKeyException e) {
            code = 409;
            text = e.getMessage();
          } catch (NoSuchElementException e) {
            code = 404;
            text = e.getMessage();
          } catch (RuntimeException e) {
            code = 500;
            text = e.toString();
          }
          byte[] bytes = (text + "\n").getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(code, bytes.length);
          exchange.getResponseBody().write(bytes);
          exchange.close();
        });
  }

  @Override
  public void close() {
    http.stop(1);
    db.close(); // the next start has nothing to recover
  }
}
